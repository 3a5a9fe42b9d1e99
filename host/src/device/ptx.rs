//! Which PTX a device gets, which driver it needs, and how it is loaded.

use super::DeviceError;
use warpfold_driver::Version;

/// The newest of `variants` (compute capability, PTX text) that a device of compute capability `sm` can run: PTX runs on its own
/// architecture and on every later one.
///
/// The product's PTX is built for three architectures. A GPU gets the newest that it can run, and its driver has to know the version of
/// the PTX language that it is written in:
///
/// | PTX for | GPUs | PTX ISA | oldest driver |
/// |---|---|---|---|
/// | sm_70 | Volta (V100), Turing (T4, RTX 20) | 6.0 | CUDA 11.0 (Linux 450, Windows 451) |
/// | sm_80 | Ampere (A100, RTX 30), Ada (L4, RTX 40) | 7.0 | CUDA 11.0 (Linux 450, Windows 451) |
/// | sm_90 | Hopper (H100, H200), Blackwell (B200, RTX 50) | 8.0 | CUDA 12.0 (Linux 525, Windows 527) |
///
/// Lessons with later instructions are in a module of their own:
///
/// | PTX for | GPUs | PTX ISA | oldest driver |
/// |---|---|---|---|
/// | sm_70, `recent` | as above | 6.3 | CUDA 11.0 (Linux 450, Windows 451) |
/// | sm_80, `recent` | as above | 7.0 | CUDA 11.0 (Linux 450, Windows 451) |
/// | sm_90, `recent` | as above | 8.3 | CUDA 12.3 (Linux 545, Windows 545) |
///
/// [`Reduction`](crate::Reduction) loads the text of the type of its values. There is one for each type, for the oldest architecture alone:
///
/// | PTX for | GPUs | PTX ISA | oldest driver |
/// |---|---|---|---|
/// | sm_70, reductions | all of the above | 6.0 | CUDA 11.0 (Linux 450, Windows 451) |
///
/// From sm_80 on they are loaded for sm_80, in PTX ISA 7.0, with what newer GPUs do faster. From sm_90 and CUDA 12.3 on they are loaded for
/// sm_90, each kernel with two instructions more, by which it is set up while the launch before it ends.
///
/// A driver of CUDA 9.0 knows PTX ISA 6.0, but not all functions that are called here ([`warpfold_driver::OLDEST_VERSION`]).
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

/// What a GPU does with a module besides running it. On the emulator none of it means anything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadOptions {
    /// The most registers that a thread gets, so that more threads run at the same time.
    pub(crate) registers: Option<u32>,
    /// Whether its kernels are [set up](super::overlap) while the launch before them ends, where that is possible.
    pub(crate) overlaps: bool,
}

/// Checks that a driver that supports this CUDA knows the language of a PTX text.
pub(super) fn check_driver(ptx: &str, found: Version) -> Result<(), DeviceError> {
    match version(ptx).and_then(oldest_driver) {
        Some(needed) if needed > found => Err(DeviceError::OldDriver { needed, found }),
        _ => Ok(()),
    }
}

