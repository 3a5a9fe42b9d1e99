//! `warpfold lessons`: the catalogue, in reading order.

use super::failure::Failure;
use super::lookup;
use super::names::Kind;
use super::output::{JsonArguments, Output, print};
use super::{footnotes, show};
use comfy_table::CellAlignment::Left;
use serde::Serialize;
use warpfold_course::element::ElementType;
use warpfold_course::host_lesson::{self, HOST_LESSONS, HostLesson};
use warpfold_course::operator::built_for;
use warpfold_course::oracle::CPU_REFERENCES;
use warpfold_kernels::catalogue::{self, BLOCK_SIZES, Lesson, Part, lessons, lessons_of};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold lessons\n  warpfold lessons coarse\n  warpfold lessons coarse --page\n  warpfold run unroll8"
)]
pub struct Arguments {
    /// Show all about one lesson [default: list them all]
    id: Option<String>,
    /// Print the lesson's page: its text and its kernels
    #[arg(long, requires = "id", conflicts_with = "json")]
    page: bool,
    #[command(flatten)]
    json: JsonArguments,
}

#[derive(Serialize)]
struct Catalogue {
    cpu_references: Vec<Reference>,
    block_sizes: [u32; BLOCK_SIZES.len()],
    parts: Vec<PartRow>,
    lessons: Vec<Row>,
    host_lessons: Vec<HostRow>,
}

#[derive(Serialize)]
struct HostRow {
    id: &'static str,
    title: &'static str,
    change: &'static str,
    needs: &'static [&'static str],
    file: &'static str,
}

#[derive(Serialize)]
struct Reference {
    id: &'static str,
    title: &'static str,
    in_place: bool,
}

#[derive(Serialize)]
struct PartRow {
    title: &'static str,
    learn: &'static str,
    needs: Vec<&'static str>,
}

#[derive(Serialize)]
struct Row {
    part: &'static str,
    step: &'static str,
    id: &'static str,
    title: &'static str,
    change: &'static str,
    needs: &'static [&'static str],
    operator: Option<&'static str>,
    element_type: Option<ElementType>,
    result_type: Option<ElementType>,
    in_place: bool,
    cooperative: bool,
    parameter: Option<ParameterRow>,
    least_sm: u32,
    entries: Vec<&'static str>,
    file: &'static str,
    exhibit: Option<&'static str>,
    emulator_only: bool,
}

#[derive(Serialize)]
struct ParameterRow {
    name: &'static str,
    meaning: &'static str,
    values: &'static [u32],
    usual: u32,
}

impl PartRow {
    fn new(part: Part) -> Self {
        Self {
            title: part.title(),
            learn: part.learn(),
            needs: part.needs().iter().map(|needed| needed.title()).collect(),
        }
    }
}

impl HostRow {
    fn new(lesson: &HostLesson) -> Self {
        Self {
            id: lesson.id,
            title: lesson.title,
            change: lesson.change,
            needs: lesson.needs,
            file: lesson.file,
        }
    }
}

