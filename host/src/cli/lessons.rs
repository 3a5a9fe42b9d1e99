//! `warpfold lessons`: the catalogue.

use super::failure::Failure;
use super::output::{JsonArguments, Output};
use super::{footnotes, show};
use comfy_table::CellAlignment::{Left, Right};
use serde::Serialize;
use warpfold::element::ElementType;
use warpfold::oracle::CPU_REFERENCES;
use warpfold::reducer::built_for;
use warpfold_kernels::catalogue::{BLOCK_SIZES, Geometry, LESSONS, Lesson, Part};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  warpfold lessons\n  warpfold run unroll8")]
pub struct Arguments {
    #[command(flatten)]
    json: JsonArguments,
}

#[derive(Serialize)]
struct Catalogue {
    cpu_references: Vec<Reference>,
    block_sizes: [u32; BLOCK_SIZES.len()],
    lessons: Vec<Row>,
}

#[derive(Serialize)]
struct Reference {
    id: &'static str,
    title: &'static str,
    in_place: bool,
}

#[derive(Serialize)]
struct Row {
    part: &'static str,
    step: &'static str,
    id: &'static str,
    title: &'static str,
    change: &'static str,
    operator: &'static str,
    element_type: ElementType,
    elements_per_thread: u32,
    in_place: bool,
    least_sm: u32,
    entries: Vec<&'static str>,
    file: &'static str,
    exhibit: Option<&'static str>,
}

impl Row {
    fn new(lesson: &Lesson) -> Self {
        let Geometry::Tiles {
            elements_per_thread,
        } = lesson.geometry;
        let (operator, element_type) = built_for(lesson);
        Self {
            part: lesson.part.title(),
            step: lesson.step,
            id: lesson.id,
            title: lesson.title,
            change: lesson.change,
            operator: operator.name(),
            element_type,
            elements_per_thread,
            in_place: lesson.in_place,
            least_sm: lesson.least_sm,
            entries: lesson.entry_names().collect(),
            file: lesson.file,
            exhibit: lesson.exhibit,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    let catalogue = Catalogue {
        cpu_references: CPU_REFERENCES
            .iter()
            .map(|reference| Reference {
                id: reference.id,
                title: reference.title,
                in_place: reference.in_place,
            })
            .collect(),
        block_sizes: BLOCK_SIZES,
        lessons: LESSONS.iter().map(Row::new).collect(),
    };
    let mut table = show::table(&[
        ("step", Left),
        ("id", Left),
        ("what is new", Left),
        ("elements\na thread", Right),
        ("source", Left),
    ]);
    for reference in &catalogue.cpu_references {
        table.add_row(["cpu", reference.id, reference.title]);
    }
    for row in &catalogue.lessons {
        table.add_row([
            &format!("{}{}", row.step, footnotes::mark(row.exhibit)),
            row.id,
            row.title,
            &row.elements_per_thread.to_string(),
            row.file,
        ]);
    }
    let parts = Part::ALL.map(|part| {
        let lessons = LESSONS.iter().filter(|lesson| lesson.part == part);
        (part.title(), lessons.count())
    });
    let headings = [&[("The CPU references", CPU_REFERENCES.len())][..], &parts].concat();
    let text = show::fitted_text(&mut table, &[4, 3]);
    output.print(show::with_headings(&text, &headings))?;
    output.print("")?;
    for note in footnotes::exhibits(LESSONS) {
        output.print(note)?;
    }
    output.print(format!(
        "Blocks of {} threads. `warpfold run ID` runs one, `warpfold ptx ID` shows its PTX.",
        BLOCK_SIZES.map(|size| size.to_string()).join(", ")
    ))?;
    output.write_json(&catalogue)
}
