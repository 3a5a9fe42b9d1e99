//! A product and a sum, rounded once.

/// Floats of the host that can do so.
pub(super) trait Fused {
    /// `self` · `factor` + `term`.
    fn fused(self, factor: Self, term: Self) -> Self;
}

/// The functions of `libm` where the system's round twice, as those do that MinGW links on Windows.
macro_rules! fused {
    ($($float:ident $function:ident)*) => {$(
        impl Fused for $float {
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                #[cfg(windows)]
                return libm::$function(self, factor, term);
                #[cfg(not(windows))]
                return self.mul_add(factor, term);
            }
        }
    )*};
}

fused! { f32 fmaf f64 fma }
