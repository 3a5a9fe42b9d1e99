//! Random schedules: reproducible, lawful, and compared.

use crate::{Bench, DATA_BYTES, bench, shape};
use warpfold_emulator::{
    Fault, Launch, LaunchError, Nothing, Order, Tool, compare_orders, launch, launch_scheduled,
};

/// Threads append their numbers in the order in which they come.
const FIRST_COME: &str = "
    atom.global.add.u32 %r2, [%rd1], 4;
    cvt.u64.u32 %rd6, %r2; add.s64 %rd6, %rd1, %rd6;
    st.global.u32 [%rd6+64], %r1;";

fn left_by(body: &str, order: Order, shape: Launch) -> Vec<u8> {
    let bench = bench(body);
    let Bench {
        memory,
        kernel,
        arguments,
    } = &bench;
    match order {
        Order::Fixed => launch(kernel, memory, &shape, arguments, &mut Nothing),
        Order::Seed(seed) => {
            launch_scheduled(kernel, memory, &shape, arguments, seed, &mut Nothing)
        }
    }
    .expect("it runs");
    let data = u64::from_le_bytes(arguments[0][..].try_into().expect("an address"));
    let mut bytes = vec![0; DATA_BYTES];
    memory.read(data, &mut bytes).expect("it is there");
    bytes
}

#[test]
fn a_seed_gives_one_schedule_and_another_gives_another() {
    let run = |seed| left_by(FIRST_COME, Order::Seed(seed), shape(2, 96));
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn schedules_part_lanes_that_the_program_has_not_parted() {
    // In the fixed order the lanes of a warp come one after the other, in order.
    let places = |order| {
        let bytes = left_by(FIRST_COME, order, shape(1, 32));
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        (0..32)
            .map(|place| word(64 + 4 * place))
            .collect::<Vec<u32>>()
    };
    assert!(places(Order::Fixed).is_sorted());
    let parted = (0..20).filter(|&seed| !places(Order::Seed(seed)).is_sorted());
    assert!(parted.count() > 5);
}

/// The manual: a thread waits until all others of its mask have executed the barrier *with the same mask*. Here groups of four meet by
/// themselves before all lanes do, and a lane that waits for all must not take one that waits for its group for one of them.
#[test]
fn barriers_with_different_masks_are_different_barriers() {
    let body = "
        mul.wide.u32 %rd6, %r1, 4; add.s64 %rd6, %rd1, %rd6;
        st.shared.u32 [%rd3], 0; bar.warp.sync -1;
        and.b32 %r2, %r1, 28; mov.u32 %r3, 15; shl.b32 %r3, %r3, %r2;
        bar.warp.sync %r3;
        bar.warp.sync %r3;
        add.u32 %r4, %r1, 1; st.shared.u32 [%rd3], %r4;
        bar.warp.sync -1;
        xor.b32 %r4, %r1, 31; mul.wide.u32 %rd7, %r4, 4; add.s64 %rd7, %rd5, %rd7;
        ld.shared.u32 %r5, [%rd7]; st.global.u32 [%rd6], %r5;";
    let fixed = left_by(body, Order::Fixed, shape(1, 32));
    for seed in 0..300 {
        let scheduled = left_by(body, Order::Seed(seed), shape(1, 32));
        assert!(scheduled == fixed, "seed {seed}");
    }
}

#[test]
fn barriers_and_collectives_hold_under_every_schedule() {
    // A sum over the block by shuffles and shared memory, and a check of the lanes' order in a warp.
    let body = "
        shfl.sync.down.b32 %r2, %r1, 16, 31, -1; add.u32 %r3, %r1, %r2;
        shfl.sync.down.b32 %r2, %r3, 8, 31, -1; add.u32 %r3, %r3, %r2;
        shfl.sync.down.b32 %r2, %r3, 4, 31, -1; add.u32 %r3, %r3, %r2;
        shfl.sync.down.b32 %r2, %r3, 2, 31, -1; add.u32 %r3, %r3, %r2;
        shfl.sync.down.b32 %r2, %r3, 1, 31, -1; add.u32 %r3, %r3, %r2;
        st.shared.u32 [%rd3], %r3;
        bar.sync 0;
        xor.b32 %r4, %r1, 32; mul.wide.u32 %rd6, %r4, 4; add.s64 %rd6, %rd5, %rd6;
        ld.shared.u32 %r5, [%rd6];
        bar.sync 1, 64;
        st.shared.u32 [%rd3], 0;
        st.global.u32 [%rd2], %r5;";
    let expected = left_by(body, Order::Fixed, shape(1, 64));
    for seed in 0..100 {
        assert_eq!(
            left_by(body, Order::Seed(seed), shape(1, 64)),
            expected,
            "seed {seed}"
        );
    }
    // A block whose last warp is not full, at a barrier with a count.
    let counted = "st.shared.u32 [%rd3], %r1; bar.sync 1, 64; ld.shared.u32 %r5, [%rd5+156]; st.global.u32 [%rd2], %r5;";
    let expected = left_by(counted, Order::Fixed, shape(1, 40));
    for seed in 0..100 {
        assert_eq!(
            left_by(counted, Order::Seed(seed), shape(1, 40)),
            expected,
            "seed {seed}"
        );
    }
}

#[test]
fn lanes_may_wait_for_each_other_in_a_loop() {
    // A lock, taken by every lane of a warp in turn.
    let body = "
        TRY:
        atom.global.acquire.gpu.cas.b32 %r2, [%rd1], 0, 1;
        setp.ne.u32 %p1, %r2, 0; @%p1 bra TRY;
        ld.global.u32 %r3, [%rd1+64]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1+64], %r3;
        st.global.release.gpu.u32 [%rd1], 0;";
    let body = body
        .replace("st.global.release.gpu", "st.release.gpu.global")
        .replace("atom.global.acquire.gpu", "atom.acquire.gpu.global");
    let patient = Launch {
        max_steps: 10_000_000,
        ..shape(2, 48)
    };
    for seed in 0..4 {
        let bytes = left_by(&body, Order::Seed(seed), patient);
        assert_eq!(bytes[64], 96, "seed {seed}");
    }
    assert_eq!(bench(&body).check(patient), []);
}

