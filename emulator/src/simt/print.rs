//! The format language of C's `printf`.

use crate::error::Fault;

/// Fields are padded no further than this.
const WIDTH_LIMIT: usize = 4096;

/// Where the values come from: words for integers of up to 32 bits and characters, double words for the rest.
pub(super) trait Arguments {
    fn word(&mut self) -> Result<u32, Fault>;
    fn double_word(&mut self) -> Result<u64, Fault>;
    /// The text that the next double word points to.
    fn text(&mut self) -> Result<String, Fault>;
}

/// A conversion such as `%-8.3f`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternative: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    is_long: bool,
}

/// The text, and the number of arguments that went into it.
pub(super) fn format(
    template: &str,
    arguments: &mut impl Arguments,
) -> Result<(String, u32), Fault> {
    let mut text = String::new();
    let mut count = 0;
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut conversion = Conversion::default();
        rest = conversion.read(rest, arguments, &mut count)?;
        let Some(letter) = rest.chars().next() else {
            break;
        };
        rest = &rest[letter.len_utf8()..];
        if letter == '%' {
            text.push('%');
            continue;
        }
        count += 1;
        text.push_str(&conversion.convert(letter, arguments)?);
    }
    text.push_str(rest);
    Ok((text, count))
}

impl Conversion {
    /// Reads flags, width, precision and length; returns what follows.
    fn read<'t>(
        &mut self,
        mut rest: &'t str,
        arguments: &mut impl Arguments,
        count: &mut u32,
    ) -> Result<&'t str, Fault> {
        while let Some(flag) = rest.chars().next().filter(|&flag| "-+ #0".contains(flag)) {
            match flag {
                '-' => self.left = true,
                '+' => self.plus = true,
                ' ' => self.space = true,
                '#' => self.alternative = true,
                _ => self.zeros = true,
            }
            rest = &rest[1..];
        }
        let mut number = |rest: &mut &'t str| -> Result<i64, Fault> {
            if let Some(after) = rest.strip_prefix('*') {
                *rest = after;
                *count += 1;
                return Ok(i64::from(arguments.word()? as i32));
            }
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let value = rest[..digits].parse().unwrap_or(0);
            *rest = &rest[digits..];
            Ok(value)
        };
        let width = number(&mut rest)?;
        self.left |= width < 0;
        self.width = (width.unsigned_abs() as usize).min(WIDTH_LIMIT);
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            let precision = number(&mut rest)?;
            // A negative one counts as none.
            self.precision = usize::try_from(precision)
                .ok()
                .map(|precision| precision.min(WIDTH_LIMIT));
        }
        let length = rest.trim_start_matches(['h', 'l', 'z', 't', 'j', 'q', 'L']);
        self.is_long = rest[..rest.len() - length.len()].contains(['l', 'z', 't', 'j', 'q']);
        Ok(length)
    }

    fn convert(&self, letter: char, arguments: &mut impl Arguments) -> Result<String, Fault> {
        Ok(match letter {
            'd' | 'i' => {
                let value = if self.is_long {
                    arguments.double_word()? as i64
                } else {
                    i64::from(arguments.word()? as i32)
                };
                self.integer(value < 0, "", value.unsigned_abs().to_string())
            }
            'u' | 'o' | 'x' | 'X' => {
                let value = if self.is_long {
                    arguments.double_word()?
                } else {
                    u64::from(arguments.word()?)
                };
                let (prefix, digits) = match letter {
                    'o' => ("0", format!("{value:o}")),
                    'x' => ("0x", format!("{value:x}")),
                    'X' => ("0X", format!("{value:X}")),
                    _ => ("", value.to_string()),
                };
                let prefix = if self.alternative && value != 0 {
                    prefix
                } else {
                    ""
                };
                self.integer(false, prefix, digits)
            }
            'c' => self.pad("", char::from(arguments.word()? as u8).to_string(), false),
            's' => {
                let mut text = arguments.text()?;
                if let Some(precision) = self.precision {
                    text = text.chars().take(precision).collect();
                }
                self.pad("", text, false)
            }
            'p' => self.pad("", format!("{:#x}", arguments.double_word()?), false),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                self.float(letter, f64::from_bits(arguments.double_word()?))
            }
            other => {
                return Err(Fault::BadOperand(format!(
                    "`printf` with the conversion `%{other}`, which is not known"
                )));
            }
        })
    }

    fn sign(&self, is_negative: bool) -> &'static str {
        match is_negative {
            true => "-",
            false if self.plus => "+",
            false if self.space => " ",
            false => "",
        }
    }

    fn integer(&self, is_negative: bool, prefix: &str, digits: String) -> String {
        let missing = self.precision.unwrap_or(1).saturating_sub(digits.len());
        let digits = match (self.precision, digits.as_str()) {
            (Some(0), "0") => String::new(),
            _ => "0".repeat(missing) + &digits,
        };
        let prefix = self.sign(is_negative).to_owned() + prefix;
        self.pad(&prefix, digits, self.precision.is_none())
    }

    fn float(&self, letter: char, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative() && !value.is_nan());
        let magnitude = value.abs();
        let precision = self.precision.unwrap_or(6);
        let digits = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            match letter.to_ascii_lowercase() {
                'f' => format!("{magnitude:.precision$}"),
                'e' => exponential(magnitude, precision),
                'g' => self.shorter(magnitude, precision.max(1)),
                _ => hexadecimal(magnitude),
            }
        };
        let digits = if letter.is_ascii_uppercase() {
            digits.to_ascii_uppercase()
        } else {
            digits
        };
        self.pad(sign, digits, value.is_finite())
    }

    /// `%g`: the shorter of the two notations, without zeros at the end.
    fn shorter(&self, magnitude: f64, precision: usize) -> String {
        let scientific = exponential(magnitude, precision - 1);
        let exponent: i32 = scientific
            .split_once('e')
            .and_then(|(_, exponent)| exponent.parse().ok())
            .unwrap_or(0);
        let is_small = exponent < -4 || exponent >= precision as i32;
        let plain = if is_small {
            scientific
        } else {
            let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
            format!("{magnitude:.decimals$}")
        };
        if self.alternative || !plain.contains('.') {
            return plain;
        }
        match plain.split_once('e') {
            Some((digits, exponent)) => {
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                format!("{digits}e{exponent}")
            }
            None => plain.trim_end_matches('0').trim_end_matches('.').to_owned(),
        }
    }

    /// Fills up to the width, with zeros between the sign and the digits if asked for and allowed.
    fn pad(&self, prefix: &str, digits: String, zeros_allowed: bool) -> String {
        let missing = self
            .width
            .saturating_sub(prefix.len() + digits.chars().count());
        if self.left {
            format!("{prefix}{digits}{}", " ".repeat(missing))
        } else if self.zeros && zeros_allowed {
            format!("{prefix}{}{digits}", "0".repeat(missing))
        } else {
            format!("{}{prefix}{digits}", " ".repeat(missing))
        }
    }
}

