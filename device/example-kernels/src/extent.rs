//! A type and an operator of your own: the box around points in the plane, and its area.

use warpfold_device::operator::{Combine, Extremes, MinMax, Operator};

/// A point as it lies in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f32,
    /// Upwards.
    pub y: f32,
}

// On the host a point is copied to a device as bytes.
// SAFETY: zero bits are a value of both fields.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for Point {}
// SAFETY: two fields of one type in C's layout have nothing between them, and any bits are a value of both.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for Point {}

// Two points are 16 bytes, and one load.
warpfold_device::vectors! {
    Point = u64, |bits| Point { x: f32::from_bits(bits as u32), y: f32::from_bits((bits >> 32) as u32) };
}

/// The box: from where to where it extends each way. The state of the operator.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// To the right.
    pub x: Extremes<f32>,
    /// Upwards.
    pub y: Extremes<f32>,
}

// What a shuffle needs to know.
warpfold_device::words! { Extent { x, y } }

/// The area of the box around the points; 0 of none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Area;

impl Combine<Extent> for Area {
    fn identity(self) -> Extent {
        Extent {
            x: MinMax.identity(),
            y: MinMax.identity(),
        }
    }

    fn combine(self, left: Extent, right: Extent) -> Extent {
        Extent {
            x: MinMax.combine(left.x, right.x),
            y: MinMax.combine(left.y, right.y),
        }
    }
}

impl Operator<Point> for Area {
    type State = Extent;
    type Output = f32;

    fn lift(self, Point { x, y }: Point, _index: u64) -> Extent {
        Extent {
            x: Extremes { min: x, max: x },
            y: Extremes { min: y, max: y },
        }
    }

    fn finish(self, Extent { x, y }: Extent, count: u64) -> f32 {
        if count == 0 {
            0.0
        } else {
            (x.max - x.min) * (y.max - y.min)
        }
    }
}

warpfold_device::reductions! {
    /// The area of the box around the points.
    area: Area, Point;
}
