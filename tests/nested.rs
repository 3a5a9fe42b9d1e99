//! Kernels that launch grids: the tree that the user sees, and what is said when the device has no room for a grid.

use assert_cmd::Command;
use predicates::str::contains;
use warpfold::device::{Device, DeviceChoice, DeviceError, Shape};
use warpfold::ptx::PtxSet;
use warpfold_kernels::catalogue::PtxText;

#[test]
fn recursive_hello_draws_its_tree() {
    let arguments = [
        "run",
        "recursive_hello",
        "-n",
        "2",
        "--block",
        "64",
        "--set",
        "depth=1",
        "--device",
        "emulator",
    ];
    let run = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .assert()
        .success()
        .stdout(contains("blocks of the tree"));
    let text = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    let columns: Vec<usize> = text
        .lines()
        .filter_map(|line| line.find(['├', '└']))
        .collect();
    assert_eq!(columns.len(), 6, "{text}");
    assert_eq!(
        columns[0], columns[3],
        "the two blocks of the host's grid: {text}"
    );
}

/// What `run` shows of a lesson's grids and threads: launched and working threads, child grids, generations, most pending.
#[track_caller]
fn counts(lesson: &str, n: &str) -> [u64; 5] {
    let arguments = ["run", lesson, "-n", n, "--block", "64", "--device"];
    let run = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .args(["emulator", "--json", "-"])
        .assert()
        .success();
    let report: serde_json::Value =
        serde_json::from_slice(&run.get_output().stdout).expect("it is JSON");
    let counters = &report["emulator"]["counters"];
    [
        "threads_launched",
        "threads_working",
        "child_grids",
        "grid_generations",
        "child_grids_pending",
    ]
    .map(|name| counters[name].as_u64().expect("it is counted"))
}

#[test]
fn every_launch_is_counted() {
    // Two tiles of 64: 64 + 32 + … + 2 threads each, of which half add.
    let by_block = [2 * 126, 2 * 63, 2 * 5, 5, 4];
    assert_eq!(counts("nested_nosync", "128"), by_block);
    // The same, with all grids of one tile waiting inside one another.
    let inside = counts("nested_sync", "128");
    assert_eq!(inside[..4], by_block[..4]);
    // One tile of 128: 64 + 32 + … + 1 threads, all of which add.
    assert_eq!(counts("nested_fixed", "128"), [127, 127, 6, 6, 2]);
    // No kernel of the ladder launches any.
    assert_eq!(counts("neighbored", "128"), [128, 64, 0, 0, 0]);
}

/// Launches `nested_nosync` on 4096 elements in blocks of 64, with room for this many grids beyond the usual.
fn nosync(pending_grids: u64, tile: u32, threads: u32) -> Result<(i32, u32), DeviceError> {
    let set = PtxSet::embedded();
    let ptx = set.newest_for(PtxText::Nested, 90).expect("there is PTX");
    let device = Device::open(&DeviceChoice::Emulator)?;
    let n = 64 * 4096;
    let input = device.upload(&vec![1_i32; n])?;
    let blocks = n as u32 / tile;
    let partials = device.upload(&vec![0_i32; blocks as usize])?;
    let status = device.upload(&[0_u32])?;
    let shape = Shape::linear(blocks, threads).with_pending_grids(pending_grids);
    let arguments = [
        input.argument(),
        partials.argument(),
        (n as u64).into(),
        tile.into(),
        status.argument(),
    ];
    let kernel = device.load(ptx)?.kernel("nested_nosync")?;
    // SAFETY: the emulator checks every access.
    unsafe { kernel.launch(&shape, &arguments)? };
    Ok((partials.read()?.iter().sum(), status.read()?[0]))
}

#[test]
fn a_launch_without_room_is_never_a_wrong_sum() {
    let error = nosync(0, 64, 64).expect_err("4096 blocks launch a grid each");
    assert!(
        error.to_string().starts_with(
            "launch of `nested_nosync` while 2048 grids launched from the device wait or run"
        ),
        "{error}"
    );
    assert_eq!(nosync(2 * 4096, 64, 64), Ok((64 * 4096, 0)));
}

#[test]
fn a_grid_that_the_device_refuses_leaves_its_error_for_the_host() {
    // Half of such a tile is more than a block may have threads; the host's own launch has fewer.
    let (_, status) = nosync(2 * 4096, 4096, 1024).expect("it runs");
    assert_eq!(status, 9, "cudaErrorInvalidConfiguration");
}