#[test]
fn a_difference_names_two_orders_and_leaves_memory_as_it_was() {
    let mut bench = bench(FIRST_COME);
    let orders = [Order::Seed(0), Order::Seed(1), Order::Seed(2)];
    let Bench {
        memory,
        kernel,
        arguments,
    } = &mut bench;
    let finding = compare_orders(kernel, memory, &shape(2, 64), arguments, orders)
        .expect("it runs")
        .expect("it depends on the order");
    assert_eq!(finding.tool, Tool::Schedules);
    assert!(
        finding.message.contains("seed 0") && finding.message.contains("seed 1"),
        "{finding}"
    );
    let data = u64::from_le_bytes(arguments[0][..].try_into().expect("an address"));
    let mut bytes = vec![1; DATA_BYTES];
    memory.read(data, &mut bytes).expect("it is there");
    assert_eq!(bytes, [0; DATA_BYTES]);

    let mut right = self::bench("st.global.u32 [%rd2], %r1;");
    let Bench {
        memory,
        kernel,
        arguments,
    } = &mut right;
    let none = compare_orders(
        kernel,
        memory,
        &shape(1, 64),
        arguments,
        (0..50).map(Order::Seed),
    );
    assert_eq!(none, Ok(None));
}

#[test]
fn an_endless_loop_stops_at_the_limit_of_steps() {
    let mut bench = bench("LOOP: bra LOOP;");
    let Bench {
        memory,
        kernel,
        arguments,
    } = &mut bench;
    for orders in [[Order::Fixed], [Order::Seed(0)]] {
        let stopped = compare_orders(kernel, memory, &shape(1, 64), arguments, orders);
        let Err(LaunchError::Trap(trap)) = stopped else {
            panic!("{stopped:?}");
        };
        assert_eq!(trap.fault, Fault::StepLimit(100_000));
    }
}
