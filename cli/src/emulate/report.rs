//! What `warpfold emulate` prints: the counters, then the sums that were asked for.

use super::arguments::Arguments;
use super::extents::Extents;
use crate::counters::CounterFigures;
use crate::failure::Failure;
use crate::output::Output;
use crate::show;
use comfy_table::CellAlignment::{Left, Right};
use serde::Serialize;
use std::fmt;
use warpfold_course::element::ElementType;
use warpfold_course::number::Number;
use warpfold_emulator::Printed;

/// The results of one launch.
#[derive(Debug, Serialize)]
pub struct Report {
    file: String,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    counters: CounterFigures,
    /// What the kernel's threads printed, block by block.
    printed: String,
    emulated_in_ms: f64,
    sums: Vec<Sum>,
}

/// The sum of one buffer.
#[derive(Debug, Serialize)]
struct Sum {
    argument: usize,
    element_type: &'static str,
    sum: Total,
}

/// A total in which nothing wraps around.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Total {
    /// Of integers: exact.
    Integer(i128),
    /// Of floats: added in f64, first to last.
    Float(f64),
}

impl fmt::Display for Total {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(total) => write!(formatter, "{total}"),
            // With its decimal point, so that a float is seen to be one.
            Self::Float(total) => write!(formatter, "{total:?}"),
        }
    }
}

/// Shows what a kernel printed.
pub fn show_printed(printed: &Printed, output: &Output) -> Result<(), Failure> {
    let text = printed.text();
    if !text.is_empty() {
        output.print(text.trim_end_matches('\n'))?;
        output.print("")?;
    }
    if printed.is_cut() {
        output.print("(more was printed, but only one mebibyte of it is kept)\n")?;
    }
    Ok(())
}

impl Report {
    /// A report without sums.
    pub fn new(
        arguments: &Arguments,
        counters: CounterFigures,
        printed: &Printed,
        emulated_in_ms: f64,
    ) -> Self {
        Self {
            file: arguments.file.display().to_string(),
            kernel: arguments.kernel.clone(),
            grid: arguments.grid.0,
            block: arguments.block.0,
            dynamic_shared_bytes: arguments.shared,
            counters,
            printed: printed.text(),
            emulated_in_ms,
            sums: Vec::new(),
        }
    }

    /// Adds the sum of the buffer that is argument `index`.
    pub fn add_sum(&mut self, index: usize, element_type: ElementType, bytes: &[u8]) {
        self.sums.push(Sum {
            argument: index,
            element_type: element_type.name(),
            sum: total(element_type, bytes),
        });
    }

    /// Prints the report.
    pub fn print(&self, output: &Output) -> Result<(), Failure> {
        let shape = |[x, y, z]: [u32; 3]| Extents([x, y, z]).to_string();
        output.print(format!(
            "{} · grid {} · block {} · emulated in {}",
            self.kernel,
            shape(self.grid),
            shape(self.block),
            show::milliseconds(self.emulated_in_ms)
        ))?;
        output.print("")?;
        let mut table = show::table(&[("counter", Left), ("value", Right)]);
        for (name, value) in self.counters.rows() {
            table.add_row([name, &value]);
        }
        output.print(show::text(&table))?;
        if !self.sums.is_empty() {
            output.print("")?;
        }
        for sum in &self.sums {
            output.print(format!("sum[{}] = {}", sum.argument, sum.sum))?;
        }
        output.write_json(self)
    }
}

/// The sum of a buffer's elements.
fn total(element_type: ElementType, bytes: &[u8]) -> Total {
    let numbers = bytes
        .chunks_exact(element_type.bytes())
        .filter_map(|element| element_type.number(element));
    match element_type.integer_range() {
        Some(_) => Total::Integer(numbers.filter_map(Number::to_integer).sum()),
        None => Total::Float(
            numbers
                .filter_map(Number::to_float)
                .fold(0.0, |sum, number| sum + number),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_added_exactly() {
        let bytes = u64::MAX.to_le_bytes().repeat(3);
        assert_eq!(
            total(ElementType::U64, &bytes).to_string(),
            "55340232221128654845"
        );
        assert_eq!(total(ElementType::I64, &bytes), Total::Integer(-3));
        assert_eq!(total(ElementType::U8, &[255, 255]), Total::Integer(510));
        assert_eq!(total(ElementType::I8, &[255, 255]), Total::Integer(-2));
    }

    #[test]
    fn floats_are_added_in_f64() {
        let bytes = [16777216_f32, 1.0, 1.0].map(f32::to_le_bytes).concat();
        assert_eq!(total(ElementType::F32, &bytes).to_string(), "16777218.0");
        assert_eq!(total(ElementType::F64, &[]).to_string(), "0.0");
    }
}
