//! `#[kernel]`: what it accepts, and the sentence with which it refuses the rest.

#[test]
fn kernels_are_checked_when_they_are_compiled() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/kernel/accepted.rs");
    cases.compile_fail("tests/kernel/refused_*.rs");
}
