//! What a kernel reaches of other devices, and the traps where it reaches nothing.

use crate::Group;
use warpfold_emulator::{
    Fault, LaunchError, Memory, Module, Nothing, Order, PeerAccesses, PeerTraffic, Program, Trap,
    launch, launch_together, launch_with_peers,
};

/// Device 0 loads a word of device 1, adds to another there, and stores a third.
const USES_THE_PEER: &str = "ld.global.u32 %r3, [%rd2];
    atom.global.add.u32 %r4, [%rd2+4], 5;
    add.u32 %r3, %r3, %r4;
    st.u32 [%rd2+8], %r3;
    st.global.u32 [%rd1], %r3;";

fn run(group: &mut Group, order: Order) -> Result<(), LaunchError> {
    group.with(|launches, memories| {
        let memories: Vec<&Memory> = memories.iter().map(|memory| &**memory).collect();
        launch_together(launches, &memories, order, &mut Nothing)
    })
}

fn trap(result: Result<(), LaunchError>) -> Trap {
    match result {
        Err(LaunchError::Trap(trap)) => *trap,
        other => panic!("this does not trap: {other:?}"),
    }
}

#[test]
fn a_peer_s_memory_is_read_written_and_updated() {
    for order in [Order::Fixed, Order::Seed(3)] {
        let mut group = Group::of([USES_THE_PEER, ""]);
        let words: Vec<u8> = [30_u32, 12]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        let address = group.data[1];
        group.memories[1].write(address, &words).unwrap();
        run(&mut group, order).unwrap();
        let words = [group.word(0, 0), group.word(1, 1), group.word(1, 2)];
        assert_eq!(words, [42, 17, 42]);
    }
}

#[test]
fn without_peer_access_it_is_a_trap_that_says_so() {
    let mut group = Group::of([USES_THE_PEER, ""]);
    group.memories[0].disable_peer_access(1);
    let trap = trap(run(&mut group, Order::Fixed));
    assert_eq!((trap.device, trap.line), (0, 12));
    assert_eq!(
        trap.fault.to_string(),
        format!(
            "load of 4 bytes at global address {:#x}, which is in the memory of device 1: device 0 may not access it before the host has enabled peer access from 0 to 1 (cuCtxEnablePeerAccess)",
            group.data[1]
        )
    );
    // The other direction is open still.
    let mut group = Group::of(["", "st.global.u32 [%rd1], 7;"]);
    group.memories[0].disable_peer_access(1);
    run(&mut group, Order::Fixed).unwrap();
    assert_eq!(group.word(0, 0), 7);
    group.memories[1].disable_peer_access(0);
    let refused = crate::access::trap(run(&mut group, Order::Fixed));
    assert_eq!(refused.device, 1);
    assert!(
        refused
            .to_string()
            .contains("kernel `k` on device 1, block")
    );
}

#[test]
fn bounds_and_freed_memory_of_a_peer_are_checked() {
    let mut group = Group::of(["ld.global.u32 %r3, [%rd2+256];", ""]);
    let base = group.data[1];
    let fault = trap(run(&mut group, Order::Fixed)).fault;
    assert!(
        matches!(fault, Fault::OutOfBounds { nearest, .. } if nearest == Some((base, 256))),
        "{fault}"
    );
    let mut group = Group::of(["ld.global.u32 %r3, [%rd2+8];", ""]);
    group.memories[1].free(base).unwrap();
    let fault = trap(run(&mut group, Order::Fixed)).fault;
    assert!(
        matches!(fault, Fault::Freed { allocated: 256, .. }),
        "{fault}"
    );
}

