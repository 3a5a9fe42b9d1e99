//! On the host every function of the device compiles, and panics saying where it may be called.

use std::panic::{UnwindSafe, catch_unwind};

use cuda_std::{shared, thread, warp};

/// The message of the panic that `call` ends in.
#[track_caller]
fn panic_message<T>(call: impl FnOnce() -> T + UnwindSafe) -> String {
    let Err(payload) = catch_unwind(call) else {
        panic!("the call came back");
    };
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload
            .downcast::<&str>()
            .expect("a panic message is text")
            .to_string(),
    }
}

#[test]
fn a_call_names_the_function_and_where_it_runs() {
    assert_eq!(
        panic_message(thread::thread_idx_x),
        "`cuda_std::thread::thread_idx_x` runs only in a kernel on the device, and this is the host"
    );
}

#[test]
fn every_module_panics_alike() {
    let sentence = "runs only in a kernel on the device, and this is the host";
    let messages = [
        panic_message(thread::index_1d),
        panic_message(thread::sync_threads),
        panic_message(|| thread::sync_threads_count(1)),
        panic_message(thread::grid_fence),
        panic_message(warp::lane_id),
        panic_message(shared::dynamic_shared_mem::<f32>),
        // SAFETY: on the host none of these gets further than its panic.
        panic_message(|| unsafe { warp::sync_warp(u32::MAX) }),
        // SAFETY: as above.
        panic_message(|| unsafe { warp::warp_shuffle_down(u32::MAX, 1_i64, 1, 32) }),
        // SAFETY: as above.
        panic_message(|| unsafe { warp::warp_match_all(u32::MAX, 1.5_f32) }),
        // SAFETY: as above.
        panic_message(|| unsafe { warp::warp_vote_ballot(u32::MAX, true) }),
        // SAFETY: as above.
        panic_message(|| unsafe { warp::warp_reduce(u32::MAX, 1_u32, warp::WarpReductionOp::Add) }),
    ];
    for message in messages {
        assert!(message.ends_with(sentence), "{message}");
    }
}