/// `1.5e+03`, with an exponent of two digits or more.
fn exponential(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `0x1.8p+3`
fn hexadecimal(magnitude: f64) -> String {
    let bits = magnitude.to_bits();
    let (fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let (lead, exponent) = match (biased, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, biased - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values in a list, of which each is taken once.
    struct Values(Vec<u64>, &'static str);

    impl Arguments for Values {
        fn word(&mut self) -> Result<u32, Fault> {
            Ok(self.0.remove(0) as u32)
        }
        fn double_word(&mut self) -> Result<u64, Fault> {
            Ok(self.0.remove(0))
        }
        fn text(&mut self) -> Result<String, Fault> {
            Ok(self.1.to_owned())
        }
    }

    #[track_caller]
    fn prints(template: &str, values: &[u64], expected: &str) {
        let (text, _) = format(template, &mut Values(values.to_vec(), "text")).unwrap();
        assert_eq!(text, expected, "{template}");
    }

    #[test]
    fn integers() {
        prints(
            "%d|%5d|%-5d|%05d|%+d|% d",
            &[1, 2, 3, 4, 5, 6],
            "1|    2|3    |00004|+5| 6",
        );
        prints(
            "%d %i %ld %lld",
            &[u64::MAX, 7, u64::MAX, 1 << 40],
            "-1 7 -1 1099511627776",
        );
        prints(
            "%u %x %X %#x %o %#o",
            &[u64::MAX, 255, 255, 255, 8, 8],
            "4294967295 ff FF 0xff 10 010",
        );
        prints("%.3d|%6.3d|%.0d|%#x", &[7, 7, 0, 0], "007|   007||0");
        prints(
            "%hhd %zu %c%c %p %%",
            &[5, 1 << 33, 72, 105, 4096],
            "5 8589934592 Hi 0x1000 %",
        );
        prints("%*d|%-*d|%.*d", &[4, 1, 4, 2, 3, 5], "   1|2   |005");
    }

    #[test]
    fn texts() {
        prints("%s|%6s|%-6s|%.2s", &[], "text|  text|text  |te");
        let (text, count) = format("no arguments at 100%", &mut Values(vec![], "")).unwrap();
        assert_eq!((text.as_str(), count), ("no arguments at 100", 0));
        let error = format("%y", &mut Values(vec![], "")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`printf` with the conversion `%y`, which is not known"
        );
    }

    #[test]
    fn floats() {
        let bits = f64::to_bits;
        prints(
            "%f %.2f %8.3f %-8.1f| %08.2f %+.0f",
            &[1.5, 2.345, -3.0, 4.0, -5.5, 6.0].map(bits),
            "1.500000 2.35   -3.000 4.0     | -0005.50 +6",
        );
        prints(
            "%e %.2E %g %g %g %g",
            &[1500.0, 0.00015, 0.5, 1e10, 123456.0, 0.00001].map(bits),
            "1.500000e+03 1.50E-04 0.5 1e+10 123456 1e-05",
        );
        prints(
            "%g %G %#g %.3g",
            &[100000.0, 1e-7, 2.0, 1234.0].map(bits),
            "100000 1E-07 2.00000 1.23e+03",
        );
        prints(
            "%f %5.1f %F %a",
            &[f64::INFINITY, f64::NAN, f64::NEG_INFINITY, 12.0].map(bits),
            "inf   nan -INF 0x1.8p+3",
        );
    }
}
