//! Ranks on GPUs, which NCCL brings together: skipped where there is no GPU or no NCCL. On one GPU they share it.

use super::failures::{LONG, ends, says};
use super::processes::{by_mpirun, launchers, on_gpus, torchrun};
use super::{agree, agree_in_one, alone, expected, random};
use crate::device::list;
use crate::ranks::nccl;

/// The number of GPUs, if ranks can use them.
fn gpus() -> Option<usize> {
    let count = list().map_or(0, |list| list.gpus.len());
    match nccl::unique_id() {
        _ if count == 0 => println!("skipped: there is no GPU"),
        Ok(_) => return Some(count),
        Err(error) => println!("skipped: {error}"),
    }
    None
}

#[test]
fn each_launcher_s_ranks_on_gpus_give_what_one_device_gives() {
    if gpus().is_some() {
        for launcher in launchers() {
            agree(on_gpus("results", 2, launcher), expected());
        }
    }
}

#[test]
fn four_ranks_of_unequal_sizes_and_empty_ones_share_gpus() {
    if gpus().is_some() {
        agree(on_gpus("results:1,0,5", 3, torchrun), expected());
        agree(on_gpus("results:0,7,2,0", 4, torchrun), expected());
    }
}

#[test]
fn two_ranks_on_gpus_give_the_bits_of_the_emulator_200_times() {
    if gpus().is_some() {
        agree(on_gpus("random", 2, torchrun), &random(&alone()));
    }
}

#[test]
fn open_mpi_s_own_ranks_meet_on_gpus() {
    match gpus() {
        None => {}
        Some(1) => println!("skipped: there is one GPU, and mpirun gives all ranks the same host"),
        Some(_) => match by_mpirun("results", 2, true) {
            Some(processes) => agree_in_one(processes, 2),
            None => println!("skipped: there is no mpirun on PATH"),
        },
    }
}

#[test]
fn a_rank_on_a_gpu_that_ends_midway_ends_all_with_a_sentence() {
    if gpus().is_some() {
        let all = ends(on_gpus("ends", 2, torchrun));
        says(
            &all[0],
            "rank 0 waited in 'sum of f32' for rank 1, which has ended: see what that one has written",
        );
        assert!(all[0].text.contains("first: 200"), "{}", all[0].text);
        // Where the GPUs have other work, the start alone may take long.
        let after = all[0].elapsed.saturating_sub(all[1].elapsed);
        assert!(after < LONG, "{after:?}");
    }
}
