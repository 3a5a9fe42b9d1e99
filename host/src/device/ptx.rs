//! Which PTX a device gets.

use super::DeviceError;

/// The newest of `variants` (compute capability, PTX text) that a device of compute capability `sm` can run: PTX runs on its own
/// architecture and on every later one.
///
/// # Errors
/// The device is older than every variant.
pub fn newest_runnable<'ptx>(
    sm: u32,
    variants: &[(u32, &'ptx str)],
) -> Result<&'ptx str, DeviceError> {
    variants
        .iter()
        .filter(|(target, _)| *target <= sm)
        .max_by_key(|(target, _)| *target)
        .map(|(_, ptx)| *ptx)
        .ok_or_else(|| DeviceError::TooOld {
            sm,
            targets: variants
                .iter()
                .map(|(target, _)| format!("sm_{target}"))
                .collect::<Vec<_>>()
                .join(", "),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIANTS: [(u32, &str); 3] = [(90, "ninety"), (70, "seventy"), (80, "eighty")];

    #[test]
    fn a_device_gets_the_newest_it_can_run() {
        for (sm, expected) in [
            (70, "seventy"),
            (75, "seventy"),
            (80, "eighty"),
            (89, "eighty"),
            (90, "ninety"),
            (120, "ninety"),
        ] {
            assert_eq!(
                newest_runnable(sm, &VARIANTS).expect("one fits"),
                expected,
                "sm_{sm}"
            );
        }
    }

    #[test]
    fn an_older_device_is_told_what_it_lacks() {
        let error = newest_runnable(61, &VARIANTS).expect_err("sm_61 is older than all");
        assert_eq!(
            error.to_string(),
            "this GPU is sm_61, which is older than the PTX at hand (sm_90, sm_70, sm_80): use --device emulator"
        );
    }
}
