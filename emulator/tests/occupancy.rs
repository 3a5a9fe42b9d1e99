//! Resident blocks against CUDA's own calculation, as `peers/occupancy.c` has written it down.

use warpfold_emulator::{BlockNeeds, Multiprocessor, Resource};

const TABLE: &str = include_str!("data/occupancy.tsv");

/// The bits by which the table names what limits a launch.
const BITS: [(u32, Resource); 4] = [
    (1, Resource::Warps),
    (2, Resource::Registers),
    (4, Resource::SharedMemory),
    (8, Resource::Blocks),
];

#[test]
fn every_row_is_what_cuda_computes() {
    let mut seen = 0;
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let numbers: Vec<u32> = line
            .split('\t')
            .map(|number| number.parse().expect("the table has numbers"))
            .collect();
        let [sm, threads, registers, shared_bytes, blocks, limits] = numbers[..] else {
            panic!("a row has six numbers: {line}");
        };
        let multiprocessor = Multiprocessor::of(sm).expect("it is known");
        let found = multiprocessor.occupancy(&BlockNeeds {
            threads: threads.into(),
            registers: Some(registers),
            shared_bytes: shared_bytes.into(),
        });
        assert_eq!(found.blocks, blocks, "{line}: {found:?}");
        let bits = BITS
            .iter()
            .filter(|(_, resource)| found.limited_by.contains(resource))
            .map(|(bit, _)| bit)
            .sum::<u32>();
        assert_eq!(bits, limits, "{line}: {found:?}");
        assert_eq!(found.warps, blocks * threads.div_ceil(32), "{line}");
        seen += 1;
    }
    assert_eq!(seen, 2268);
}

#[test]
fn every_architecture_is_in_the_table() {
    for multiprocessor in Multiprocessor::ALL {
        let row = format!("\n{}\t", multiprocessor.sm);
        assert!(TABLE.contains(&row), "sm_{}", multiprocessor.sm);
        assert_eq!(Multiprocessor::of(multiprocessor.sm), Some(multiprocessor));
    }
    assert_eq!(Multiprocessor::of(61), None);
}

#[test]
fn unknown_registers_are_taken_to_suffice() {
    let multiprocessor = Multiprocessor::of(90).expect("it is known");
    let block = BlockNeeds {
        threads: 256,
        registers: None,
        shared_bytes: 0,
    };
    let without = multiprocessor.occupancy(&block);
    assert_eq!((without.blocks, without.percent()), (8, 100.0));
    assert_eq!(without.limited_by, [Resource::Warps]);
    let with = multiprocessor.occupancy(&BlockNeeds {
        registers: Some(72),
        ..block
    });
    assert_eq!((with.blocks, with.percent()), (3, 37.5));
    assert_eq!(with.limited_by, [Resource::Registers]);
}
