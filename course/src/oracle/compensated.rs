//! Sums of f64 values with about twice the digits of f64.

/// A sum that keeps what each addition rounds away, and adds it at the end.
///
/// After T. Ogita, S. Rump and S. Oishi, *Accurate Sum and Dot Product* (2005), `Sum2`, with D. Knuth's exact sum of two. Values
/// beyond 2^512 are added up separately and on a smaller scale, so that no intermediate sum overflows. Infinities and NaN are added
/// up separately too, because they have no rounding error to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compensated {
    ordinary: Rounded,
    /// In units of 2^128.
    large: Rounded,
    /// The sum of the infinities and NaN, if there are any.
    not_finite: Option<f64>,
}

/// A sum, and the sum of what its additions rounded away.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rounded {
    sum: f64,
    error: f64,
}

/// The sum of no terms: −0.0, because −0.0 + −0.0 is −0.0.
const IDENTITY: Rounded = Rounded {
    sum: -0.0,
    error: 0.0,
};

impl Rounded {
    fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        let of_term = sum - self.sum;
        self.error += (self.sum - (sum - of_term)) + (term - of_term);
        self.sum = sum;
    }

    fn append(&mut self, further: Self) {
        self.add(further.sum);
        self.error += further.error;
    }

    fn total(self) -> f64 {
        // Adding 0.0 would turn −0.0 into 0.0.
        if self.error == 0.0 {
            self.sum
        } else {
            self.sum + self.error
        }
    }
}

impl Compensated {
    /// The sum of nothing.
    pub(crate) const IDENTITY: Self = Self {
        ordinary: IDENTITY,
        large: IDENTITY,
        not_finite: None,
    };

    /// 2^128.
    const SCALE: f64 = (1_u128 << 127) as f64 * 2.0;

    /// The sum of these.
    pub(crate) fn of(terms: impl IntoIterator<Item = f64>) -> Self {
        let mut all = Self::IDENTITY;
        for term in terms {
            all.add(term);
        }
        all
    }

    /// Adds one more.
    pub(crate) fn add(&mut self, term: f64) {
        // 2^512, whose bits are those of an exponent alone.
        const LARGE: f64 = f64::from_bits((1023 + 512) << 52);
        if !term.is_finite() {
            self.not_finite = Some(self.not_finite.map_or(term, |sum| sum + term));
        } else if term.abs() >= LARGE {
            self.large.add(term / Self::SCALE);
        } else {
            self.ordinary.add(term);
        }
    }

    /// Adds all of another sum.
    pub(crate) fn append(&mut self, further: &Self) {
        self.ordinary.append(further.ordinary);
        self.large.append(further.large);
        if let Some(term) = further.not_finite {
            self.add(term);
        }
    }

    /// Whether no term was infinite or NaN.
    pub(crate) fn are_finite(&self) -> bool {
        self.not_finite.is_none()
    }

    /// The sum, rounded once. It is −0.0 for no terms, and for terms that are all −0.0.
    pub(crate) fn total(&self) -> f64 {
        let (ordinary, large) = (self.ordinary.total(), self.large.total());
        if let Some(sum) = self.not_finite {
            sum
        } else if large == 0.0 {
            ordinary
        } else {
            // On the smaller scale until the end: the ordinary part may bring a sum that is too large for f64 back into its range.
            (large + ordinary / Self::SCALE) * Self::SCALE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(terms: &[f64], sum: f64) {
        let total = Compensated::of(terms.iter().copied()).total();
        assert!(
            total.to_bits() == sum.to_bits() || total.is_nan() && sum.is_nan(),
            "{total}"
        );
        for cut in 0..terms.len() {
            let mut all = Compensated::of(terms[..cut].iter().copied());
            all.append(&Compensated::of(terms[cut..].iter().copied()));
            let total = all.total();
            assert!(
                total == sum || total.is_nan() && sum.is_nan(),
                "{total} with a cut at {cut}"
            );
        }
    }

    #[test]
    fn what_f64_rounds_away_is_kept() {
        check(&[1e16, 1.0, -1e16], 1.0);
        check(&[1.0, 1e100, 1.0, -1e100], 2.0);
        check(&[0.1; 10], 1.0);
        check(&[-0.0, -0.0], -0.0);
        check(&[1.0, -1.0], 0.0);
    }

    #[test]
    fn sums_on_the_way_do_not_overflow() {
        check(&[f64::MAX, f64::MAX, f64::MIN, f64::MIN, 1.0], 1.0);
        check(&[f64::MAX, f64::MAX], f64::INFINITY);
        check(&[f64::MAX, 1e300, -1e300], f64::MAX);
        check(&[f64::from_bits(1), f64::from_bits(1)], f64::from_bits(2));
    }

    #[test]
    fn infinities_and_nan_come_through() {
        check(&[1.0, f64::INFINITY, 2.0], f64::INFINITY);
        check(&[f64::INFINITY, f64::NEG_INFINITY], f64::NAN);
        check(&[f64::NAN, f64::INFINITY], f64::NAN);
        check(&[f64::MIN, f64::MIN, f64::INFINITY], f64::INFINITY);
    }
}