#[test]
fn the_heap_of_a_peer_is_out_of_reach() {
    let allocate = "{ .param .b64 size; .param .b64 got; st.param.b64 [size], 16;
        call.uni (got), malloc, (size); ld.param.b64 %rd3, [got]; }
        st.u64 [%rd3], %rd3;
        st.global.u64 [%rd1], %rd3;
        membar.sys;
        st.volatile.global.u32 [%rd1+8], 1;";
    let wait =
        "again: ld.volatile.global.u32 %r3, [%rd1+8]; setp.eq.u32 %p1, %r3, 0; @%p1 bra again;
        membar.sys;
        ld.volatile.global.u64 %rd3, [%rd1];
        ld.u64 %rd4, [%rd3];";
    let fault = trap(run(&mut Group::of([allocate, wait]), Order::Fixed)).fault;
    assert!(
        fault.to_string().ends_with("which is in the heap in the memory of device 0: what a kernel allocates is for kernels of its own device only"),
        "{fault}"
    );
}

#[test]
fn devices_have_addresses_of_their_own_and_constants_at_the_same() {
    let mut memories: Vec<Memory> = [0, 1, 255].map(Memory::of_device).into();
    let addresses: Vec<u64> = memories
        .iter_mut()
        .map(|memory| memory.allocate(8).unwrap())
        .collect();
    let devices = addresses.iter().map(|&address| Memory::device_of(address));
    assert_eq!(devices.collect::<Vec<_>>(), [Some(0), Some(1), Some(255)]);
    assert_eq!(Memory::device_of(0x100), None);
    let ptx = crate::source("ld.const.u32 %r3, [seven]; st.global.u32 [%rd1], %r3;")
        .replace(".visible", ".const .u32 seven = 7;\n.visible");
    for (memory, address) in memories.iter_mut().zip(addresses) {
        let program = Program::load(Module::parse(&ptx).unwrap(), memory).unwrap();
        let kernel = program.kernel("k").unwrap();
        let arguments = vec![address.to_le_bytes().to_vec(); 2];
        launch(
            &kernel,
            memory,
            &Default::default(),
            &arguments,
            &mut Nothing,
        )
        .unwrap();
        let mut word = [0; 4];
        memory.read(address, &mut word).unwrap();
        assert_eq!(u32::from_le_bytes(word), 7);
    }
}

#[test]
fn one_kernel_alone_reaches_its_peers_on_all_cores() {
    let group = Group::of([
        "mad.lo.u32 %r3, %r2, 32, %r1; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd2, %rd3; atom.add.u32 %r4, [%rd3], 1;",
        "",
    ])
    .with_shape(2, 32);
    let [own, peer] = &group.memories[..] else {
        panic!("there are two");
    };
    let kernel = &group.kernels[0];
    let mut traffic = PeerTraffic::default();
    let (shape, arguments) = (&group.shapes[0], &group.arguments[0]);
    launch_with_peers(kernel, own, &[peer], shape, arguments, &mut traffic).unwrap();
    assert!((0..64).all(|index| group.word(1, index) == 1));
    let expected = PeerAccesses {
        atomics: 64,
        ..PeerAccesses::default()
    };
    assert_eq!(traffic.between(0, 1), expected);
    assert_eq!(traffic.total(), expected);
    assert_eq!(traffic.between(1, 0), PeerAccesses::default());
    // An address of a device that the launch does not know leads nowhere.
    let unknown = trap(launch(kernel, own, shape, arguments, &mut Nothing)).fault;
    assert!(matches!(unknown, Fault::NoSpace { .. }), "{unknown}");
}

#[test]
fn wrong_devices_are_refused() {
    let mut group = Group::of(["", ""]);
    let refusals = group.with(|launches, memories| {
        let alone: Vec<&Memory> = memories[..1].iter().map(|memory| &**memory).collect();
        let twice = [alone[0], alone[0]];
        [&alone[..], &twice].map(|memories| {
            launch_together(launches, memories, Order::Fixed, &mut Nothing)
                .expect_err("it is refused")
                .to_string()
        })
    });
    assert_eq!(
        refusals,
        [
            "a launch on device 1, whose memory is not among those that were given",
            "two memories of device 0: give each its own number (Memory::of_device)"
        ]
    );
}
