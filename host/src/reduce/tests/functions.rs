//! The functions, and what is refused.

use super::*;

#[test]
fn an_offset_costs_no_digits() {
    for device in devices() {
        let values: Vec<f32> = (0..10_000)
            .map(|number| 1e6 + (number % 2) as f32)
            .collect();
        let variance = variance(&device, &values, 0).expect("it runs");
        assert!((variance - 0.25).abs() < 1e-3, "{variance}");
    }
}

#[test]
fn functions_take_values_anywhere() {
    for device in devices() {
        let values = [2_i16, -3, 7, 7, 0];
        let buffer = device.upload(&values).expect("it fits");
        assert_eq!(min(&device, &values), Ok(-3));
        assert_eq!(argmax(&device, buffer.slice(1..)), Ok(1));
        assert_eq!(mean(&device, &buffer), Ok(2.6));
        assert_eq!(count_nonzero(&device, &values), Ok(4));
        assert_eq!(all(&device, &values), Ok(Bool(0)));
        assert_eq!(norm1(&device, &values), Ok(19.0));
        // The same kernel with another parameter.
        assert_eq!(variance(&device, &values[..2], 0), Ok(6.25));
        assert_eq!(variance(&device, &values[..2], 1), Ok(12.5));
        assert_eq!(variance(&device, &values[..2], 0), Ok(6.25));
        assert_eq!(product::<i16>(&device, &[]), Ok(1));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (device, other) = (emulator(), emulator());
    let buffer = device.upload(&[1_u8; 20]).expect("it fits");
    let mut reduction = Reduction::new(&device, Max).expect("it is prepared");
    let matrix = Matrix {
        rows: 3,
        columns: 5,
        stride: 8,
    };
    let error = reduction.rows(&buffer, matrix).expect_err("it takes 21");
    assert_eq!(
        error.to_string(),
        "3 rows of 5 elements, 8 apart, do not lie within 20 elements: give as many, or fewer rows"
    );
    let overflowing = Matrix::contiguous(usize::MAX, 2);
    assert!(reduction.rows(&buffer, overflowing).is_err());
    let there = other.upload(&[1_u8; 21]).expect("it fits");
    let refused = Err(DeviceError::OtherDevice.into());
    assert_eq!(reduction.rows(&there, matrix), refused);
    for (shape, strides, axis) in [
        (&[2, 3, 2][..], &[6, -2, 1][..], 1),
        (&[2, 3], &[3], 0),
        (&[2, 3], &[3, 1], 2),
    ] {
        let error = reduction.axis(&buffer, shape, strides, axis);
        assert_eq!(
            error.expect_err("it is no axis").to_string(),
            format!(
                "axis {axis} of an array of shape {shape:?} with strides {strides:?} cannot be reduced: give a stride of 0 or more for each axis, and one of the axes"
            )
        );
    }
    // The last of the two matrices goes beyond the values.
    let error = reduction.axis(&buffer, &[2, 3, 2], &[15, 2, 1], 1);
    assert!(
        matches!(error, Err(Error::Outside { given: 5, .. })),
        "{error:?}"
    );
    let error = reduction.axis(&buffer, &[2, 2], &[isize::MAX, 1], 0);
    assert!(error.is_err());
    assert_eq!(
        reduction.rows(&buffer, Matrix { rows: 2, ..matrix }),
        Ok(vec![1, 1])
    );
}
