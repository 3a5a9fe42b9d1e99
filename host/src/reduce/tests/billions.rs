//! More segments than other tests have time for.

use super::*;

/// Of no value or one, but for a giant in the middle.
#[test]
#[ignore = "takes 24 GB of a GPU and of the host"]
fn two_billion_segments() {
    const SEGMENTS: usize = 1 << 31;
    const GIANT: usize = 1 << 22;
    let Ok(device) = Device::open(&DeviceChoice::Gpu(0)) else {
        eprintln!("There is no GPU here: nothing is tested.");
        return;
    };
    let offset = |place: usize| {
        let giant = if place > SEGMENTS / 2 { GIANT } else { 0 };
        place / 2 + giant
    };
    let values: Vec<u8> = (0..offset(SEGMENTS))
        .map(|place| (place % 251) as u8)
        .collect();
    let offsets: Vec<u32> = (0..=SEGMENTS).map(|place| offset(place) as u32).collect();
    let segments = Segments::new(&device, &offsets).expect("it fits");
    let on_device = device.upload(&values).expect("it fits");
    let mut sums = Reduction::new(&device, Sum).expect("it is small");
    for mode in [Mode::Fast, Mode::Deterministic] {
        sums = sums.with_mode(mode);
        let found = sums.segments(&on_device, &segments).expect("it runs");
        assert_eq!(found.len(), SEGMENTS);
        for (segment, &found) in found.iter().enumerate() {
            let (start, end) = (offset(segment), offset(segment + 1));
            let expected: u32 = values[start..end].iter().map(|&it| u32::from(it)).sum();
            assert_eq!(found, expected, "segment {segment} in {mode:?}");
        }
    }
}
