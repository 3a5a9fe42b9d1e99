//! What the course says to look at in the PTX, pinned.
//!
//! The excerpts come without register and block numbers, which change whenever a kernel is added. After a change of
//! compiler or kernels `INSTA_UPDATE=always cargo test --test golden` takes the new text, for review in the diff.

use warpfold::ptx::PtxSet;
use warpfold_emulator::Module;
use warpfold_kernels::catalogue::PtxText;

#[test]
fn step_5_ends_with_volatile_accesses_and_no_barrier_between_them() {
    let text = entry("unroll_warps8");
    let lines = excerpt(&text, "ld.volatile", Until::Last("st.volatile"));
    assert_eq!(
        lines.matches("st.volatile").count(),
        6,
        "strides 32, 16, 8, 4, 2, 1"
    );
    assert!(!lines.contains("bar."), "{lines}");
    insta::assert_snapshot!("step_5_last_warp", lines);
}

#[test]
fn step_7_has_lost_the_block_size_tests_of_step_6() {
    assert!(
        entry("complete_unroll_warps8").contains("%ntid.x"),
        "step 6 asks for its block size"
    );
    let text = entry("complete_unroll_512");
    assert!(!text.contains("%ntid"), "step 7 does not");
    insta::assert_snapshot!(
        "step_7_tree",
        excerpt(&text, "bar.sync", Until::Nth(3, "bar.sync"))
    );
}

#[test]
fn step_8_runs_its_tree_in_shared_memory() {
    let text = entry("complete_unroll_shared_512");
    assert!(
        text.contains(".shared .align 16 .b8"),
        "its array is declared in the entry"
    );
    let tree = excerpt(&text, "st.shared", Until::Last("ret;"));
    assert!(
        tree.contains("ld.shared") && !tree.contains("ld.global"),
        "{tree}"
    );
    insta::assert_snapshot!("step_8_tree", tree);
}

#[test]
fn step_10_asks_for_sixteen_bytes_four_times_before_it_adds() {
    let text = entry("vectorized_512");
    let tile = excerpt(&text, "ld.global.v4", Until::Nth(16, "add.s32"));
    let loads = tile.lines().take_while(|line| !line.starts_with("add"));
    assert_eq!(loads.count(), 4, "{tile}");
    insta::assert_snapshot!("step_10_tile", tile);
}

#[test]
fn step_11_has_a_fence_on_either_side_of_its_ticket() {
    let text = entry("single_pass_512");
    let ticket = excerpt(&text, "membar", Until::Last("membar"));
    assert!(ticket.contains("atom.global.add"), "{ticket}");
    let volatile = text.matches("ld.volatile").count();
    assert_eq!(volatile, 1, "the partials, and nothing else");
    insta::assert_snapshot!("step_11_ticket", ticket);
}

#[test]
fn down_and_across_are_ten_shuffles_of_their_kind() {
    for (name, own, other) in [
        ("warp_shuffle_down", "shfl.sync.down", "shfl.sync.bfly"),
        ("warp_shuffle_xor", "shfl.sync.bfly", "shfl.sync.down"),
    ] {
        let text = entry(name);
        assert_eq!(text.matches(own).count(), 10, "{name}");
        assert_eq!(text.matches(other).count(), 0, "{name}");
    }
    let text = entry("warp_shuffle_xor");
    insta::assert_snapshot!(
        "across_a_warp",
        excerpt(&text, "shfl", Until::Nth(5, "shfl"))
    );
}

#[test]
fn a_warp_is_one_instruction_where_there_is_one() {
    let text = entry("redux_512");
    assert_eq!(text.matches("redux.sync.add.s32").count(), 2);
    assert!(!text.contains("shfl"), "{text}");
    let ptx = PtxSet::embedded();
    let old = ptx
        .built_for(PtxText::Kernels, 70)
        .expect("there is PTX for sm_70");
    assert!(!old.contains("redux"), "sm_70 has no such instruction");
}

#[test]
fn each_match_is_one_instruction() {
    for (name, own, other) in [("match_any", "any", "all"), ("match_all", "all", "any")] {
        let text = entry(name);
        assert_eq!(text.matches(&format!("match.{own}.sync.b32")).count(), 1);
        assert!(!text.contains(&format!("match.{other}")), "{text}");
    }
}

#[test]
fn coarse_threads_have_their_loop_written_out() {
    for k in [1, 2, 4, 8] {
        let text = entry(&format!("coarse_{k}"));
        let whole = excerpt(&text, "ld.global", Until::Nth(1, "bra"));
        assert_eq!(whole.matches("ld.global").count(), 2 * k, "{whole}");
    }
}

#[test]
fn a_tile_waits_twice_in_each_step_of_its_tree_and_of_the_last() {
    for (t, steps) in [(1, 0), (2, 1), (4, 2), (8, 3), (16, 4), (32, 5)] {
        let text = entry(&format!("tile_partition_{t}"));
        assert_eq!(text.matches("bar.warp.sync").count(), 4 * steps, "{t}");
    }
}

#[test]
fn the_grid_waits_in_a_loop_of_relaxed_loads() {
    let text = entry("grid_sync_512");
    insta::assert_snapshot!(
        "grid_barrier",
        excerpt(&text, "membar", Until::Nth(1, "bar.sync"))
    );
}

/// The PTX of one entry, for sm_80.
fn entry(name: &str) -> String {
    let ptx = PtxSet::embedded();
    let text = ptx
        .built_for(PtxText::Kernels, 80)
        .expect("there is PTX for sm_80");
    let module = Module::parse(text).expect("the PTX is right");
    let lines = module
        .function_lines(name)
        .unwrap_or_else(|| panic!("there is no entry {name}"));
    let lines: Vec<&str> = lines.into_iter().map(|(_, line)| line).collect();
    lines.join("\n")
}

/// Where an excerpt ends.
enum Until {
    /// At the last line with this.
    Last(&'static str),
    /// At the line with this for the so-manieth time, the first line of the excerpt included.
    Nth(usize, &'static str),
}

/// The lines from the first with `from` to the end, without numbers in registers and labels.
fn excerpt(text: &str, from: &str, until: Until) -> String {
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains(from))
        .collect();
    let end = match until {
        Until::Last(mark) => lines.iter().rposition(|line| line.contains(mark)),
        Until::Nth(count, mark) => {
            let mut marked = lines
                .iter()
                .enumerate()
                .filter(|(_, line)| line.contains(mark));
            marked.nth(count - 1).map(|(index, _)| index)
        }
    };
    let end = end.unwrap_or_else(|| panic!("the excerpt from {from} has no end in:\n{text}"));
    lines[..=end]
        .iter()
        .map(|line| without_numbers(line.trim()) + "\n")
        .collect()
}

/// `ld.global.b32 %r26, [%rd6+64];` as `ld.global.b32 %r, [%rd+64];`, and `$L__BB22_14` as `$L__BB_14`.
fn without_numbers(line: &str) -> String {
    let mut plain = String::new();
    let mut in_name = false;
    for character in line.replace(" \t", " ").chars() {
        match character {
            '%' | '$' => in_name = true,
            '0'..='9' if in_name => continue,
            // The number of the block within its function stays, to tell labels apart.
            '_' if plain.ends_with("BB") => in_name = false,
            'A'..='Z' | 'a'..='z' | '_' => {}
            _ => in_name = false,
        }
        plain.push(character);
    }
    plain
}
