//! What pictures share that `plotters` draws: their letters, their heading, where names go that stand beside points, and plots of
//! lines over numbers of elements.
//!
//! ```
//! use warpfold_plot::{Line, LineChart, LinePlot};
//!
//! let plot = LinePlot {
//!     size: (800, 500),
//!     title: "How fast each kernel reads its input",
//!     subtitle: "a GPU",
//!     charts: vec![LineChart {
//!         elements: "elements",
//!         size_name: |n| n.to_string(),
//!         quantity: "GB/s",
//!         log_scale: false,
//!         ceiling: Some(("data sheet: 4800 GB/s", 4800.0)),
//!         lines: vec![Line {
//!             name: "shuffle",
//!             is_bold: false,
//!             points: vec![(1 << 20, 1000.0), (1 << 24, 3600.0)],
//!         }],
//!     }],
//! };
//! assert!(plot.to_svg()?.contains("shuffle"));
//! # Ok::<(), warpfold_plot::LinePlotError>(())
//! ```

mod letters;
mod lines;

pub use letters::{font, grouped, heading, register_letters, spread};
pub use lines::{Line, LineChart, LinePlot, LinePlotError};
