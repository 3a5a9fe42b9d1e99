//! What a GPU measured once, for those who have none.

use super::failure::Failure;
use super::show;
use comfy_table::CellAlignment::{Left, Right};
use comfy_table::{CellAlignment, Table};
use std::collections::BTreeSet;
use warpfold_course::host_lesson::roofline_picture;
use warpfold_course::size::short;

/// The GPU, unless an output names another.
pub const GPU: &str = "an NVIDIA H200";

/// How the times of the ladder were taken.
pub const HOW: &str = "Medians of 101 launches, whose input is in the L2 cache as far as it fits.";

/// Commands and what they printed there.
const OUTPUTS: &str = include_str!("../recorded/measured.md");

/// The medians of the ladder's steps: `kernel,n,block,ms`. `cargo xtask results` writes it.
const LADDER: &str = include_str!("../recorded/ladder.csv");

/// A command line and what it printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// `warpfold host-lesson residency --device gpu`, perhaps with variables before it.
    pub command: &'static str,
    /// What stood on standard output.
    pub printed: &'static str,
}

impl Output {
    /// Which GPUs printed it: the device line says so, where there is one.
    fn gpus(&self) -> String {
        let names = self.printed.lines().next().unwrap_or_default();
        let names = names.split("GPU ").skip(1);
        let names: Vec<&str> = names
            .filter_map(|name| Some(name.split_once(": ")?.1.split(',').next()?.trim()))
            .collect();
        match names[..] {
            [] => GPU.to_owned(),
            [one] => format!("an {one}"),
            [one, ..] => format!("{} {one}", names.len()),
        }
    }
}

/// What a command printed for a subject (`sweep`, `bank_stride`), whatever else was asked for.
pub fn outputs(command: &str, subject: &str) -> Vec<Output> {
    let begins = format!("warpfold {command} ");
    let is_about = |output: &Output| {
        let arguments = output.command.split_once(&begins).map(|(_, rest)| rest);
        arguments.is_some_and(|arguments| arguments.split(' ').any(|word| word == subject))
    };
    all().filter(is_about).collect()
}

/// The recorded output of a command as text, or a sentence that says what is recorded instead.
pub fn text(command: &str, subject: &str) -> Result<String, Failure> {
    let outputs = outputs(command, subject);
    if !outputs.is_empty() {
        return Ok(shown(&outputs));
    }
    let begins = format!("warpfold {command} ");
    let subjects: BTreeSet<&str> = all()
        .filter_map(|output| output.command.split_once(&begins)?.1.split(' ').next())
        .collect();
    let subjects: Vec<&str> = subjects.into_iter().collect();
    Err(Failure::Input(format!(
        "nothing is recorded of `{command} {subject}`; there is {}",
        subjects.join(", ")
    )))
}

/// Recorded outputs, marked as such.
pub fn shown(outputs: &[Output]) -> String {
    let shown: Vec<String> = outputs
        .iter()
        .map(|output| {
            format!(
                "Recorded on {}: {}\n{}",
                output.gpus(),
                output.command,
                fitted(output.printed, show::width())
            )
        })
        .collect();
    shown.join("\n\n")
}

/// Printed text whose tables are laid out anew where they are too wide.
fn fitted(printed: &str, width: Option<usize>) -> String {
    let is_wide = |rule: &str| width.is_some_and(|width| rule.chars().count() > width);
    let Some([before, header, rows, after]) = parts(printed, is_wide) else {
        return printed.to_owned();
    };
    format!(
        "{}\n{}\n{}",
        before.join("\n"),
        show::text(&Printed::read(&header, &rows).to_table()),
        fitted(&after.join("\n"), width)
    )
}

/// The lines of the first table in a text that `is_it` takes the rule of: those before it, its header, its rows, those after it.
fn parts(text: &str, is_it: impl Fn(&str) -> bool) -> Option<[Vec<&str>; 4]> {
    let lines: Vec<&str> = text.lines().collect();
    let rule = lines
        .iter()
        .position(|line| line.starts_with('─') && is_it(line))?;
    let beside = |line: &&&str| !line.is_empty();
    let head = lines[..rule].iter().rev().take_while(beside).count();
    let rows = lines[rule + 1..].iter().take_while(beside).count();
    let (before, rest) = lines.split_at(rule - head);
    let (table, after) = rest.split_at(head + 1 + rows);
    Some([before, &table[..head], &table[head + 1..], after].map(<[&str]>::to_vec))
}

/// A table that was printed.
struct Printed {
    titles: Vec<String>,
    alignments: Vec<CellAlignment>,
    rows: Vec<Vec<String>>,
}

