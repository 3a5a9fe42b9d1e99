//! One result of values on the host or on a device.

use crate::device::Device;
use crate::kernels::Error;
use crate::reduce::{BuiltIn, Kept, Reducible, Reduction};
use crate::values::Values;
use std::cell::RefCell;
use std::collections::HashMap;
use warpfold_device::half::Bool;
use warpfold_device::operator::{self, Extremes};

/// What is kept with a device from one call to the next, by the kernels' name.
struct Attached<R>(RefCell<HashMap<String, Kept<R>>>);

impl<R> Default for Attached<R> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

/// The reduction of values on the host or on the device by any operator of the library; waits for it.
///
/// Values on the host are uploaded, which takes longer than the reduction.
///
/// # Errors
/// As [`Reduction::new`] and [`Reduction::of`], and the device has no room for the values.
pub fn reduce<'a, T: Reducible, O: BuiltIn<T>>(
    device: &Device,
    operator: O,
    values: impl Into<Values<'a, T>>,
) -> Result<O::Output, Error> {
    let mut uploaded = None;
    let values = values.into().on(device, &mut uploaded)?;
    let attached = device.attached::<Attached<O::Output>>();
    let mut reduction = Reduction::new(device, operator)?;
    let name = reduction.kernels().to_owned();
    let kept = attached.0.borrow_mut().remove(&name);
    if let Some(kept) = kept {
        reduction = reduction.keeping(kept);
    }
    let result = reduction.of(values);
    attached.0.borrow_mut().insert(name, reduction.into_kept());
    result
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident: $parameter_type:ty))?: $operator:expr => $output:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// As [`reduce`].
        pub fn $name<'a, T: Reducible>(
            device: &Device,
            values: impl Into<Values<'a, T>>,
            $($parameter: $parameter_type,)?
        ) -> Result<$output, Error> {
            reduce(device, $operator, values)
        }
    )*};
}

functions! {
    /// The product: of integers modulo 2³² or 2⁶⁴. That of no values is 1.
    product: operator::Product => T::Wide;
    /// The least value; of floats NaN if one is NaN. Of no values it is the greatest that there is.
    min: operator::Min => T;
    /// The greatest value; of floats NaN if one is NaN. Of no values it is the least that there is.
    max: operator::Max => T;
    /// The least and the greatest value.
    minmax: operator::MinMax => Extremes<T>;
    /// The index of the first of the least values, or of the first NaN. Of no values it is [`u64::MAX`].
    argmin: operator::ArgMin::FIRST => u64;
    /// The index of the first of the greatest values, or of the first NaN. Of no values it is [`u64::MAX`].
    argmax: operator::ArgMax::FIRST => u64;
    /// The mean: of integers in `f64`. That of no values is NaN.
    ///
    /// ```
    /// # let device = warpfold::Device::open(&warpfold::DeviceChoice::Emulator)?;
    /// assert_eq!(warpfold::mean(&device, &[1_u8, 2, 4, 255])?, 65.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    mean: operator::Mean => T::Real;
    /// The variance, divided by the number of values − `ddof`.
    variance(ddof: u64): operator::Variance { ddof } => T::Real;
    /// The standard deviation: the root of the [`variance`].
    standard_deviation(ddof: u64): operator::StdDev { ddof } => T::Real;
    /// The sum of the magnitudes.
    norm1: operator::Norm1 => T::Real;
    /// The root of the sum of the squares.
    norm2: operator::Norm2 => T::Real;
    /// The greatest magnitude.
    norm_inf: operator::NormInf => T::Real;
    /// ln Σ eˣ, which neither overflows nor loses what is small. Of no values it is −∞.
    log_sum_exp: operator::LogSumExp => T::Real;
    /// Whether any value is not 0.
    any: operator::Any => Bool;
    /// Whether no value is 0.
    all: operator::All => Bool;
    /// How many values are not 0.
    count_nonzero: operator::CountNonzero => u64;
}
