//! Segments of every length.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the lengths are.
    #[test]
    fn segments_anywhere(
        lengths in proptest::collection::vec(prop_oneof![Just(0), 0_usize..6, 0_usize..300, 0_usize..5000], 0..60),
        skip in 0_usize..20,
    ) {
        with_emulator(|device| {
            let mut sum = Reduction::new(device, Sum).expect("the kernels are there");
            segments_are_right::<i32, _, u32>(&mut sum, &lengths, skip, Made::whole);
            let mut argmax = Reduction::new(device, ArgMax::FIRST).expect("the kernels are there");
            segments_are_right::<f32, _, u64>(&mut argmax, &lengths, skip, Made::special);
        });
    }
}

/// With lengths like those of the tiles of a warp, of which each has none, one or a few ends.
#[test]
fn segments_about_as_long_as_a_tile() {
    let lengths: Vec<usize> = (0..60_usize)
        .map(|place| match place % 6 {
            0 => 1024,
            1 => place * 389 % 2900,
            2 => 0,
            3 => 128 * (place % 11),
            _ => place * 151 % 700,
        })
        .collect();
    fn of<T: Made, O: BuiltIn<T, Output: Outcome>>(
        device: &Device,
        operator: O,
        lengths: &[usize],
    ) {
        let mut reduction = Reduction::new(device, operator).expect("the kernels are there");
        for skip in [0, 3] {
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, T::whole);
            segments_are_right::<T, O, u32>(&mut reduction, lengths, skip, T::special);
            // Any floats but NaNs; then nothing but −∞, and nothing but ∞.
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, |number| {
                T::special(1 + number % 30)
            });
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, |_| T::special(2));
            segments_are_right::<T, O, u64>(&mut reduction, lengths, skip, |_| T::special(1));
        }
    }
    for device in devices() {
        of::<f32, _>(&device, ArgMax::FIRST, &lengths);
        of::<f32, _>(&device, ArgMin::LAST, &lengths);
        of::<f32, _>(&device, Max, &lengths);
        of::<f32, _>(&device, Variance { ddof: 0 }, &lengths);
        of::<f64, _>(&device, ArgMax::LAST, &lengths);
        of::<f64, _>(&device, MinMax, &lengths);
        of::<i32, _>(&device, Sum, &lengths);
        of::<u64, _>(&device, ArgMin::FIRST, &lengths);
        of::<i8, _>(&device, ArgMax::FIRST, &lengths);
        of::<f32, _>(&device, ArgMax::LAST.with_index::<u32>(), &lengths);
    }
}

#[test]
fn segments_that_are_none_are_refused() {
    let (device, other) = (emulator(), emulator());
    let refusal = |offsets: &[u32]| {
        let refused = Segments::new(&device, offsets).expect_err("these are no segments");
        refused.to_string()
    };
    assert_eq!(
        refusal(&[]),
        "there are no offsets: give one more than there are segments"
    );
    assert_eq!(
        refusal(&[0, 5, 4]),
        "segment 1 goes from element 5 to 4: offsets must not decrease"
    );
    let values = device.upload(&[1_i32; 6]).expect("it fits");
    let mut sum = Reduction::new(&device, Sum).expect("the kernels are there");
    let mut of = |device: &Device, offsets: &[u32]| {
        let segments = Segments::new(device, offsets).expect("they do not decrease");
        sum.segments(&values, &segments)
    };
    assert_eq!(of(&device, &[1, 1, 6]), Ok(vec![0, 5]));
    assert_eq!(of(&device, &[4]), Ok(vec![]));
    assert_eq!(
        of(&device, &[0, 7]).expect_err("there are 6").to_string(),
        "the last segment ends at element 7 of 6: give as many, or fewer segments"
    );
    assert_eq!(of(&other, &[0, 6]), Err(DeviceError::OtherDevice.into()));
}

#[test]
fn offsets_on_the_device_and_results_that_stay_there() {
    for device in devices() {
        let values = device.upload(&[1_i64, 2, 3, 4, 5]).expect("it fits");
        let offsets = device.upload(&[0_u64, 2, 2, 5]).expect("it fits");
        // SAFETY: they do not decrease, and end at 5.
        let segments = unsafe { Segments::on_device(&offsets, 5) }.expect("there are three");
        let mut max = Reduction::new(&device, Max).expect("the kernels are there");
        let plan = max.prepare_segments(&segments).expect("there is room");
        assert!(plan.workspace_bytes > 0);
        let mut results = device.allocate(3).expect("there is room");
        let stream = device.stream().expect("there is one");
        for _ in 0..2 {
            max.queue_segments(&stream, &values, &segments, &mut results)
                .expect("it is prepared");
        }
        stream.synchronize().expect("it runs");
        assert_eq!(results.read(), Ok(vec![2, i64::MIN, 5]));
    }
}
