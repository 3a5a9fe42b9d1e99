//! What scans cost, what their barriers are for, and that a look-back needs nothing cleared.

use crate::launch::Argument::{U32, U64, Words, Zeros};
use crate::launch::{Ready, lessons_ptx, metric, text_of};
use warpfold::Device;
use warpfold::device::{DeviceChoice, Shape};
use warpfold_emulator::Tool;
use warpfold_kernels::catalogue::BLOCK_SIZES;

fn block_scan(ptx: &str, block: u32) -> Ready {
    let n = 3 * block as usize;
    let arguments = [Zeros(4 * n), Zeros(4 * n), Zeros(4 * 3), U64(n)];
    Ready::linear(ptx, "block_scan", 3, block, &arguments)
}

#[test]
fn a_block_scan_costs_what_its_page_says() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        let measured = block_scan(&ptx, block).profile();
        let (blocks, warps) = (3.0, f64::from(block / 32));
        assert_eq!(
            metric(&measured, "shared_store_wavefronts"),
            blocks * (warps + 1.0)
        );
        assert_eq!(
            metric(&measured, "shared_load_wavefronts"),
            blocks * (warps + 1.0)
        );
        // Counted for each warp.
        assert_eq!(metric(&measured, "barriers"), blocks * warps * 2.0);
        let shuffles = text_of(&ptx, "block_scan")
            .matches("shfl.sync.up.b32")
            .count();
        assert_eq!(shuffles, 10);
    }
}

#[test]
fn both_barriers_of_a_block_scan_are_needed() {
    let ptx = lessons_ptx();
    let text = text_of(&ptx, "block_scan");
    assert!(block_scan(&ptx, 256).findings(Tool::Racecheck).is_empty());
    for (at, barrier) in text.match_indices("bar.sync \t0;") {
        let without = format!("{}{}", &text[..at], &text[at + barrier.len()..]);
        let changed = ptx.replacen(text, &without, 1);
        assert!(
            !block_scan(&changed, 256)
                .findings(Tool::Racecheck)
                .is_empty()
        );
    }
    assert_eq!(text.matches("bar.sync \t0;").count(), 2);
}

#[test]
fn sections_of_a_warp_are_an_operand() {
    let ptx = lessons_ptx();
    for width in [2_u32, 4, 8, 16, 32] {
        let text = text_of(&ptx, &format!("warp_scan_{width}")).to_owned();
        let (sections, steps) = ((32 - width) << 8, width.ilog2() as usize);
        let up = text
            .lines()
            .filter(|line| line.contains("shfl.sync.up.b32"));
        let bounds = format!(", {sections}, -1;");
        assert_eq!(
            up.filter(|line| line.contains(&bounds)).count(),
            steps,
            "{width}"
        );
        let total = format!(", {}, {}, -1;", width - 1, sections | (width - 1));
        let by_index = text
            .lines()
            .filter(|line| line.contains("shfl.sync.idx.b32"));
        assert_eq!(
            by_index.filter(|line| line.contains(&total)).count(),
            1,
            "{width}"
        );
    }
}

/// Every element is read once and written once; in the emulator's order each tile finds the prefix of the tile before it.
#[test]
fn a_look_back_reads_and_writes_once() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        let tiles = 40_u32;
        let n = (tiles * 4 * block) as usize;
        let arguments = [
            Zeros(4 * n),
            Zeros(4 * n),
            U64(n),
            Zeros(8 * tiles as usize),
            Zeros(4),
            U32(1),
        ];
        let measured = Ready::linear(&ptx, "look_back", tiles, block, &arguments).profile();
        let words_seen: u32 = (0..tiles).map(|tile| tile.min(32)).sum();
        let bytes = |words: u32| (4 * n) as f64 + 8.0 * f64::from(words);
        assert_eq!(metric(&measured, "global_load_bytes"), bytes(words_seen));
        assert_eq!(
            metric(&measured, "global_store_bytes"),
            bytes(2 * tiles - 1)
        );
        assert_eq!(
            metric(&measured, "barriers"),
            f64::from(4 * tiles * block / 32)
        );
    }
}

#[test]
fn a_second_look_back_needs_nothing_cleared() {
    let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    let kernel = device
        .load(&lessons_ptx())
        .and_then(|module| module.kernel("look_back"))
        .expect("the kernel is there");
    let n = 10_001_usize;
    let tiles = n.div_ceil(4 * 64);
    let sums = device.allocate::<i32>(n).expect("there is memory");
    let published = device.upload(&vec![0_u64; tiles]).expect("there is memory");
    let ticket = device.upload(&[0_u32]).expect("there is memory");
    for launch in 1..=3_u32 {
        let values: Vec<i32> = (0..n as i32)
            .map(|index| index * launch as i32 - 9)
            .collect();
        let input = device.upload(&values).expect("there is memory");
        let arguments = [
            input.argument(),
            sums.argument(),
            n.into(),
            published.argument(),
            ticket.argument(),
            launch.into(),
        ];
        // SAFETY: the arguments are the kernel's, with a word for each block and another number for each launch.
        unsafe { kernel.launch(&Shape::linear(tiles as u32, 64), &arguments) }.expect("it runs");
        let mut sum = 0;
        let expected: Vec<i32> = values
            .iter()
            .map(|value| {
                sum += value;
                sum
            })
            .collect();
        assert_eq!(
            sums.read().expect("it is over"),
            expected,
            "launch {launch}"
        );
        assert_eq!(ticket.read().expect("it is over"), [0], "launch {launch}");
    }
}

/// The positive elements of each warp come together on the emulator: two atomics for all of them.
#[test]
fn a_group_takes_two_atomics() {
    let ptx = lessons_ptx();
    let (blocks, block) = (4_u32, 128_u32);
    let n = (blocks * block) as usize;
    let values = (0..n as i32).map(|index| if index % 3 == 0 { 5 } else { -5 });
    let arguments = [
        Words(values.collect()),
        Zeros(4 * n),
        Zeros(4),
        Zeros(4),
        U64(n),
    ];
    let measured = Ready::linear(&ptx, "coalesced_group", blocks, block, &arguments).profile();
    assert_eq!(metric(&measured, "atomics"), f64::from(2 * n as u32 / 32));
}
