//! A branch that diverges in every warp, one that does so in none, and one that is none.

use crate::launch::Argument::{U64, Zeros};
use crate::launch::{Ready, lessons_ptx, metric, text_of};
use warpfold_kernels::catalogue::BLOCK_SIZES;

fn launch(ptx: &str, kernel: &str, block: u32, n: usize) -> Ready {
    let grid = n.div_ceil(block as usize) as u32;
    Ready::linear(ptx, kernel, grid, block, &[Zeros(4 * n), U64(n)])
}

#[test]
fn the_parity_of_a_thread_diverges_and_that_of_a_warp_does_not() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        let n = 3 * block as usize;
        let warps = f64::from(3 * block / 32);

        // Two branches a warp: the bound, and the parity, which alone diverges.
        let by_thread = launch(&ptx, "even_odd_divergent", block, n).profile();
        assert_eq!(metric(&by_thread, "branches"), 2.0 * warps);
        assert_eq!(metric(&by_thread, "divergent_branches"), warps);
        assert_eq!(metric(&by_thread, "branch_efficiency"), 50.0);
        assert_eq!(metric(&by_thread, "global_store_sectors_per_request"), 4.0);

        let by_warp = launch(&ptx, "even_odd_warp", block, n).profile();
        assert_eq!(metric(&by_warp, "branches"), 2.0 * warps);
        assert_eq!(metric(&by_warp, "branch_efficiency"), 100.0);
        assert_eq!(metric(&by_warp, "global_store_sectors_per_request"), 8.0);

        let selected = launch(&ptx, "odd_even_add", block, n).profile();
        assert_eq!(metric(&selected, "branches"), warps);
        assert_eq!(metric(&selected, "branch_efficiency"), 100.0);
    }
}

/// Where n ends within a warp, its bound diverges too, and nothing else does.
#[test]
fn a_bound_diverges_in_one_warp_at_most() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        for n in [1, 31, 33, 100, block as usize + 1, 12_345] {
            let measured = launch(&ptx, "odd_even_add", block, n).profile();
            let is_cut = n % 32 != 0;
            assert_eq!(
                metric(&measured, "divergent_branches"),
                f64::from(u8::from(is_cut))
            );
        }
    }
}

#[test]
fn the_compiler_leaves_two_branches_and_selects_in_the_third() {
    let ptx = lessons_ptx();
    let branches = |kernel: &str| text_of(&ptx, kernel).matches("@%p").count();
    assert_eq!(branches("even_odd_divergent"), 2);
    assert_eq!(branches("even_odd_warp"), 2);
    assert_eq!(branches("odd_even_add"), 1);
    assert!(!text_of(&ptx, "even_odd_divergent").contains("selp"));
    assert!(text_of(&ptx, "odd_even_add").contains("selp"));
}
