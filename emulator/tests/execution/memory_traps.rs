//! Accesses that no memory allows, each with its whole message.

use crate::common::{Buffer, Machine, block};
use warpfold_emulator::{Launch, LaunchError};

/// The trap of thread 0, given a body and the address of a buffer of 64 bytes.
#[track_caller]
fn trap(body: &str) -> (String, Buffer) {
    let mut machine = Machine::of(&format!(
        "ld.param.u64 %d37, [data]; ld.param.u64 %d36, [out];\n{body}"
    ));
    let data = machine.buffer(&[7u32; 16]);
    let freed = machine.buffer(&[1u64; 4]);
    machine.memory.free(freed.address).unwrap();
    let shape = Launch {
        dynamic_shared_bytes: 24,
        ..block(1)
    };
    let error = machine
        .launch("test", &shape, &[freed.address, data.address])
        .expect_err("a trap");
    assert!(matches!(error, LaunchError::Trap(_)));
    (error.to_string(), data)
}

/// What comes after the fault in every message here.
fn place(body: &str) -> String {
    format!(", in kernel `test`, block (0, 0, 0), thread (0, 0, 0), PTX line 7: `{body}`")
}

#[test]
fn out_of_the_bounds_of_an_allocation() {
    for (body, access, bytes, offset) in [
        ("ld.global.u32 %r0, [%d37+64];", "load", 4, 64),
        ("ld.global.u8 %r0, [%d37+64];", "load", 1, 64),
        ("st.global.u64 [%d37+128], %d37;", "store", 8, 128),
        (
            "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d37+64];",
            "load",
            16,
            64,
        ),
        ("atom.global.add.u32 %r0, [%d37+100], 1;", "atomic", 4, 100),
        ("red.global.add.u32 [%d37+100], 1;", "atomic", 4, 100),
    ] {
        let (message, data) = trap(body);
        let address = data.address + offset;
        let expected = format!(
            "{access} of {bytes} bytes out of bounds at global address {address:#x} (the nearest allocation below has 64 bytes at {:#x}){}",
            data.address,
            place(body)
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn across_the_end_of_a_vector() {
    // An allocation of 24 bytes: a vector of 16 at offset 16 is aligned and begins inside.
    let mut machine = Machine::of("ld.param.u64 %d37, [data];\nld.v2.u64 {%d0, %d1}, [%d37+16];");
    let data = machine.buffer(&[7u64; 3]);
    let error = machine
        .launch("test", &block(1), &[0, data.address])
        .expect_err("a trap");
    let message = error.to_string();
    let expected = format!(
        "load of 16 bytes out of bounds at generic address {:#x} (the nearest allocation below has 24 bytes at {:#x}), in kernel",
        data.address + 16,
        data.address
    );
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn before_everything_and_null() {
    let (message, data) = trap("ld.global.u32 %r0, [%d37-4];");
    let expected = format!(
        "load of 4 bytes out of bounds at global address {:#x} (4 bytes before the first allocation, which begins at {:#x}){}",
        data.address - 4,
        data.address,
        place("ld.global.u32 %r0, [%d37-4];")
    );
    assert_eq!(message, expected);
    let (message, _) = trap("st.u32 [%d37-4], 1;");
    assert!(message.contains("out of bounds"), "{message}");
    let (message, _) = trap("mov.u64 %d0, 0x123456789abcdef0; st.u32 [%d0], 1;");
    assert!(message.contains("belongs to no state space"), "{message}");
    for (body, fault) in [
        (
            "mov.u64 %d0, 0; st.u32 [%d0], 1;",
            "store of 4 bytes through a null pointer, at generic address 0x0: check what the host passes, or, should it be a place in shared memory, convert its offset with cvta.shared first",
        ),
        (
            "mov.u64 %d0, 0; ld.global.u64 %d1, [%d0+16];",
            "load of 8 bytes through a null pointer, at global address 0x10: check what the host passes",
        ),
    ] {
        assert_eq!(trap(body).0, format!("{fault}{}", place(body)));
    }
}

#[test]
fn addresses_of_another_space() {
    for (body, fault) in [
        (
            "mov.u64 %d0, 8; st.u32 [%d0], 1;",
            "store of 4 bytes at generic address 0x8, which is an offset in shared memory and no generic address: convert it with cvta.shared first",
        ),
        (
            "mov.u64 %d0, 8; cvta.shared.u64 %d0, %d0; ld.shared.u32 %r0, [%d0];",
            "load of 4 bytes in shared memory at address 0x10000000008, which is a generic address of shared memory: convert it with cvta.to first",
        ),
        (
            "mov.u64 %d0, 8; cvta.shared.u64 %d0, %d0; ld.global.u32 %r0, [%d0];",
            "load of 4 bytes in global memory at address 0x10000000008, which is a generic address of shared memory: use a generic instruction, or one of that space with the converted address",
        ),
        (
            "mov.u64 %d0, 0x7000000; ld.u32 %r0, [%d0];",
            "load of 4 bytes at generic address 0x7000000, which belongs to no state space: it was never a pointer",
        ),
    ] {
        assert_eq!(trap(body).0, format!("{fault}{}", place(body)));
    }
}

#[test]
fn freed() {
    let body = "ld.global.u32 %r0, [%d36+8];";
    let (message, data) = trap(body);
    let freed = data.address + 512;
    let expected = format!(
        "load of 4 bytes at global address {:#x}, in an allocation of 32 bytes at {freed:#x} that has been freed{}",
        freed + 8,
        place(body)
    );
    assert_eq!(message, expected);
}

#[test]
fn misaligned() {
    for (body, access, bytes, offset) in [
        ("ld.global.u32 %r0, [%d37+2];", "load", 4, 2),
        ("st.global.u16 [%d37+1], %h0;", "store", 2, 1),
        (
            "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d37+8];",
            "load",
            16,
            8,
        ),
        ("atom.global.cas.b64 %d0, [%d37+4], 0, 1;", "atomic", 8, 4),
    ] {
        let (message, data) = trap(body);
        let expected = format!(
            "{access} of {bytes} bytes misaligned at global address {:#x}{}",
            data.address + offset,
            place(body)
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn shared_and_local_memory_have_ends() {
    for (body, fault) in [
        (
            ".shared .align 4 .b8 a[40]; st.shared.u32 [a+72], 1;",
            "store of 4 bytes out of bounds at shared address 0x48 (that memory has 72 bytes)",
        ),
        (
            "mov.u64 %d0, 24; cvta.shared.u64 %d0, %d0; ld.u32 %r0, [%d0];",
            "load of 4 bytes out of bounds at generic address 0x10000000018 (that memory has 24 bytes)",
        ),
        (
            ".local .align 4 .b8 a[16]; mov.u64 %d0, a; ld.local.u32 %r0, [%d0+16];",
            "load of 4 bytes out of bounds at local address 0x10 (that memory has 16 bytes)",
        ),
        (
            "ld.param.u32 %r0, [data+8];",
            "load of 4 bytes out of bounds at param address 0x10 (that memory has 16 bytes)",
        ),
        (
            "mov.u64 %d0, 24; st.shared.u32 [%d0-4], 1; st.shared.u32 [%d0], 1;",
            "store of 4 bytes out of bounds at shared address 0x18 (that memory has 24 bytes)",
        ),
    ] {
        assert_eq!(trap(body).0, format!("{fault}{}", place(body)));
    }
}

#[test]
fn constants_cannot_be_written() {
    let ptx = format!(
        "{}.const .align 4 .u32 fixed = 1;\n.visible .entry test() {{ .reg .b64 %d<2>; mov.u64 %d0, fixed; cvta.const.u64 %d0, %d0;\nst.u32 [%d0], 2;\nret; }}",
        crate::common::HEADER
    );
    let machine = Machine::new(&ptx);
    let message = machine
        .launch("test", &block(1), &[])
        .expect_err("a trap")
        .to_string();
    let address = machine.program.variable("fixed").unwrap();
    assert_eq!(
        message,
        format!(
            "store to read-only memory at address {address:#x}, in kernel `test`, block (0, 0, 0), thread (0, 0, 0), PTX line 6: `st.u32 [%d0], 2;`"
        )
    );
}

/// Of the lanes of a warp the first that is wrong is named; no store of a lane before it is undone, and none of a lane after it is done.
#[test]
fn one_lane_of_a_warp() {
    let mut machine = Machine::of(
        "ld.param.u64 %d37, [data]; mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d37, %d0;\nst.global.u32 [%d0], %r0;",
    );
    let data = machine.buffer(&[99u32; 20]);
    let error = machine
        .launch("test", &block(64), &[0, data.address])
        .expect_err("a trap");
    let LaunchError::Trap(trap) = error else {
        panic!("{error}")
    };
    assert_eq!((trap.thread, trap.line), ([20, 0, 0], 7));
    assert_eq!(machine.read::<u32>(data), (0..20).collect::<Vec<_>>());
}
