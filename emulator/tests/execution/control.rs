//! Branches, loops and guards, with lanes that go different ways.

use crate::common::{HEADER, Machine, block, lanes, trap_of};

/// What a function of the lane gives for all 32.
fn each(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn if_without_else() {
    let body = "mov.u32 %r0, 1; setp.lt.u32 %p0, %r39, 7; @%p0 bra skip; mov.u32 %r0, 2; skip: add.u32 %r0, %r0, 10;";
    assert_eq!(lanes(body), each(|lane| if lane < 7 { 11 } else { 12 }));
}

#[test]
fn if_and_else_nested() {
    let body = "
        setp.lt.u32 %p0, %r39, 16; and.b32 %r1, %r39, 1; setp.eq.u32 %p1, %r1, 0;
        @!%p0 bra high;
            @!%p1 bra low_odd;
                mov.u32 %r0, 1; bra low_end;
            low_odd:
                mov.u32 %r0, 2;
            low_end:
            add.u32 %r0, %r0, 100; bra end;
        high:
            @!%p1 bra high_odd;
                mov.u32 %r0, 3; bra high_end;
            high_odd:
                mov.u32 %r0, 4;
            high_end:
            add.u32 %r0, %r0, 200;
        end:
        activemask.b32 %r2; setp.ne.u32 %p2, %r2, 0xffffffff; @%p2 mov.u32 %r0, 0;";
    let expected = |lane| match (lane < 16, lane % 2 == 0) {
        (true, true) => 101,
        (true, false) => 102,
        (false, true) => 203,
        (false, false) => 204,
    };
    assert_eq!(lanes(body), each(expected));
}

#[test]
fn a_loop_of_so_many_rounds_in_each_lane() {
    let body = "
        mov.u32 %r0, 0; mov.u32 %r1, 0;
        again: setp.ge.u32 %p0, %r1, %r39; @%p0 bra done;
        add.u32 %r0, %r0, %r1; add.u32 %r1, %r1, 1; bra again;
        done:";
    assert_eq!(lanes(body), each(|lane| lane * lane.saturating_sub(1) / 2));
}

/// A `break` that leaves two loops at once, and a `continue` of the outer one.
#[test]
fn ways_out_of_nested_loops() {
    let body = "
        mov.u32 %r0, 0; mov.u32 %r1, 0;
        outer: setp.ge.u32 %p0, %r1, 8; @%p0 bra done;
            mov.u32 %r2, 0;
            inner: setp.ge.u32 %p1, %r2, 8; @%p1 bra next;
                mad.lo.u32 %r3, %r1, 8, %r2;
                setp.eq.u32 %p2, %r3, %r39; @%p2 bra done;
                add.u32 %r4, %r3, %r39; and.b32 %r4, %r4, 15; setp.eq.u32 %p3, %r4, 15; @%p3 bra next;
                add.u32 %r0, %r0, 1; add.u32 %r2, %r2, 1; bra inner;
            next: add.u32 %r1, %r1, 1; bra outer;
        done:
        activemask.b32 %r5; setp.ne.u32 %p4, %r5, 0xffffffff; @%p4 add.u32 %r0, %r0, 1000;";
    let model = |lane: u32| {
        let mut count = 0;
        'outer: for i in 0..8 {
            for j in 0..8 {
                let n = i * 8 + j;
                if n == lane {
                    break 'outer;
                }
                if (n + lane) & 15 == 15 {
                    continue 'outer;
                }
                count += 1;
            }
        }
        count
    };
    assert_eq!(lanes(body), each(model));
}

#[test]
fn lanes_that_exit_early_leave_the_others_alone() {
    let body = "mov.u32 %r0, 1; st.global.u32 [%d39], %r39; setp.ge.u32 %p0, %r39, 20; @%p0 exit;
        setp.lt.u32 %p1, %r39, 4; @%p1 ret; mov.u32 %r0, 77;";
    let expected = |lane| if (4..20).contains(&lane) { 77 } else { lane };
    assert_eq!(lanes(body), each(expected));
}

#[test]
fn the_rest_of_a_guarded_return_may_stand_where_it_meets_others() {
    let body = "st.global.u32 [%d39], %r39; setp.lt.u32 %p0, %r39, 16; and.b32 %r1, %r39, 1; setp.eq.u32 %p1, %r1, 1;
        @!%p0 bra meet; @%p1 ret;
        meet: activemask.b32 %r0;";
    let expected = |lane| {
        if lane < 16 && lane % 2 == 1 {
            lane
        } else {
            0xffff_5555
        }
    };
    assert_eq!(lanes(body), each(expected));
}

