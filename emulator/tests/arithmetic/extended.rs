//! PTX ISA §9.7.2 "Extended-Precision Integer Arithmetic Instructions": carries from one instruction to the next.

use super::table::Values::{Int32, Int64};
use super::table::check;

#[test]
fn sums_of_two_words() {
    let text = "{ .reg .b32 al, ah, bl, bh, dl, dh;
        mov.b64 {al, ah}, a; mov.b64 {bl, bh}, b;
        add.cc.u32 dl, al, bl; addc.u32 dh, ah, bh;
        mov.b64 d, {dl, dh}; }";
    check(text, [64, 64, 64, 0], &[Int64, Int64], |a, b, _| {
        a.u64().wrapping_add(b.u64())
    });
    let text = text.replace("add", "sub");
    check(&text, [64, 64, 64, 0], &[Int64, Int64], |a, b, _| {
        a.u64().wrapping_sub(b.u64())
    });
}

#[test]
fn the_carry_of_the_last_word() {
    let text = "{ .reg .b64 t; add.cc.u64 t, a, b; addc.u64 d, 0, 0; }";
    check(text, [64, 64, 64, 0], &[Int64, Int64], |a, b, _| {
        u64::from(a.u64().checked_add(b.u64()).is_none())
    });
    let text = "{ .reg .b64 t; sub.cc.u64 t, a, b; subc.u64 d, 0, 0; }";
    check(text, [64, 64, 64, 0], &[Int64, Int64], |a, b, _| {
        if a.u64() < b.u64() { u64::MAX } else { 0 }
    });
    let text = "{ .reg .b32 t; add.cc.s32 t, a, b; addc.cc.s32 t, a, b; addc.u32 d, 0, 0; }";
    check(text, [32, 32, 32, 0], &[Int32, Int32], |a, b, _| {
        let first = a.0 + b.0;
        ((a.0 + b.0 + (first >> 32)) >> 32) as u32
    });
}

/// The flag of a difference is that of the sum with the complement: set where nothing is borrowed. Compilers divide with this.
#[test]
fn a_carry_that_is_no_borrow() {
    let text = "{ .reg .b32 t; sub.cc.u32 t, a, b; addc.u32 d, 0, 0; }";
    check(text, [32, 32, 32, 0], &[Int32, Int32], |a, b, _| {
        u32::from(a.u32() >= b.u32())
    });
    let text = "{ .reg .b32 t; add.cc.u32 t, a, b; subc.u32 d, 5, 1; }";
    check(text, [32, 32, 32, 0], &[Int32, Int32], |a, b, _| {
        if a.0 + b.0 > 0xffff_ffff { 4u32 } else { 3 }
    });
}

#[test]
fn products_of_two_words() {
    // A 64-bit product with its high word from 32-bit multiplications, as compilers write it.
    let text = "{ .reg .b32 al, ah, bl, bh, d0, d1, d2, d3;
        mov.b64 {al, ah}, a; mov.b64 {bl, bh}, b;
        mul.lo.u32 d0, al, bl; mul.hi.u32 d1, al, bl;
        mad.lo.cc.u32 d1, al, bh, d1; madc.hi.u32 d2, al, bh, 0;
        mad.lo.cc.u32 d1, ah, bl, d1; madc.hi.cc.u32 d2, ah, bl, d2; addc.u32 d3, 0, 0;
        mad.lo.cc.u32 d2, ah, bh, d2; madc.hi.u32 d3, ah, bh, d3;
        mov.b64 d, {d2, d3}; }";
    check(text, [64, 64, 64, 0], &[Int64, Int64], |a, b, _| {
        ((u128::from(a.u64()) * u128::from(b.u64())) >> 64) as u64
    });
    let text = "{ .reg .b64 t; mad.lo.cc.u64 t, a, b, c; madc.hi.u64 d, a, b, 0; }";
    check(text, [64; 4], &[Int64; 3], |a, b, c| {
        ((u128::from(a.u64()) * u128::from(b.u64()) + u128::from(c.u64())) >> 64) as u64
    });
}

#[test]
fn signed_high_words() {
    let text = "{ .reg .b32 t; mad.lo.cc.s32 t, a, b, c; madc.hi.s32 d, a, b, 0; }";
    check(text, [32; 4], &[Int32; 3], |a, b, c| {
        let product = i64::from(a.i32()) * i64::from(b.i32());
        let carry = (u64::from(product as u32) + u64::from(c.u32())) >> 32;
        ((product >> 32) as u32).wrapping_add(carry as u32)
    });
}
