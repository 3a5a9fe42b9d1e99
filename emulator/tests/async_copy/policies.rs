//! `createpolicy`: every form makes a policy that all hints take, and nothing depends on it.

use crate::common::{entry, lanes, refused};

#[test]
fn hints_take_every_policy() {
    for policy in [
        "createpolicy.fractional.L2::evict_last.b64 %d1;",
        "createpolicy.fractional.L2::evict_normal.b64 %d1, 0.5;",
        "mov.f32 %f1, 0.25; createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %d1, %f1;",
        "createpolicy.range.L2::evict_unchanged.L2::evict_first.b64 %d1, [%d37], 64, 128;",
        "mov.u32 %r1, 64; createpolicy.range.global.L2::evict_last.b64 %d1, [%d37], %r1, %r1;",
        "mov.u64 %d2, 7; createpolicy.cvt.L2.b64 %d1, %d2;",
    ] {
        let left = lanes(&format!(
            "{policy} mul.wide.u32 %d3, %r39, 4; add.u64 %d3, %d37, %d3; st.global.L2::cache_hint.u32 [%d3], %r39, %d1;
             red.global.L2::cache_hint.add.u32 [%d3], 1, %d1; ld.global.L2::cache_hint.u32 %r0, [%d3], %d1;"
        ));
        assert_eq!(left, (1..33).collect::<Vec<_>>(), "{policy}");
    }
}

#[test]
fn malformed_policies_are_refused() {
    for (policy, expected) in [
        (
            "createpolicy.fractional.L2::evict_last.b64 %d1, 1.5;",
            "the fraction 1.5, where more than 0 and at most 1 are allowed",
        ),
        (
            "createpolicy.fractional.L2::evict_last.b64 %d1, 0.0;",
            "the fraction 0, where more than 0 and at most 1 are allowed",
        ),
        (
            "createpolicy.range.global.L2::evict_last.b64 %d1, [%d2], 96, 64;",
            "a primary size of 96 bytes, which is more than its total size of 64",
        ),
        (
            "createpolicy.range.global.L2::evict_last.b64 %d1, [%d2], 96;",
            "the operands of `createpolicy.range.global.L2::evict_last.b64` do not fit",
        ),
        (
            "createpolicy.fractional.L2::evict_last.L2::evict_last.b64 %d1;",
            "is not supported",
        ),
        ("createpolicy.fractional.b64 %d1;", "is not supported"),
        (
            "createpolicy.range.shared.L2::evict_last.b64 %d1, [%r2], 64, 64;",
            "is not supported",
        ),
        ("createpolicy.cvt.b64 %d1, %d2;", "is not supported"),
    ] {
        let message = refused(&entry(policy), "test").unwrap_or_default();
        assert!(message.contains(expected), "{policy}: {message}");
    }
}
