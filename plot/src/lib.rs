//! What pictures share: their letters, their heading, where names go that stand beside points, plots of lines over numbers, heat maps, and
//! their colours, on white and on dark pages.
//!
//! ```
//! use warpfold_plot::{Line, LineChart, LinePlot, Scale};
//!
//! let plot = LinePlot {
//!     size: (800, 500),
//!     title: "How fast each kernel reads its input",
//!     subtitle: "a GPU",
//!     rows: vec![vec![LineChart {
//!         elements: "elements",
//!         quantity: "GB/s",
//!         scale: Scale::Logarithmic { base: 10.0 },
//!         ceiling: Some(("data sheet: 4800 GB/s", 4800.0)),
//!         lines: vec![Line {
//!             name: "shuffle",
//!             is_bold: false,
//!             points: vec![(1 << 20, 1000.0), (1 << 24, 3600.0)],
//!         }],
//!     }]],
//! };
//! assert!(plot.to_svg()?.contains("shuffle"));
//! # Ok::<(), warpfold_plot::LinePlotError>(())
//! ```

mod colours;
mod heat;
mod letters;
mod lines;

pub use colours::{BLUE, GREEN, RED, for_dark_pages};
pub use heat::{HeatCell, HeatMap, HeatPlot};
pub use letters::{font, grouped, heading, register_letters, spread};
pub use lines::{Line, LineChart, LinePlot, LinePlotError, Scale};