#[test]
fn a_table_of_branches() {
    let body = "
        and.b32 %r1, %r39, 3; mov.u32 %r0, 9;
        targets: .branchtargets zero, one, two, end;
        brx.idx %r1, targets;
        zero: mov.u32 %r0, 100; bra end;
        one: mov.u32 %r0, 101;
        two: add.u32 %r0, %r0, 1;
        end: activemask.b32 %r2; setp.ne.u32 %p2, %r2, 0xffffffff; @%p2 mov.u32 %r0, 0;";
    let expected = |lane| match lane & 3 {
        0 => 100,
        1 => 102,
        2 => 10,
        _ => 9,
    };
    assert_eq!(lanes(body), each(expected));
    // The list may come after the branch, and the branch may be guarded.
    let body = "mov.u32 %r0, 5; setp.lt.u32 %p0, %r39, 3; @%p0 brx.idx %r39, list; bra end;
        a: mov.u32 %r0, 1; bra end; b: mov.u32 %r0, 2; bra end;
        list: .branchtargets a, b, a;
        end:";
    assert_eq!(lanes(body)[..5], [1, 2, 1, 5, 5]);
}

#[test]
fn an_index_outside_its_table() {
    let trap = trap_of(
        &block(32),
        "list: .branchtargets a, a; brx.idx %r39, list; a: mov.u32 %r0, 0;",
    );
    assert_eq!(
        trap.fault.to_string(),
        "branch index 2 of a table with 2 targets"
    );
    assert_eq!(trap.thread, [2, 0, 0]);
}

/// Every kind of instruction obeys its guard.
#[test]
fn guards() {
    let body = "
        setp.lt.u32 %p0, %r39, 8;
        mov.u32 %r0, 1; @%p0 mov.u32 %r0, 2; @!%p0 add.u32 %r0, %r0, 10;
        @%p0 st.global.u32 [%d37], %r0; ld.global.u32 %r1, [%d37];
        @!%p0 ld.global.u32 %r1, [%d37+4];
        @%p0 setp.eq.u32 %p1, %r39, 3; @!%p0 setp.eq.u32 %p1, %r39, 30;
        @%p1 mov.u32 %r0, 99;
        @%p0 atom.global.add.u32 %r2, [%d37+8], 1;
        @%p1 bar.warp.sync 0x40000008;
        @!%p0 bar.warp.sync 0xffffff00;
        add.u32 %r0, %r0, %r1;";
    let expected = |lane| {
        let value = match lane {
            3 | 30 => 99,
            lane if lane < 8 => 2,
            _ => 11,
        };
        value + if lane < 8 { 2 } else { 0 }
    };
    assert_eq!(lanes(body), each(expected));
}

/// Values pass unharmed through registers, memory and local arrays of every width.
#[test]
fn registers_of_every_width() {
    let body = "
        .reg .b16 h; .reg .b64 d; .reg .f32 f; .reg .f64 g; .reg .s16 s; .reg .u64 u; .reg .s32 i;
        .local .align 8 .b8 frame[64]; .reg .b64 a; mov.u64 a, frame;
        cvt.u16.u32 h, %r39; mul.lo.u16 h, h, 2047; st.local.b16 [a+2], h; ld.local.s16 s, [a+2]; cvt.s32.s16 %r1, s;
        cvt.u64.u32 d, %r39; mul.lo.u64 d, d, 0x100000001; st.local.b64 [a+8], d; ld.local.u64 u, [a+8]; shr.u64 u, u, 32;
        cvt.u32.u64 %r2, u;
        cvt.rn.f32.u32 f, %r39; st.local.f32 [a+16], f; ld.local.f32 f, [a+16]; cvt.rzi.u32.f32 %r3, f;
        cvt.rn.f64.u32 g, %r39; st.local.f64 [a+24], g; ld.local.f64 g, [a+24]; cvt.rzi.u32.f64 %r4, g;
        add.u32 %r0, %r2, %r3; add.u32 %r0, %r0, %r4; add.s32 %r0, %r0, %r1;";
    let expected = |lane: u32| {
        let short = i32::from(lane.wrapping_mul(2047) as u16 as i16);
        (3 * lane).wrapping_add(short as u32)
    };
    assert_eq!(lanes(body), each(expected));
}

#[test]
fn local_arrays_with_indices_that_differ() {
    let body = "
        .local .align 4 .b8 table[128]; .reg .b64 base; mov.u64 base, table; cvta.local.u64 base, base;
        mov.u32 %r1, 0;
        fill: mul.wide.u32 %d0, %r1, 4; add.u64 %d0, base, %d0; mad.lo.u32 %r2, %r1, %r1, %r39; st.u32 [%d0], %r2;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 32; @%p0 bra fill;
        xor.b32 %r3, %r39, 21; mul.wide.u32 %d0, %r3, 4; add.u64 %d0, base, %d0; ld.u32 %r0, [%d0];";
    assert_eq!(lanes(body), each(|lane| (lane ^ 21).pow(2) + lane));
}

