//! `malloc` and `free`, as the CUDA runtime gives them to kernels.

use crate::common::{HEADER, Machine, block, free, malloc, own_slot, refusal, shape};
use warpfold_emulator::{Fault, LaunchError};

const DECLARATIONS: &str = "
.extern .func (.param .b64 address) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);";

/// An entry with these functions, whose body leaves its result in `%d0`.
fn module(functions: &str, body: &str) -> String {
    format!(
        "{HEADER}{functions}\n.visible .entry test(.param .u64 out) {{
        .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .pred %p<8>;
        {}\n{body}\nst.global.u64 [%d39], %d0; ret; }}",
        own_slot(8)
    )
}

/// What 256 threads in 4 blocks leave.
#[track_caller]
fn run(body: &str, threads: usize) -> Result<Vec<u64>, LaunchError> {
    let mut machine = Machine::new(&module(DECLARATIONS, body));
    let out = machine.buffer(&[0u64; 256]);
    let mut shape = shape(4, 64);
    shape.threads = threads;
    machine.launch("test", &shape, &[out.address])?;
    Ok(machine.read(out))
}

#[test]
fn every_thread_has_memory_of_its_own() {
    // Its number goes there and back, with a barrier between.
    let body = format!(
        "{} st.u64 [%d1+16], %d39; bar.sync 0; ld.u64 %d2, [%d1+16]; sub.u64 %d2, %d2, %d39;
         or.b64 %d0, %d1, %d2;",
        malloc("%d1", "24")
    );
    for threads in [1, 2] {
        let mut addresses = run(&body, threads).unwrap();
        assert!(addresses.iter().all(|address| address % 16 == 0));
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[0] + 24 <= pair[1]));
    }
}

#[test]
fn only_the_lanes_that_call_allocate() {
    let body = format!(
        "mov.u64 %d0, 0; and.b32 %r1, %r39, 3; setp.ne.u32 %p1, %r1, 0; @%p1 bra END; {} END:",
        malloc("%d0", "16")
    );
    for (i, &address) in run(&body, 1).unwrap().iter().enumerate() {
        assert_eq!(address != 0, i % 4 == 0, "thread {i}");
    }
}

#[test]
fn what_is_freed_can_be_had_again() {
    // 1000 times 1 KiB in each of 256 threads: far more than the heap has, but never at once.
    let body = format!(
        "mov.u32 %r1, 0; mov.u64 %d0, 0;
        NEXT: {} setp.eq.u64 %p1, %d1, 0; @%p1 trap;
        st.u32 [%d1+1020], %r1; ld.u32 %r2, [%d1+1020]; cvt.u64.u32 %d2, %r2; add.u64 %d0, %d0, %d2;
        {} add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1000; @%p1 bra NEXT;",
        malloc("%d1", "1024"),
        free("%d1"),
    );
    for threads in [1, 2] {
        assert_eq!(run(&body, threads).unwrap(), [1000 * 999 / 2; 256]);
    }
}

#[test]
fn more_than_there_is_gives_a_null_pointer() {
    for bytes in ["8388609", "-1", "-16"] {
        assert_eq!(run(&malloc("%d0", bytes), 1).unwrap(), [0; 256], "{bytes}");
    }
    // Two of the 256 threads fill the heap.
    let got = run(&malloc("%d0", "4194304"), 1).unwrap();
    assert_eq!(got.iter().filter(|&&address| address != 0).count(), 2);
}

#[test]
fn a_null_pointer_is_nothing_to_free() {
    assert_eq!(
        run(&format!("mov.u64 %d0, 5; {}", free("0")), 1).unwrap(),
        [5; 256]
    );
}

#[test]
fn misuse_traps_with_its_place() {
    let twice = format!("{}\n{}\n{}", malloc("%d1", "8"), free("%d1"), free("%d1"));
    let Err(LaunchError::Trap(trap)) = run(&twice, 1) else {
        panic!("the second is one too many")
    };
    let Fault::FreedTwice { by: Some(by), .. } = trap.fault else {
        panic!("{trap}")
    };
    assert_eq!((by.block, by.thread), (trap.block, trap.thread));
    assert_eq!(by.line as usize, trap.line - 2);
    let text = trap.to_string();
    assert!(
        text.contains("which has been freed before at line"),
        "{text}"
    );
}

#[test]
fn a_module_may_have_its_own() {
    let own = "
    .func (.param .b64 address) malloc(.param .b64 bytes) {
        .reg .b64 %d<2>; ld.param.b64 %d1, [bytes]; add.u64 %d1, %d1, 1; st.param.b64 [address], %d1; ret; }";
    let mut machine = Machine::new(&module(own, &malloc("%d0", "41")));
    let out = machine.buffer(&[0u64; 32]);
    machine.launch("test", &block(32), &[out.address]).unwrap();
    assert_eq!(machine.read::<u64>(out), [42; 32]);
}

#[test]
fn calls_have_to_fit() {
    for (call, function) in [
        (
            "{ .param .b32 size; .param .b64 got; call.uni (got), malloc, (size); }",
            "malloc",
        ),
        ("{ .param .b64 size; call.uni malloc, (size); }", "malloc"),
        (
            "{ .param .b64 one; .param .b64 other; call.uni free, (one, other); }",
            "free",
        ),
    ] {
        let message = refusal(&module(DECLARATIONS, call));
        let wanted = format!("this call does not fit `{function}`");
        assert!(message.contains(&wanted), "{call}: {message}");
    }
}
