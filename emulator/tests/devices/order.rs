//! In which order several devices run: side by side, so that they may wait for each other, and under seeds in many orders.

use crate::Group;
use warpfold_emulator::{
    LaunchError, Memory, Nothing, Order, Tool, compare_orders_together, launch_together,
};

/// Passes a word back and forth: the device of this parity adds 1 whenever it is its turn.
fn ping_pong(parity: u32) -> String {
    format!(
        "mov.u32 %r3, 0;
        next: ld.acquire.sys.global.u32 %r4, [%rd1];
        and.b32 %r5, %r4, 1; setp.ne.u32 %p1, %r5, {parity}; @%p1 bra next;
        add.u32 %r4, %r4, 1;
        st.release.sys.global.u32 [%rd1], %r4;
        add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 10; @%p2 bra next;"
    )
}

fn orders() -> impl Iterator<Item = Order> {
    [Order::Fixed].into_iter().chain((0..30).map(Order::Seed))
}

#[test]
fn devices_may_wait_for_each_other() {
    for order in orders() {
        let mut group = Group::of([&ping_pong(0), &ping_pong(1)]);
        let result = group.with(|launches, memories| {
            let memories: Vec<&Memory> = memories.iter().map(|memory| &**memory).collect();
            launch_together(launches, &memories, order, &mut Nothing)
        });
        assert_eq!((result, group.word(0, 0)), (Ok(()), 20), "{order}");
    }
}

#[test]
fn who_waits_in_vain_reaches_the_limit() {
    let result = Group::of([&ping_pong(1), ""]).with(|launches, memories| {
        let memories: Vec<&Memory> = memories.iter().map(|memory| &**memory).collect();
        launch_together(launches, &memories, Order::Fixed, &mut Nothing)
    });
    let Err(LaunchError::Trap(trap)) = result else {
        panic!("it never ends");
    };
    assert_eq!(trap.device, 0);
}

#[test]
fn many_blocks_on_each_device_all_run() {
    let add = "atom.relaxed.sys.global.add.u32 %r3, [%rd1], 1;";
    for order in orders() {
        let mut group = Group::of([add, add]).with_shape(200, 40);
        group.with(|launches, memories| {
            let memories: Vec<&Memory> = memories.iter().map(|memory| &**memory).collect();
            launch_together(launches, &memories, order, &mut Nothing).unwrap();
        });
        assert_eq!(group.word(0, 0), 2 * 200 * 40, "{order}");
    }
}

#[test]
fn a_result_that_depends_on_the_order_is_found() {
    let lost_update = "ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1], %r3;";
    let mut group = Group::of([lost_update, lost_update]);
    let compare = |group: &mut Group| {
        group.with(|launches, memories| compare_orders_together(launches, memories, orders()))
    };
    let finding = compare(&mut group).unwrap().expect("updates get lost");
    assert_eq!(finding.tool, Tool::Schedules);
    // Afterwards everything is as it was.
    assert_eq!(group.word(0, 0), 0);
    let atomic = "atom.sys.global.add.u32 %r3, [%rd1], 1;";
    assert_eq!(compare(&mut Group::of([atomic, atomic])), Ok(None));
    assert_eq!(
        compare(&mut Group::of([&ping_pong(0), &ping_pong(1)])),
        Ok(None)
    );
}
