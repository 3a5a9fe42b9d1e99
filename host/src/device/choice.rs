//! What `--device` says.

use std::{fmt, str::FromStr};

/// Which device to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// `auto`: the first GPU that the product's PTX supports, else the emulator.
    #[default]
    Auto,
    /// `gpu` or `gpu:1`: the GPU of this index, as the driver counts them.
    Gpu(u32),
    /// `emulator`
    Emulator,
}

/// A text that names no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no device: give auto, gpu, gpu:N (the GPU of index N, counted from 0) or emulator"
)]
pub struct DeviceChoiceError(String);

impl FromStr for DeviceChoice {
    type Err = DeviceChoiceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "emulator" => Ok(Self::Emulator),
            "gpu" => Ok(Self::Gpu(0)),
            other => other
                .strip_prefix("gpu:")
                .filter(|index| index.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|index| index.parse().ok())
                .map(Self::Gpu)
                .ok_or_else(|| DeviceChoiceError(text.to_owned())),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Gpu(index) => write!(formatter, "gpu:{index}"),
            Self::Emulator => formatter.write_str("emulator"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_form() {
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("gpu".parse(), Ok(DeviceChoice::Gpu(0)));
        assert_eq!("gpu:0".parse(), Ok(DeviceChoice::Gpu(0)));
        assert_eq!("gpu:12".parse(), Ok(DeviceChoice::Gpu(12)));
        assert_eq!("emulator".parse(), Ok(DeviceChoice::Emulator));
    }

    #[test]
    fn writes_what_it_reads() {
        for choice in [
            DeviceChoice::Auto,
            DeviceChoice::Gpu(3),
            DeviceChoice::Emulator,
        ] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
    }

    #[test]
    fn refuses_everything_else_and_quotes_it() {
        for text in [
            "",
            "GPU",
            "cuda",
            "gpu:",
            "gpu:-1",
            "gpu:+1",
            "gpu:one",
            "gpu:4294967296",
            "gpu0",
            " gpu",
        ] {
            let error = text
                .parse::<DeviceChoice>()
                .expect_err("this names no device");
            assert_eq!(
                error.to_string(),
                format!(
                    "'{text}' names no device: give auto, gpu, gpu:N (the GPU of index N, counted from 0) or emulator"
                )
            );
        }
    }
}