/// The version of the PTX language that a text says it is in.
pub(super) fn version(ptx: &str) -> Option<(u32, u32)> {
    let mut lines = ptx.lines();
    let version = lines.find_map(|line| line.trim_start().strip_prefix(".version"))?;
    let version = version.split_whitespace().next()?;
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The head of a text, up to the line that says the target, for this compute capability and this version of the language at least; and the
/// rest of the text. `None` where the text is not as compilers write it.
pub(super) fn raised(ptx: &str, sm: u32, language: (u32, u32)) -> Option<(String, &str)> {
    let newest = version(ptx)?.max(language);
    let mut head = String::new();
    let mut rest = ptx;
    // The version comes before the target, and the target before all code.
    loop {
        let (line, later) = rest.split_once('\n')?;
        rest = later;
        let mut words = line.split_whitespace();
        match words.next() {
            Some(".version") => {
                head += &format!(".version {}.{}\n", newest.0, newest.1);
            }
            Some(".target") => {
                let target = words.next()?;
                let digits = target.strip_prefix("sm_")?;
                let own: u32 = digits.trim_end_matches(char::is_alphabetic).parse().ok()?;
                if words.next().is_some() {
                    return None;
                }
                head += &match own >= sm {
                    true => format!(".target {target}\n"),
                    false => format!(".target sm_{sm}\n"),
                };
                return Some((head, rest));
            }
            _ => head.extend([line, "\n"]),
        }
    }
}

/// The first CUDA with this version of the PTX language, by the table of releases in NVIDIA's manual of it; `None` where the version is
/// later than that table: then the driver decides.
fn oldest_driver((major, minor): (u32, u32)) -> Option<Version> {
    let (major, minor) = match (major, minor) {
        (..6, _) => (8, 0),
        (6, 0..=2) => (9, minor),
        (6, 3..=5) => (10, minor - 3),
        (7, 0..=8) => (11, minor),
        (8, 0..=5) => (12, minor),
        (8, 6..=8) => (12, minor + 1),
        (9, 0..=1) => (13, minor),
        _ => return None,
    };
    Some(Version { major, minor })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxSet;
    use warpfold_driver::OLDEST_VERSION;
    use warpfold_kernels::catalogue::PtxText;

    /// The row of the table with this first cell says what the PTX needs.
    #[track_caller]
    fn has_row(first: &str, ptx: &str) {
        let version = version(ptx).expect("the PTX says its version");
        let needed = oldest_driver(version).expect("it is in NVIDIA's table");
        let row = include_str!("ptx.rs")
            .lines()
            .find(|line| line.starts_with(&format!("/// | {first} |")))
            .expect("the table has a row for each architecture");
        let cells = format!(
            "| {}.{} | CUDA {} (",
            version.0,
            version.1,
            needed.max(OLDEST_VERSION)
        );
        assert!(row.contains(&cells), "{row} has not {cells}");
    }

    #[test]
    fn the_table_above_says_what_the_committed_ptx_needs() {
        let committed = PtxSet::embedded();
        for module in PtxText::ALL {
            for sm in committed.architectures(module) {
                let ptx = committed.built_for(module, sm).expect("it is listed");
                let of_module = match module {
                    PtxText::Recent => ", `recent`",
                    _ => "",
                };
                has_row(&format!("sm_{sm}{of_module}"), ptx);
            }
        }
    }

    #[test]
    fn the_table_above_says_what_the_reductions_need() {
        let first = format!("sm_{}, reductions", warpfold_reductions::SM);
        for text in warpfold_reductions::elements() {
            has_row(&first, &text.read());
        }
    }

    #[test]
    fn a_driver_that_does_not_know_the_ptx_is_told_from_one_that_does() {
        let ptx = "//\n// Generated\n\n.version 8.0\n.target sm_90\n";
        let driver = |major, minor| check_driver(ptx, Version { major, minor });
        assert_eq!(driver(12, 0), Ok(()));
        assert_eq!(driver(13, 2), Ok(()));
        assert_eq!(
            driver(11, 8)
                .expect_err("8.0 came with CUDA 12.0")
                .to_string(),
            "this PTX needs driver API \u{2265} 12.0, yours is 11.8: update the driver"
        );
    }

    #[test]
    fn versions_have_their_first_cuda() {
        for (version, driver) in [
            ((5, 0), "8.0"),
            ((6, 2), "9.2"),
            ((6, 3), "10.0"),
            ((7, 8), "11.8"),
            ((8, 5), "12.5"),
            ((8, 6), "12.7"),
            ((8, 8), "12.9"),
            ((9, 1), "13.1"),
        ] {
            let found = oldest_driver(version).map(|version| version.to_string());
            assert_eq!(found.as_deref(), Some(driver), "{version:?}");
        }
        assert_eq!(oldest_driver((17, 3)), None);
        for text in [
            "",
            ".version",
            ".version 8",
            ".version x.y",
            "// .version 8.0",
        ] {
            assert_eq!(version(text), None, "{text}");
        }
    }

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
