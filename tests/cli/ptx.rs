//! `warpfold ptx`.

use super::*;

#[test]
fn the_entry_for_the_block_size_is_printed() {
    let text = output_of(&["ptx", "complete_unroll", "--block", "256", "--sm", "90"]);
    assert!(text.contains(".entry complete_unroll_256("), "{text}");
    assert!(!text.contains("complete_unroll_512"), "{text}");
    assert!(text.trim_end().ends_with('}'), "{text}");
    assert!(output_of(&["ptx", "neighbored"]).contains(".entry neighbored("));
}

#[test]
fn a_lesson_that_takes_a_later_gpu_is_shown_as_that_gets_it() {
    assert!(output_of(&["ptx", "wide_swap"]).contains(".entry wide_swap("));
    refuses(
        &["ptx", "wide_swap", "--sm", "80"],
        "it needs sm_90 or later",
    );
}

#[test]
fn what_is_not_built_is_refused() {
    refuses(&["ptx", "shufle"], "did you mean `shuffle`?");
    refuses(
        &["ptx", "cpu_parallel"],
        "there is no lesson `cpu_parallel`",
    );
    refuses(
        &["ptx", "shuffle", "--sm", "60"],
        "it is built for --sm 70, 80, 90",
    );
    refuses(&["ptx", "shuffle", "--sm", "new"], "'new' for '--sm <SM>'");
}
