//! What memcheck reports: addresses by their kind.

use crate::{Bench, bench, shape};
use warpfold_emulator::{Fault, LaunchError, Nothing, launch};

/// The fault of one thread that runs this.
fn fault(body: &str, prepare: impl FnOnce(&mut Bench)) -> Fault {
    let mut bench = bench(body);
    prepare(&mut bench);
    match launch(
        &bench.kernel,
        &bench.memory,
        &shape(1, 1),
        &bench.arguments,
        &mut Nothing,
    ) {
        Err(LaunchError::Trap(trap)) => trap.fault,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn freed_memory_is_called_so() {
    let fault = fault("ld.global.u32 %r2, [%rd1+16];", |bench| {
        let buffer = bench.memory.allocate(64).expect("there is room");
        bench.memory.free(buffer).expect("it is there");
        bench.arguments = vec![buffer.to_le_bytes().to_vec()];
    });
    assert!(
        matches!(fault, Fault::Freed { allocated: 64, .. }),
        "{fault}"
    );
    assert!(
        fault.to_string().ends_with("that has been freed"),
        "{fault}"
    );
}

#[test]
fn addresses_of_the_wrong_kind_are_told_apart() {
    let of = |body: &str| fault(body, |_| {});
    let is = |body: &str, expected: fn(&Fault) -> bool| {
        let fault = of(body);
        assert!(expected(&fault), "{body}: {fault}");
    };
    is("mov.u64 %rd6, 0; ld.global.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::Null { .. })
    });
    is("mov.u64 %rd6, 0; ld.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::Null { .. })
    });
    is("st.u32 [%rd3+16], %r1;", |fault| {
        matches!(fault, Fault::SharedOffset { address: 16, .. })
    });
    is(
        "cvta.shared.u64 %rd6, %rd3; ld.shared.u32 %r2, [%rd6];",
        |fault| matches!(fault, Fault::WrongSpace { .. }),
    );
    is(
        "cvta.shared.u64 %rd6, %rd3; ld.global.u32 %r2, [%rd6];",
        |fault| matches!(fault, Fault::WrongSpace { .. }),
    );
    is("st.shared.u32 [%rd1], %r1;", |fault| {
        matches!(fault, Fault::WrongSpace { .. })
    });
    is("mov.u64 %rd6, 123456789012; ld.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::NoSpace { .. })
    });
    is("ld.u32 %r2, [%rd1+5000];", |fault| {
        matches!(fault, Fault::OutOfBounds { .. })
    });
}
