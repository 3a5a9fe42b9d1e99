//! Which of several ways is the fastest.

use std::fmt::Debug;

/// Launches of each candidate, the shortest of which counts.
const TRIES: usize = 5;

/// The fastest of those that can be launched. The only one is not tried.
///
/// Who takes more than twice as long as the best so far is not tried again.
///
/// # Errors
/// None can be launched: why the last cannot.
pub fn fastest<W: Copy + Debug>(
    candidates: &[W],
    launch_ms: impl Fn(W) -> Result<f64, String>,
) -> Result<W, String> {
    if let [only] = candidates {
        return Ok(*only);
    }
    let mut best: Option<(f64, W)> = None;
    let mut reason = "there is no way to launch it".to_owned();
    for &way in candidates {
        let limit = best.map_or(f64::INFINITY, |(ms, _)| 2.0 * ms);
        match shortest(limit, || launch_ms(way)) {
            Ok(ms) if best.is_none_or(|(best, _)| ms < best) => best = Some((ms, way)),
            Ok(_) => {}
            Err(error) => {
                eprintln!("{way:?} is left out: {error}");
                reason = error;
            }
        }
    }
    best.map(|(_, way)| way).ok_or(reason)
}

/// The shortest of some launches, fewer if one takes longer than the limit.
fn shortest(limit: f64, launch_ms: impl Fn() -> Result<f64, String>) -> Result<f64, String> {
    // The first launch compiles.
    launch_ms()?;
    let mut shortest = launch_ms()?;
    for _ in 1..TRIES {
        if shortest > limit {
            break;
        }
        shortest = shortest.min(launch_ms()?);
    }
    Ok(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_fastest_is_taken_of_those_that_can_be_launched() {
        let launch = |ms: i32| match ms {
            0 => Err("it fails".to_owned()),
            ms => Ok(f64::from(ms)),
        };
        assert_eq!(fastest(&[3, 0, 2, 9], launch), Ok(2));
        assert_eq!(fastest(&[0, 0], launch), Err("it fails".to_owned()));
        assert!(fastest(&[], launch).is_err());
    }

    #[test]
    fn the_slow_are_launched_twice_and_the_only_one_is_not_launched() {
        let launches = Cell::new(0);
        let launch = |ms: i32| {
            launches.set(launches.get() + 1);
            Ok(f64::from(ms))
        };
        assert_eq!(fastest(&[4], launch), Ok(4));
        assert_eq!(launches.take(), 0);
        assert_eq!(fastest(&[4, 9], launch), Ok(4));
        assert_eq!(launches.take(), 1 + TRIES + 2);
    }
}
