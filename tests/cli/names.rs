//! A name given to the wrong command, or in the place of one, is answered with the command that was meant.

use super::*;

#[test]
fn a_name_of_another_kind_leads_to_its_command() {
    for (arguments, command) in [
        (
            &["run", "roofline"][..],
            "a host lesson: `warpfold host-lesson roofline`",
        ),
        (
            &["profile", "missing_barrier"],
            "an exhibit: `warpfold check missing_barrier`",
        ),
        (
            &["trace", "guard"],
            "an exercise: `warpfold exercise guard`",
        ),
        (
            &["ptx", "cpu_parallel"],
            "a CPU reference: `warpfold run cpu_parallel`",
        ),
        (
            &["host-lesson", "shuffle"],
            "a lesson: `warpfold run shuffle`",
        ),
        (
            &["exercise", "missing-barier"],
            "did you mean `missing_barrier`?",
        ),
        (&["check", "kernel.ptx"], "`warpfold emulate kernel.ptx`"),
        (&["sweep", "summ"], "did you mean `sum`?"),
    ] {
        refuses(arguments, command);
    }
}

#[test]
fn a_name_in_the_place_of_a_command_leads_to_one() {
    for (name, command) in [
        ("shuffle", "`warpfold run shuffle`"),
        ("shuf", "`warpfold run shuffle`"),
        ("roofline", "`warpfold host-lesson roofline`"),
        ("missing_barrier", "`warpfold check missing_barrier`"),
        ("mine.rs", "`warpfold try mine.rs`"),
        ("flow.csv", "`warpfold reduce flow.csv`"),
    ] {
        refuses(&[name], command);
        refuses(&[name, "-n", "100"], command);
    }
}
