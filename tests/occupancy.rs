//! The occupancy of the lessons' kernels: with the registers that are recorded, and on a GPU against the driver's own answer.

use warpfold::Device;
use warpfold::device::DeviceChoice;
use warpfold::ptx::{PtxSet, recorded_by};
use warpfold_course::prepared::PreparedLesson;
use warpfold_emulator::{BlockNeeds, Multiprocessor, Resource};
use warpfold_kernels::catalogue::{BLOCK_SIZES, find, lessons};

/// The lessons that are about it have to be recorded anew when they change: `cargo xtask registers`.
#[test]
fn the_lessons_on_residency_have_their_registers_recorded() {
    let ptx = PtxSet::embedded();
    assert!(recorded_by().is_some_and(|assembler| assembler.starts_with("ptxas ")));
    for id in ["shared_held", "in_flight", "in_flight_bounded"] {
        let lesson = find(id).expect("it is a lesson");
        for entry in lesson.entry_names() {
            for Multiprocessor { sm, .. } in Multiprocessor::ALL {
                let registers = ptx.recorded_registers(lesson.module, entry, sm);
                assert!(registers.is_some(), "{entry} on sm_{sm}");
            }
        }
    }
}

/// What the page of these lessons says.
#[test]
fn launch_bounds_make_room_for_1024_threads() {
    let ptx = PtxSet::embedded();
    for block in BLOCK_SIZES {
        for multiprocessor in Multiprocessor::ALL {
            let blocks = |id: &str| {
                let lesson = find(id).expect("it is a lesson");
                let entry = lesson
                    .entry(lesson.usual(block))
                    .expect("it takes all blocks");
                let registers = ptx.recorded_registers(lesson.module, entry, multiprocessor.sm);
                multiprocessor.occupancy(&BlockNeeds {
                    threads: block.into(),
                    registers,
                    shared_bytes: u64::from(block) / 8,
                })
            };
            let (free, bounded) = (blocks("in_flight"), blocks("in_flight_bounded"));
            let place = format!(
                "sm_{}, block {block}: {free:?}, {bounded:?}",
                multiprocessor.sm
            );
            assert!(free.blocks >= 1, "{place}");
            assert!(bounded.blocks * block >= 1024, "{place}");
            if multiprocessor.sm == 90 && block < 1024 {
                assert!(free.blocks < bounded.blocks, "{place}");
                assert_eq!(free.limited_by, [Resource::Registers], "{place}");
            }
        }
    }
}

/// Every kernel of every lesson, in blocks of every size.
#[test]
fn the_driver_gives_the_same_blocks() {
    let Ok(device) = Device::open(&DeviceChoice::Gpu(0)) else {
        eprintln!("skipped: there is no GPU");
        return;
    };
    let Some(multiprocessor) = Multiprocessor::of(device.sm()) else {
        eprintln!("skipped: sm_{} is not in the table", device.sm());
        return;
    };
    for lesson in lessons() {
        if lesson.emulator_only || lesson.least_sm > device.sm_of(lesson.module) {
            continue;
        }
        for variant in lesson.variants() {
            let most = lesson
                .reduction()
                .and_then(|reduction| reduction.most_elements(variant));
            let n = most.map_or(5000, |most| most.min(5000) as usize);
            let prepared = PreparedLesson::new(lesson, variant, n, 1, device.multiprocessors())
                .expect("it takes that");
            let Some(case) = prepared.case() else {
                continue;
            };
            let kernel = device.kernel(lesson.module, case.entry).expect("it loads");
            let needs = BlockNeeds {
                threads: case
                    .shape
                    .block
                    .iter()
                    .map(|&extent| u64::from(extent))
                    .product(),
                registers: kernel.registers(),
                shared_bytes: u64::from(kernel.static_shared_bytes())
                    + u64::from(case.shape.dynamic_shared_bytes),
            };
            let by_driver = kernel
                .resident_blocks(&case.shape)
                .expect("it can be launched");
            let ours = multiprocessor.occupancy(&needs);
            assert_eq!(ours.blocks, by_driver, "{} {needs:?}: {ours:?}", case.entry);
        }
    }
}