impl Row {
    fn new(lesson: &Lesson) -> Self {
        let reduction = lesson.reduction();
        let built_for = reduction.map(built_for);
        Self {
            part: lesson.part.title(),
            step: lesson.step,
            id: lesson.id,
            title: lesson.title,
            change: lesson.change,
            needs: lesson.needs,
            operator: built_for.map(|(operator, _)| operator.name()),
            element_type: built_for.map(|(_, element_type)| element_type),
            result_type: reduction.map(|reduction| reduction.result_type.into()),
            in_place: reduction.is_some_and(|reduction| reduction.in_place),
            cooperative: lesson.cooperative,
            parameter: lesson.parameter.map(|parameter| ParameterRow {
                name: parameter.name,
                meaning: parameter.meaning,
                values: parameter.values,
                usual: parameter.usual,
            }),
            least_sm: lesson.least_sm,
            entries: lesson.entry_names().collect(),
            file: lesson.file,
            exhibit: lesson.exhibit,
            emulator_only: lesson.emulator_only,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    match &arguments.id {
        None => list(&output),
        Some(id) if arguments.page => page(id),
        Some(id) => match host_lesson::find(id) {
            Some(lesson) => tell_host(lesson, &output),
            None => match catalogue::find(id) {
                Some(lesson) => tell(lesson, &output),
                None => Err(lookup::no_such(id, &[Kind::Lesson, Kind::HostLesson], &[])),
            },
        },
    }
}

/// The source of a lesson, which explains itself.
fn page(id: &str) -> Result<(), Failure> {
    if let Some(lesson) = host_lesson::find(id) {
        return Err(Failure::Input(format!(
            "`{}` is about the host, and its page is not carried by this program: in the repository it is {}",
            lesson.id, lesson.file
        )));
    }
    let file = lookup::lesson(id)?.file;
    let text = warpfold_workshop::carried(file)
        .ok_or_else(|| Failure::Input(format!("this program does not carry {file}")))?;
    print(text.trim_end())
}

fn list(output: &Output) -> Result<(), Failure> {
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
        parts: Part::ALL.map(PartRow::new).into(),
        lessons: lessons().map(Row::new).collect(),
        host_lessons: HOST_LESSONS.iter().map(HostRow::new).collect(),
    };
    let mut table = show::table(&[
        ("step", Left),
        ("id", Left),
        ("what is new", Left),
        ("source", Left),
    ]);
    for reference in &catalogue.cpu_references {
        table.add_row(["cpu", reference.id, reference.title]);
    }
    let mut headings = vec![("The CPU references".to_owned(), CPU_REFERENCES.len())];
    for part in Part::ALL {
        let groups: Vec<&[Lesson]> = lessons_of(part)
            .chunk_by(|one, next| part == Part::Operators && one.file == next.file)
            .collect();
        for group in &groups {
            table.add_row(row_of(group));
        }
        headings.push((heading(part), groups.len()));
    }
    for lesson in &catalogue.host_lessons {
        table.add_row(["host", lesson.id, lesson.title, lesson.file]);
    }
    let of_host =
        "The host's side: transfers, streams, graphs, clocks and caches (after: The ladder)";
    headings.push((of_host.to_owned(), HOST_LESSONS.len()));
    headings.retain(|(_, rows)| *rows > 0);
    let headings: Vec<(&str, usize)> = headings
        .iter()
        .map(|(heading, rows)| (heading.as_str(), *rows))
        .collect();
    output.print(show::with_headings(&table, &[3], &headings))?;
    output.print("")?;
    for note in footnotes::exhibits(lessons()) {
        output.print(note)?;
    }
    output.print(format!(
        "Blocks of {} threads. `warpfold lessons ID` tells all about one, `warpfold lessons ID --page` prints its page, `warpfold run ID` runs it (`warpfold host-lesson ID` one of the \
         host's side), `warpfold ptx ID` shows its PTX.",
        BLOCK_SIZES.map(|size| size.to_string()).join(", ")
    ))?;
    output.write_json(&catalogue)
}

/// The heading of a part: what it is about and what to have read before.
fn heading(part: Part) -> String {
    let needs: Vec<&str> = part.needs().iter().map(|needed| needed.title()).collect();
    let after = if needs.is_empty() {
        String::new()
    } else {
        format!(" (after: {})", needs.join(", "))
    };
    format!("{}: {}{after}", part.title(), part.learn())
}

/// One row for a lesson, or for all those that one generic body makes.
fn row_of(group: &[Lesson]) -> [String; 4] {
    let [first, .., last] = group else {
        let lesson = &group[0];
        return [
            format!("{}{}", lesson.step, footnotes::mark(lesson.exhibit)),
            lesson.id.to_owned(),
            lesson.title.to_owned(),
            lesson.file.to_owned(),
        ];
    };
    // Names are made of words; what is not the same in all of them begins with a word.
    let common = first.id.bytes().zip(last.id.bytes());
    let common = common.take_while(|(one, other)| one == other).count();
    let start = first.id[..common].rfind('_').map_or(0, |place| place + 1);
    [
        first.step.to_owned(),
        format!("{}…", &first.id[..start]),
        format!(
            "{} lessons: …{} to …{}",
            group.len(),
            &first.id[start..],
            &last.id[start..]
        ),
        first.file.to_owned(),
    ]
}

/// All about one lesson of the host's side.
fn tell_host(lesson: &HostLesson, output: &Output) -> Result<(), Failure> {
    let row = HostRow::new(lesson);
    output.print(format!("{} · the host's side: {}\n", row.id, row.title))?;
    let mut table = show::table(&[("", Left), ("", Left)]);
    table.add_row(["you learn", row.change]);
    table.add_row(["it needs", &row.needs.join(", ")]);
    table.add_row(["source", row.file]);
    table.add_row(["it runs as", &format!("warpfold host-lesson {}", row.id)]);
    output.print(show::text(&table))?;
    output.write_json(&row)
}

/// All about one lesson.
fn tell(lesson: &'static Lesson, output: &Output) -> Result<(), Failure> {
    let row = Row::new(lesson);
    output.print(format!(
        "{} · {}, step {}{}: {}\n",
        row.id,
        row.part,
        row.step,
        footnotes::mark(row.exhibit),
        row.title
    ))?;
    let mut table = show::table(&[("", Left), ("", Left)]);
    table.add_row(["you learn", row.change]);
    let needs = match row.needs {
        [] => "nothing".to_owned(),
        needs => needs.join(", "),
    };
    table.add_row(["it needs", &needs]);
    table.add_row(["source", row.file]);
    if let (Some(operator), Some(element_type)) = (row.operator, row.element_type) {
        let wider = match row.result_type {
            Some(result_type) if result_type != element_type => format!(" in {result_type}"),
            _ => String::new(),
        };
        table.add_row([
            "it makes",
            &format!("the {operator} of {element_type} values{wider}"),
        ]);
    }
    if let Some(parameter) = &row.parameter {
        let values = parameter.values.iter().map(u32::to_string);
        let values: Vec<String> = values.collect();
        table.add_row([
            "to set",
            &format!(
                "--set {}=VALUE: {}; one of {} [default: {}]",
                parameter.name,
                parameter.meaning,
                values.join(", "),
                parameter.usual
            ),
        ]);
    }
    if row.in_place {
        table.add_row(["in place", "it overwrites its input"]);
    }
    if row.cooperative {
        table.add_row(["cooperative", "all its blocks run at once"]);
    }
    let least = format!("sm_{} or later", row.least_sm);
    table.add_row(if row.emulator_only {
        ["runs on", "the emulator only"]
    } else {
        ["needs a GPU of", &least]
    });
    table.add_row(["entries", &row.entries.join(", ")]);
    output.print(show::text(&table))?;
    for note in footnotes::exhibits([lesson]) {
        output.print(format!("\n{note}"))?;
    }
    output.write_json(&row)
}
