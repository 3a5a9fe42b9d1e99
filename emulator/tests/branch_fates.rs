//! What becomes of conditional branches, against what ptxas made of them: `data/branches.sm_90.csv`, whose origin is in
//! `data/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use warpfold_emulator::{BranchFate, Memory, Module, Program};

const FATES: &str = include_str!("data/branches.sm_90.csv");

/// Line and fate of each branch of a file, from the emulator.
fn expected_of(ptx: &str) -> BTreeMap<u32, BranchFate> {
    let module = Module::parse(ptx).unwrap();
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    let program = Program::load(module, &mut Memory::new()).unwrap();
    let kernels = entries.iter().map(|entry| program.kernel(entry).unwrap());
    kernels
        .flat_map(|kernel| kernel.branches().collect::<Vec<_>>())
        .collect()
}

#[test]
fn ptxas_does_what_is_expected_with_nearly_all() {
    let mut files: BTreeMap<&str, Vec<(u32, BranchFate)>> = BTreeMap::new();
    for row in FATES.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let fate = match cells[2] {
            "kept" => BranchFate::Kept,
            "exit" => BranchFate::Exit,
            "predicated" => BranchFate::Predicated,
            other => panic!("{other}"),
        };
        files
            .entry(cells[0])
            .or_default()
            .push((cells[1].parse().unwrap(), fate));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    // By what is expected, then by what ptxas did.
    let mut counts = [[0_u32; 3]; 3];
    for (file, branches) in files {
        let expected = expected_of(&fs::read_to_string(folder.join(file)).unwrap());
        for (line, fate) in branches {
            // A function that no kernel calls has no place in `expected`.
            if let Some(&expected) = expected.get(&line) {
                counts[expected as usize][fate as usize] += 1;
                if expected != fate {
                    println!("{file}:{line}: expected {expected:?}, is {fate:?}");
                }
            }
        }
    }
    println!("{counts:?}");
    let all: u32 = counts.iter().flatten().sum();
    let right: u32 = (0..3).map(|fate| counts[fate][fate]).sum();
    assert_eq!((right, all), (495, 525), "docs/counters.md says so too");
}

/// The fates of the branches of a kernel with this body, in their order.
fn fates(body: &str) -> Vec<BranchFate> {
    let ptx = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n{body}\n}}\n"
    );
    let program = Program::load(Module::parse(&ptx).unwrap(), &mut Memory::new()).unwrap();
    let kernel = program.kernel("k").unwrap();
    kernel.branches().map(|(_, fate)| fate).collect()
}

/// A branch over this, with something after the point where the ways meet.
fn fate_over(body: &str) -> BranchFate {
    let fates = fates(&format!(
        "@%p1 bra BEHIND; {body} BEHIND: add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; ret;"
    ));
    fates[0]
}

#[test]
fn a_body_of_ten_instructions_is_predicated_and_one_of_eleven_is_not() {
    let addition = "add.u32 %r1, %r1, %r2; ";
    assert_eq!(fate_over(&addition.repeat(10)), BranchFate::Predicated);
    assert_eq!(fate_over(&addition.repeat(11)), BranchFate::Kept);
    let either = |then: usize, otherwise: usize| {
        let (then, otherwise) = (addition.repeat(then), addition.repeat(otherwise));
        fates(&format!(
            "@%p0 bra ELSE; {then} bra.uni MEET; ELSE: {otherwise} MEET: bar.sync 0; ret;"
        ))[0]
    };
    assert_eq!(either(6, 4), BranchFate::Predicated);
    assert_eq!(either(6, 5), BranchFate::Kept);
}

#[test]
fn what_takes_no_guard_keeps_the_branch() {
    let load = "ld.global.u32 %r1, [%rd1];";
    let store = "st.global.u32 [%rd1], %r1;";
    assert_eq!(fate_over(load), BranchFate::Predicated);
    assert_eq!(fate_over(store), BranchFate::Predicated);
    assert_eq!(fate_over(&[load, store].concat()), BranchFate::Kept);
    for body in [
        "red.global.add.u32 [%rd1], 1;",
        "membar.gl;",
        "bar.sync 0;",
        "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;",
        "@%p0 bra BEHIND; add.u32 %r1, %r1, 1;",
        "LOOP: add.u32 %r1, %r1, 1; bra.uni LOOP;",
    ] {
        assert_eq!(fate_over(body), BranchFate::Kept, "{body}");
    }
}

#[test]
fn a_way_to_the_end_is_an_exit_unless_the_branch_jumps_back() {
    let body = "red.global.add.u32 [%rd1], 1; ".repeat(20);
    assert_eq!(
        fates(&format!("@%p1 bra END; {body} END: ret;")),
        [BranchFate::Exit]
    );
    let over_a_jump =
        format!("@%p1 bra JUMP; {body} JUMP: bra.uni END; add.u32 %r1, %r1, 1; END: exit;");
    assert_eq!(fates(&over_a_jump), [BranchFate::Exit]);
    assert_eq!(
        fates("LOOP: add.u32 %r1, %r1, 1; @%p1 bra LOOP; ret;"),
        [BranchFate::Kept]
    );
}
