//! Strong and weak scaling as a picture, and what follows from two measurements.

use super::super::HostLessonError;
use crate::size::short;
use warpfold_plot::{Line, LineChart, LinePlot, Scale};

/// Width and height in pixels.
const SIZE: (u32, u32) = (900, 520);

/// What sums take on this many devices: times or instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaled {
    pub(super) devices: usize,
    /// For the same elements.
    pub(super) strong: f64,
    /// For as many elements on each.
    pub(super) weak: f64,
}

impl Scaled {
    /// How many times as fast as one device.
    pub(super) fn speed_up(self, one: Self) -> f64 {
        one.strong / self.strong
    }

    /// As much more work in the time as one device takes for its own.
    fn scaled_speed_up(self, one: Self) -> f64 {
        self.devices as f64 * one.weak / self.weak
    }

    /// The serial fraction of Karp and Flatt, (1/S − 1/p) / (1 − 1/p); there is none of one device.
    pub(super) fn serial_fraction(self, one: Self) -> Option<f64> {
        let share = 1.0 / self.devices as f64;
        (self.devices > 1).then(|| (1.0 / self.speed_up(one) - share) / (1.0 - share))
    }
}

/// What to draw.
pub(super) struct Picture {
    /// The first device in words.
    pub(super) device: String,
    /// Number of elements.
    pub(super) n: usize,
    /// Whether times are compared, and not instructions.
    pub(super) of_times: bool,
    pub(super) scaled: Vec<Scaled>,
}

impl Picture {
    /// The picture as SVG.
    pub(super) fn to_svg(&self) -> Result<String, HostLessonError> {
        let one = self.scaled[0];
        let points = |of: &dyn Fn(Scaled) -> f64| {
            let scaled = self.scaled.iter();
            scaled.map(|&scaled| (scaled.devices, of(scaled))).collect()
        };
        let line = |name, is_bold, of: &dyn Fn(Scaled) -> f64| Line {
            name,
            is_bold,
            points: points(of),
        };
        let of = if self.of_times {
            "times"
        } else {
            "warp instructions of the busiest device, which know of no meeting"
        };
        let subtitle = format!("{} · {} i32 · {of}", self.device, short(self.n));
        let plot = LinePlot {
            size: SIZE,
            title: "One sum of several devices",
            subtitle: &subtitle,
            rows: vec![vec![LineChart {
                elements: "devices",
                quantity: "times one device",
                scale: Scale::Linear,
                ceiling: None,
                lines: vec![
                    line("ideal", true, &|scaled| scaled.devices as f64),
                    line("weak", false, &|scaled| scaled.scaled_speed_up(one)),
                    line("strong", false, &|scaled| scaled.speed_up(one)),
                ],
            }]],
        };
        plot.to_svg()
            .map_err(|error| HostLessonError::Picture(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(devices: usize, strong: f64) -> Scaled {
        Scaled {
            devices,
            strong,
            weak: 1.0,
        }
    }

    #[test]
    fn the_serial_fraction_is_amdahl_s_where_his_law_holds() {
        let one = scaled(1, 100.0);
        assert_eq!(one.serial_fraction(one), None);
        for serial in [0.0, 0.1, 0.5, 1.0] {
            for devices in [2, 8, 64] {
                let now = scaled(devices, 100.0 * (serial + (1.0 - serial) / devices as f64));
                let found = now.serial_fraction(one).expect("there are several");
                assert!(
                    (found - serial).abs() < 1e-12,
                    "{devices}: {found} for {serial}"
                );
            }
        }
        assert_eq!(scaled(4, 100.0).scaled_speed_up(one), 4.0);
    }
}