impl Printed {
    /// Two spaces in every line part its columns.
    fn read(header: &[&str], rows: &[&str]) -> Self {
        let lines: Vec<Vec<char>> = header
            .iter()
            .chain(rows)
            .map(|line| line.chars().collect())
            .collect();
        let width = lines.iter().map(Vec::len).max().unwrap_or_default();
        let is_free = |place: usize| {
            let mut at = lines.iter().map(|line| line.get(place));
            at.all(|character| character.is_none_or(|&character| character == ' '))
        };
        // A column goes from a place that is not free to two that are.
        let mut columns: Vec<(usize, usize)> = Vec::new();
        for place in (0..width).filter(|&place| !is_free(place)) {
            match columns.last_mut() {
                Some((_, end)) if place <= *end + 1 => *end = place + 1,
                _ => columns.push((place, place + 1)),
            }
        }
        let cell = |line: &Vec<char>, (start, end): (usize, usize)| -> String {
            let characters = line.iter().skip(start).take(end - start);
            characters.collect::<String>().trim().to_owned()
        };
        let (header, rows) = lines.split_at(header.len());
        let title = |&column| {
            let words = header.iter().map(|line| cell(line, column));
            words.collect::<Vec<_>>().join("\n")
        };
        // Numbers go to the right, also where all are equally long.
        let alignment = |&(start, end)| {
            let is_left = rows.iter().all(|row| {
                let begins = row.get(start).is_some_and(|&first| first != ' ');
                begins && !cell(row, (start, end)).starts_with(|first: char| first.is_ascii_digit())
            });
            if is_left { Left } else { Right }
        };
        Self {
            titles: columns.iter().map(title).collect(),
            alignments: columns.iter().map(alignment).collect(),
            rows: rows
                .iter()
                .map(|row| columns.iter().map(|&column| cell(row, column)).collect())
                .collect(),
        }
    }

    /// The same as a table that can be laid out anew.
    fn to_table(&self) -> Table {
        let titles = self.titles.iter().map(String::as_str);
        let titles: Vec<_> = titles.zip(self.alignments.iter().copied()).collect();
        let mut table = show::table(&titles);
        for row in &self.rows {
            table.add_row(row);
        }
        table
    }

    /// The cells below a title, whose lines are joined by spaces.
    fn column(&self, title: &str) -> Option<impl Iterator<Item = &str>> {
        let is_it = |known: &String| known.replace('\n', " ").trim() == title;
        let column = self.titles.iter().position(is_it)?;
        Some(self.rows.iter().map(move |row| row[column].as_str()))
    }
}

/// The recorded roofline, drawn.
pub fn roofline() -> Result<String, Failure> {
    let unreadable = || Failure::Input("the recorded roofline cannot be read".to_owned());
    let outputs = outputs("host-lesson", "roofline");
    let text = outputs.first().ok_or_else(unreadable)?.printed;
    let device = text.lines().next().unwrap_or_default();
    let n = text.split_once("n = ").and_then(|(_, rest)| {
        let digits = rest.split(' ').next()?.replace(',', "");
        digits.parse().ok()
    });
    let [_, header, rows, _] = parts(text, |_| true).ok_or_else(unreadable)?;
    let table = Printed::read(&header, &rows);
    let numbers = |title| {
        let cells = table.column(title).into_iter().flatten();
        cells.map(|cell| cell.parse::<f64>().ok())
    };
    let names = table.column("kernel").into_iter().flatten();
    let kernels: Vec<_> = names
        .zip(numbers("additions a byte"))
        .zip(numbers("GB/s"))
        .zip(numbers("10⁹ additions a second"))
        .map(|(((name, per_byte), gigabytes), rate)| {
            (name, per_byte, gigabytes.unwrap_or_default(), rate)
        })
        .collect();
    let device = format!("recorded on {device}");
    roofline_picture(&device, n.ok_or_else(unreadable)?, &kernels).map_err(Failure::input)
}

fn all() -> impl Iterator<Item = Output> {
    let blocks = OUTPUTS.split("```console\n$ ").skip(1);
    blocks.filter_map(|block| {
        let (command, rest) = block.split_once('\n')?;
        let (printed, _) = rest.split_once("\n```")?;
        Some(Output { command, printed })
    })
}

/// The median time of a step of the ladder, in milliseconds, with the input in the L2 cache as far as it fits.
pub fn step_ms(kernel: &str, n: usize, block: u32) -> Option<f64> {
    let found = steps().find(|step| (step.kernel, step.n, step.block) == (kernel, n, block));
    found.map(|step| step.ms)
}