/// Inline assembly brings scopes of its own, in which names and labels may be used again.
#[test]
fn scopes_with_the_same_names() {
    let body = "
        mov.u32 %r0, 0;
        { .reg .b32 t; .reg .pred p; setp.gt.u32 p, %r39, 9; @p bra done; mov.u32 t, 5; add.u32 %r0, %r0, t; done: }
        { .reg .b64 t; .reg .pred p; setp.gt.u32 p, %r39, 19; @p bra done; mov.u64 t, 7; cvt.u32.u64 %r1, t; add.u32 %r0, %r0, %r1; done: }
        { { bra done; } mov.u32 %r0, 1000; done: }";
    let expected = |lane| u32::from(lane <= 9) * 5 + u32::from(lane <= 19) * 7;
    assert_eq!(lanes(body), each(expected));
}

#[test]
fn special_registers() {
    let ptx = format!(
        "{HEADER}.visible .entry test(.param .u64 out) {{
        .reg .b32 %r<24>; .reg .b64 %d<4>;
        mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mov.u32 %r5, %ntid.z;
        mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ctaid.y; mov.u32 %r8, %ctaid.z; mov.u32 %r9, %nctaid.x; mov.u32 %r10, %nctaid.y;
        mov.u32 %r11, %nctaid.z; mov.u32 %r12, %laneid; mov.u32 %r13, %warpid; mov.u32 %r14, %lanemask_eq; mov.u32 %r15, %lanemask_lt;
        mov.u32 %r16, %lanemask_le; mov.u32 %r17, %lanemask_gt; mov.u32 %r18, %lanemask_ge; mov.u32 %r19, %clusterid.y; mov.u32 %r20, WARP_SZ;
        mov.u32 %r21, %nclusterid.z; mov.u32 %r22, %cluster_nctarank;
        mad.lo.u32 %r23, %r8, %r10, %r7; mad.lo.u32 %r23, %r23, %r9, %r6;
        mul.lo.u32 %r23, %r23, 90; mad.lo.u32 %r23, %r2, 30, %r23; mad.lo.u32 %r23, %r1, 10, %r23; add.u32 %r23, %r23, %r0;
        ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r23, 92; add.u64 %d0, %d0, %d1;
        {}
        ret; }}",
        (0..23).map(|i| format!("st.global.u32 [%d0+{}], %r{i};", 4 * i)).collect::<String>()
    );
    let mut machine = Machine::new(&ptx);
    let (grid, block) = ([2, 3, 2], [10, 3, 3]);
    let out = machine.buffer(&vec![0u32; 12 * 90 * 23]);
    let shape = warpfold_emulator::Launch {
        grid,
        block,
        ..crate::common::block(1)
    };
    machine.launch("test", &shape, &[out.address]).unwrap();
    for (thread, seen) in machine.read::<u32>(out).chunks(23).enumerate() {
        let (block_number, thread) = (thread as u32 / 90, thread as u32 % 90);
        let lane = thread % 32;
        let [bx, by, bz] = [block_number % 2, block_number / 2 % 3, block_number / 6];
        let expected = [
            thread % 10,
            thread / 10 % 3,
            thread / 30,
            10,
            3,
            3,
            bx,
            by,
            bz,
            2,
            3,
            2,
            lane,
            thread / 32,
            1 << lane,
            (1u32 << lane) - 1,
            ((1u64 << (lane + 1)) - 1) as u32,
            !(((1u64 << (lane + 1)) - 1) as u32),
            !((1u32 << lane) - 1),
            by,
            32,
            2,
            1,
        ];
        assert_eq!(seen, expected, "thread {thread} of block {block_number}");
    }
}

#[test]
fn clocks_go_forward() {
    let body = "
        mov.u64 %d0, %clock64; mov.u64 %d1, %globaltimer; mov.u32 %r1, %clock;
        add.u32 %r2, %r1, 1; add.u32 %r2, %r1, 1; add.u32 %r2, %r1, 1;
        mov.u64 %d2, %clock64; mov.u64 %d3, %globaltimer;
        sub.u64 %d2, %d2, %d0; setp.ge.u64 %p0, %d3, %d1; cvt.u32.u64 %r0, %d2; @!%p0 mov.u32 %r0, 0;";
    // One tick for each instruction from one reading to the other.
    assert_eq!(lanes(body), vec![6; 32]);
}

#[test]
fn a_trap_names_the_first_thread_that_executes_it() {
    let trap = trap_of(
        &block(96),
        "setp.lt.u32 %p0, %r39, 37; @%p0 bra end;\ntrap;\nend: mov.u32 %r0, 0;",
    );
    assert_eq!(
        trap.to_string(),
        "the kernel executed a trap, in kernel `test`, block (0, 0, 0), thread (37, 0, 0), PTX line 9: `trap;`"
    );
}
