//! Floats narrower than single precision, from their definition: sign, exponent, fraction. Values are doubles, which hold every
//! value of each format exactly.

/// A binary format of IEEE 754's kind.
#[derive(Clone, Copy)]
pub struct Format {
    /// Bits of the exponent, of which the bias is half the range.
    exponent: u32,
    /// Bits of the fraction.
    fraction: u32,
    /// The magnitude above all numbers: infinity, or where the format has none, its NaN.
    beyond: u64,
    /// The NaN that instructions produce.
    pub nan: u64,
}

const fn ieee(exponent: u32, fraction: u32, nan: u64) -> Format {
    Format {
        exponent,
        fraction,
        beyond: ((1 << exponent) - 1) << fraction,
        nan,
    }
}

pub const F16: Format = ieee(5, 10, 0x7fff);
pub const BF16: Format = ieee(8, 7, 0x7fff);
pub const TF32: Format = ieee(8, 10, 0x3_ffff);
pub const E5M2: Format = ieee(5, 2, 0x7f);
/// Without infinities, and with one NaN (OCP 8-bit Floating Point Specification, table 1).
pub const E4M3: Format = Format {
    exponent: 4,
    fraction: 3,
    beyond: 0x7f,
    nan: 0x7f,
};

impl Format {
    fn bits(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    /// Exponent of the least normal value.
    fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    pub fn decode(self, code: u64) -> f64 {
        let sign = code >> (self.bits() - 1) & 1;
        let magnitude = code & ((1 << (self.bits() - 1)) - 1);
        let has_infinity = self.beyond != self.nan;
        let value = if magnitude == self.beyond && has_infinity {
            f64::INFINITY
        } else if magnitude >= self.beyond {
            f64::NAN
        } else {
            let exponent = (magnitude >> self.fraction) as i32;
            let fraction = magnitude & ((1 << self.fraction) - 1);
            let whole = if exponent == 0 {
                fraction
            } else {
                fraction | 1 << self.fraction
            };
            whole as f64 * 2f64.powi(exponent.max(1) - 1 + self.least() - self.fraction as i32)
        };
        if sign == 1 { -value } else { value }
    }

    /// Rounds, `mode` being `rn`, `rna`, `rz`, `rm` or `rp`; where results are to be finite, none is beyond the greatest value.
    pub fn encode(self, value: f64, mode: &str, finite: bool) -> u64 {
        if value.is_nan() {
            return self.nan;
        }
        let negative = value.is_sign_negative();
        let magnitude = if value.is_infinite() {
            self.beyond
        } else {
            let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(self.least());
            let units = value / 2f64.powi(exponent - self.fraction as i32);
            let rounded = match mode {
                "rn" => units.round_ties_even(),
                "rna" => units.round(),
                "rz" => units.trunc(),
                "rm" => units.floor(),
                _ => units.ceil(),
            };
            let binade = ((exponent - self.least()) as u64) << self.fraction;
            let towards_zero = matches!((mode, negative), ("rz", _) | ("rm", false) | ("rp", true));
            match binade + rounded.abs() as u64 {
                magnitude if magnitude >= self.beyond && towards_zero => self.beyond - 1,
                magnitude => magnitude.min(self.beyond),
            }
        };
        let magnitude = if finite {
            magnitude.min(self.beyond - 1)
        } else {
            magnitude
        };
        magnitude | u64::from(negative) << (self.bits() - 1)
    }

    /// Single-precision values at and around the format's own, and around the middles between them.
    pub fn singles(self, step: usize) -> Vec<f32> {
        let codes = (0..=self.beyond).step_by(step);
        let middles = codes.flat_map(|code| {
            let [value, next] = [code, (code + 1).min(self.beyond)].map(|code| self.decode(code));
            [value as f32, ((value + next) / 2.0) as f32]
        });
        let around = middles.flat_map(|value| [value.next_down(), value, value.next_up()]);
        let extremes = [f32::MAX, f32::INFINITY, f32::NAN, 1e-45, 1.1e-38];
        around
            .chain(extremes)
            .flat_map(|value| [value, -value])
            .collect()
    }
}
