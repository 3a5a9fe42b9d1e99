//! The counters of `cp.async` against what Nsight Compute reads on an H200.

use crate::common::{Machine, counters, own_slot, shape};

const MEASURED: &str = include_str!("../data/copies.h200.csv");

#[test]
fn a_warps_copies_are_counted_as_on_a_gpu() {
    let mut compared = 0;
    for line in MEASURED.lines().skip(1) {
        let row: Vec<u64> = line
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        let [bytes, from_stride, to_stride, lanes, expected @ ..] = &row[..] else {
            panic!("{line}");
        };
        let body = format!(
            "{} .shared .align 128 .b8 tile[8192]; ld.param.u64 %d37, [data]; mov.u32 %r30, tile;
             mad.lo.u32 %r30, %r39, {}, %r30; mul.wide.u32 %d30, %r39, {}; add.u64 %d30, %d37, %d30;
             setp.lt.u32 %p1, %r39, {lanes};
             @%p1 cp.async.ca.shared.global [%r30], [%d30], {bytes}; cp.async.wait_all;",
            own_slot(4),
            to_stride * bytes,
            from_stride * bytes
        );
        let mut machine = Machine::of(&body);
        let (out, data) = (machine.buffer(&[0_u32; 32]), machine.buffer(&[0_u64; 1024]));
        let counters = counters(
            &machine,
            "test",
            &shape(1, 32),
            &[out.address, data.address],
        );
        let (loads, stores) = (counters.global_loads, counters.shared_stores);
        let counted = [
            loads.requests,
            loads.sectors,
            loads.ideal_sectors,
            stores.wavefronts,
            stores.ideal_wavefronts,
        ];
        // Where the source is spread wider than the destination, a GPU counts its conflicts too.
        let compare = if from_stride <= to_stride { 5 } else { 3 };
        assert_eq!(counted[..compare], expected[..compare], "{line}");
        compared += 1;
    }
    assert_eq!(compared, 72);
}