/// The times of the ladder's steps as a table: a row for each kernel, a column for each number of elements.
pub fn ladder() -> String {
    let sizes: BTreeSet<usize> = steps().map(|step| step.n).collect();
    let titles: Vec<String> = sizes.iter().map(|&n| short(n)).collect();
    let mut columns = vec![("kernel", Left)];
    columns.extend(titles.iter().map(|title| (title.as_str(), Right)));
    let mut table = show::table(&columns);
    let mut seen = BTreeSet::new();
    for first in steps().filter(|step| seen.insert(step.kernel)) {
        let mut row = vec![first.kernel.to_owned()];
        row.extend(sizes.iter().map(|&n| {
            let ms = step_ms(first.kernel, n, first.block);
            ms.map_or_else(String::new, show::significant)
        }));
        table.add_row(row);
    }
    let blocks: BTreeSet<String> = steps().map(|step| step.block.to_string()).collect();
    let blocks: Vec<String> = blocks.into_iter().collect();
    format!(
        "Recorded on {GPU}: milliseconds by number of i32 elements, in blocks of {}\n\n{}\n\n{HOW}",
        blocks.join(", "),
        show::text(&table)
    )
}

struct Step {
    kernel: &'static str,
    n: usize,
    block: u32,
    ms: f64,
}

fn steps() -> impl Iterator<Item = Step> {
    LADDER.lines().skip(1).map(|line| {
        let mut cells = line.split(',');
        let mut next = || cells.next().unwrap_or_default();
        let kernel = next();
        let number = "`cargo xtask results` writes numbers";
        Step {
            kernel,
            n: next().parse().expect(number),
            block: next().parse().expect(number),
            ms: next().parse().expect(number),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_course::host_lesson;
    use warpfold_kernels::catalogue;

    #[test]
    fn everything_recorded_is_of_the_catalogue() {
        assert!(steps().count() > 50);
        for step in steps() {
            assert!(catalogue::find(step.kernel).is_some(), "{}", step.kernel);
            assert!(step.ms > 0.0);
        }
        for output in all() {
            let words: Vec<&str> = output
                .command
                .split(' ')
                .skip_while(|word| *word != "warpfold")
                .collect();
            let known = match words[1] {
                "host-lesson" => host_lesson::find(words[2]).is_some(),
                _ => catalogue::find(words[2]).is_some(),
            };
            assert!(known, "{}", output.command);
            assert!(output.printed.lines().count() > 2, "{}", output.command);
        }
    }

    #[test]
    fn a_table_that_is_read_is_the_one_that_was_printed() {
        let words = |text: &str| -> Vec<String> {
            let words = text.split_whitespace();
            let words = words.filter(|word| !word.starts_with('─'));
            words.map(str::to_owned).collect()
        };
        let mut tables = 0;
        for output in all() {
            let mut rest = output.printed.to_owned();
            while let Some([_, header, rows, after]) = parts(&rest, |_| true) {
                let table = Printed::read(&header, &rows).to_table();
                let printed = [header, rows].concat().join("\n");
                assert_eq!(words(&table.to_string()), words(&printed));
                tables += 1;
                rest = after.join("\n");
            }
        }
        assert!(tables > 10, "{tables}");
    }

    #[test]
    fn the_recorded_roofline_is_drawn_with_every_kernel() {
        let picture = roofline().unwrap_or_else(|failure| panic!("{failure:?}"));
        for words in [
            "recorded on GPU 0: NVIDIA H200",
            "268,435,456",
            "12 flagship",
            "1 neighbored",
        ] {
            assert!(picture.contains(words), "no {words} in {picture}");
        }
    }

    #[test]
    fn what_is_too_wide_is_laid_out_anew() {
        let printed = "title\n\nkernel  a long  b\n         column\n──────────────────\none        1.50  right\ntwo          12  right\n\nend";
        assert_eq!(fitted(printed, None), printed);
        assert_eq!(fitted(printed, Some(80)), printed);
        let table = Printed::read(
            &["kernel  a long  b", "        column"],
            &["one       1.50  right", "two         12  right"],
        );
        let text = table.to_table().trim_fmt();
        assert!(text.contains("one       1.50  right"), "{text}");
    }

    #[test]
    fn the_gpus_of_an_output_are_those_that_it_names() {
        let gpus = |printed| {
            Output {
                command: "",
                printed,
            }
            .gpus()
        };
        assert_eq!(gpus("n = 7"), GPU);
        assert_eq!(gpus("GPU 0: NVIDIA H200, sm_90, 132 SMs\nn = 7"), GPU);
        assert_eq!(
            gpus(
                "2 devices: GPU 0: NVIDIA H100 80GB HBM3, sm_90; GPU 1: NVIDIA H100 80GB HBM3, sm_90"
            ),
            "2 NVIDIA H100 80GB HBM3"
        );
    }

    #[test]
    fn an_output_is_found_by_its_command_and_subject() {
        let of = outputs("host-lesson", "issue_order");
        assert_eq!(of.len(), 2);
        assert!(of[0].printed.contains("breadth first"));
        assert_eq!(outputs("sweep", "wide_sum_i32").len(), 1);
        assert!(outputs("sweep", "issue_order").is_empty());
    }
}
