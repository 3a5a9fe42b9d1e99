//! Pictures as SVG, from top to bottom: the grids, if kernels have launched any, then scene by scene what threads read, the threads, and
//! what they write.

mod drawing;
mod layout;
mod legend;
mod scene;
mod shapes;
mod sheet;
mod tree;

use super::diagram::{Diagram, diagram};
use super::picture::Picture;
use drawing::Drawing;
use layout::{Layout, MOST_HEIGHT, SvgRoom};
use sheet::Sheet;
pub use sheet::{Covered, Covering};
use warpfold_plot::for_dark_pages;

impl Picture {
    /// The picture as an SVG document: 1200 pixels wide at most, on a ground of its own, which is dark where dark pages are preferred, with generic fonts and nothing from outside.
    pub fn to_svg(&self) -> String {
        let title = format!("{}: {}", self.lesson, self.title);
        for_dark_pages(&self.to_sheet().into_svg(&title))
    }

    /// What the document is covered with.
    #[doc(hidden)]
    pub fn covering(&self) -> Covering {
        self.to_sheet().into_covering()
    }

    /// The sheet; where it would be more than a page, without some steps.
    fn to_sheet(&self) -> Sheet {
        let mut diagram = diagram(self, &SvgRoom);
        loop {
            let sheet = draw(&diagram);
            if sheet.height() <= MOST_HEIGHT || !diagram.shorten() {
                return sheet;
            }
        }
    }
}

fn draw(diagram: &Diagram) -> Sheet {
    let mut drawing = Drawing {
        layout: Layout::new(diagram),
        sheet: Sheet::default(),
        y: 0.0,
        above: None,
    };
    drawing.head(diagram);
    drawing.tree(&diagram.tree);
    drawing.groups(diagram);
    let groups = 0..diagram.groups.len();
    let starts = groups.map(|group| drawing.layout.group(group).0);
    drawing.sheet.begin_columns(starts.collect(), drawing.y);
    for scene in &diagram.scenes {
        drawing.scene(diagram, scene);
    }
    drawing.legend(diagram);
    drawing.sheet.finish(drawing.y);
    drawing.sheet
}
