//! All values of one or several files, reduced to one result of each operator: through the [ring](super::ring), on the cores or on devices.

use super::arguments::Arguments;
use super::operators::{Shown, refuse_nothing, refuse_other_order};
use super::ring::{Alone, Dealer, OnDevices, Outcome, Size, on_cores, on_devices};
use crate::device::describe_each;
use crate::failure::Failure;
use crate::output::Output;
use crate::show;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use warpfold::{Device, DeviceChoice};
use warpfold_dynamic::{CHUNK, Reduction, Results, TypeName};
use warpfold_input::comes_in_pieces;
use warpfold_input::found::Found;

/// Bytes of a piece on GPUs.
const PIECE_OF_GPUS: usize = 8 << 20;
/// On the cores: a thread's caches hold it until it has been reduced.
const PIECE_OF_CORES: usize = 1 << 20;
/// On the emulator, which takes longer for each.
const PIECE_EMULATED: usize = 1 << 20;
/// Of fewer bytes nobody asks what limits them.
const WORTH_A_LIMIT: u64 = 1 << 20;

/// What the command writes as JSON.
#[derive(Serialize)]
struct Report<'a> {
    /// The first file.
    file: String,
    files: Vec<String>,
    /// The column's cell in the header of a table, or the name of an array, where the first file has one.
    column: Option<String>,
    element_type: &'static str,
    n: u64,
    bytes: u64,
    device: String,
    /// The result, where there is one operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Shown>,
    /// The result of each operator.
    results: BTreeMap<&'static str, &'a Shown>,
    elapsed_ms: f64,
    /// What took the longest: the page cache, the disk, text and compressed data, the link to the devices, the devices or the cores.
    limit: &'static str,
    reading: Reading,
    /// Of GPUs: what a copy alone from the ring to all of them at once is worth, in GB/s, and how much of it the run came to.
    copy_alone_gigabytes_per_second: Option<f64>,
    share_of_copy: Option<f64>,
}

/// How the values were read.
#[derive(Serialize)]
struct Reading {
    threads: usize,
    /// All slots together.
    ring_bytes: usize,
    /// Bytes that were in the system's cache before, or in small files, of which that is not asked.
    from_cache_bytes: u64,
    /// Bytes that were not, and were read through the cache.
    through_cache_bytes: u64,
    /// Bytes that were not, and were read past it by `O_DIRECT`.
    direct_bytes: u64,
    /// How long each thread has waited for room, and each device for values, on the average. On the cores: how long each thread has reduced
    /// what it had read, and how long it has read.
    waited_for_room_ms: f64,
    waited_for_values_ms: f64,
    /// Reading alone, in GB/s, of the end of the files: by the same threads, before the rest.
    from_cache_alone_gigabytes_per_second: Option<f64>,
    through_cache_alone_gigabytes_per_second: Option<f64>,
    direct_alone_gigabytes_per_second: Option<f64>,
    /// How much of reading alone the run came to; `None` where that was not measured.
    share_of_reading: Option<f64>,
}

/// What a run has used.
struct Used {
    size: Size,
    alone: Alone,
    device: String,
    is_emulated: bool,
    copy: Option<f64>,
}

/// Runs the command.
pub(super) fn run(
    arguments: &Arguments,
    paths: &[PathBuf],
    choices: &[DeviceChoice],
    output: &Output,
) -> Result<(), Failure> {
    let asked = arguments.asked();
    let refuse =
        |path: &Path, found: &Found| refuse_other_order(arguments, path, found.is_reordered);
    let mut dealer = Dealer::new(paths, asked, &refuse)?;
    let element_type = dealer.element_type();
    let most = dealer.most_bytes();
    let piece = piece_bytes(arguments, element_type, choices, most);
    let size = match choices.len() {
        0 => Size::of_cores(piece, most),
        devices => Size::of_devices(piece, devices, most),
    };
    let memory: Result<Vec<_>, Failure> = (0..size.rings).map(|_| size.memory()).collect();
    let mut memory = memory?;
    let alone = Alone::measure(size, &mut memory, (paths, asked), arguments.compare_read);
    dealer.set_out(size.piece, alone.faster());
    let column = dealer.name().map(str::to_owned);
    let dealer = Mutex::new(dealer);
    let bar = progress_bar(paths)?;
    let progress = |bytes| bar.inc(bytes);
    let (operators, mut used) = (
        &arguments.operators,
        Used {
            size,
            alone,
            device: format!("cpu: {} threads", size.threads_of_cores()),
            is_emulated: choices.contains(&DeviceChoice::Emulator),
            copy: None,
        },
    );
    let (results, outcome) = if choices.is_empty() {
        let mut reduction = Reduction::new(element_type, operators);
        let of_parts = Reduction::new(element_type, operators);
        let each = (size.piece / element_type.bytes()) as u64;
        let outcome = on_cores(
            size,
            &mut memory[0],
            &dealer,
            |number, values| of_parts.part(values, number * each),
            |part| reduction.join(part),
            &progress,
        )?;
        (reduction.finish(), outcome)
    } else {
        let task = OnDevices {
            choices,
            element_type,
            operators,
            open: &|choice| Ok(Device::open(&choice)?),
        };
        let done = on_devices(size, &mut memory, &dealer, &task, &progress)?;
        used.device = describe_each(done.descriptions);
        used.copy = done.copy;
        (done.results, done.outcome)
    };
    bar.finish_and_clear();
    if let Some(failure) = outcome.failure {
        let n = outcome.bytes / element_type.bytes() as u64;
        let files = (outcome.files, paths.len());
        return Err(with_what_is_done(arguments, failure, files, n, results));
    }
    let n = outcome.bytes / element_type.bytes() as u64;
    refuse_nothing(arguments, &paths[0], n as usize)?;
    let shown: Vec<Shown> = results.into_iter().map(Shown::one).collect();
    let names = operators.iter().map(|operator| operator.name());
    let report = Report {
        file: paths[0].display().to_string(),
        files: paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        column,
        element_type: element_type.name(),
        n,
        bytes: outcome.bytes,
        limit: used.limit(&outcome),
        reading: used.reading(&outcome),
        copy_alone_gigabytes_per_second: used.copy.map(|copy| copy / 1e9),
        share_of_copy: used.share_of_copy(&outcome),
        device: used.device,
        result: if let [result] = &shown[..] {
            Some(result)
        } else {
            None
        },
        results: names.zip(&shown).collect(),
        elapsed_ms: outcome.elapsed.as_secs_f64() * 1e3,
    };
    print(&report, arguments, &shown, output)?;
    output.write_json(&report)
}

/// The bytes of a piece: whole chunks of the fixed order, or what `--chunk` asks for.
fn piece_bytes(
    arguments: &Arguments,
    element_type: TypeName,
    choices: &[DeviceChoice],
    most: Option<u64>,
) -> usize {
    let chunk = CHUNK * element_type.bytes();
    let piece = match arguments.chunk {
        Some(values) => values.div_ceil(CHUNK).saturating_mul(chunk),
        None if choices.is_empty() => PIECE_OF_CORES,
        None if choices.contains(&DeviceChoice::Emulator) => PIECE_EMULATED,
        None => PIECE_OF_GPUS,
    };
    // What all values fit into is enough.
    let most = most.and_then(|most| usize::try_from(most).ok());
    let all = most.and_then(|most| most.max(1).checked_next_multiple_of(chunk));
    all.map_or(piece, |all| piece.min(all))
}

/// A bar over the bytes of all files, on a terminal, where their lengths are those of their values.
pub(super) fn progress_bar(paths: &[PathBuf]) -> Result<ProgressBar, Failure> {
    let lengths: Option<u64> = paths
        .iter()
        .map(|path| {
            let file = path.metadata().ok().filter(|file| file.is_file())?;
            comes_in_pieces(path).then_some(file.len())
        })
        .sum();
    let template = match lengths {
        Some(_) => {
            "{wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left"
        }
        None => "{binary_bytes}, {binary_bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(template).map_err(Failure::input)?;
    Ok(ProgressBar::new(lengths.unwrap_or_default()).with_style(style))
}

/// A failure, with the results of the values before it.
fn with_what_is_done(
    arguments: &Arguments,
    failure: Failure,
    (files, of): (usize, usize),
    n: u64,
    results: Vec<Box<dyn Results>>,
) -> Failure {
    let Failure::Input(sentence) = failure else {
        return failure;
    };
    if n == 0 {
        return Failure::Input(sentence);
    }
    let results: Vec<String> = (arguments.operators.iter())
        .zip(results)
        .map(|(operator, results)| format!("{operator} = {}", Shown::one(results)))
        .collect();
    let files = match (files, of) {
        (_, 1) => String::new(),
        _ => format!("of {files} of {of} files and "),
    };
    Failure::Input(format!(
        "{sentence}; a partial result, {files}of the {} values before: {}",
        show::count(n),
        results.join(", ")
    ))
}

impl Used {
    /// What everything else has waited for.
    fn limit(&self, outcome: &Outcome) -> &'static str {
        let came = outcome.came;
        if outcome.waited_for_values >= outcome.waited_for_room {
            return if 2 * came.all() < outcome.bytes {
                "the reading of text or compressed data"
            } else if 2 * came.cached >= came.all() {
                "the page cache"
            } else {
                "the disk"
            };
        }
        match self.share_of_copy(outcome) {
            Some(share) if share >= 0.7 => "the link to the GPUs",
            Some(_) => "the GPUs",
            None if self.is_emulated => "the emulator",
            None => "the cores",
        }
    }

    fn share_of_copy(&self, outcome: &Outcome) -> Option<f64> {
        let speed = outcome.bytes as f64 / outcome.elapsed.as_secs_f64();
        self.copy.map(|copy| speed / copy)
    }

    fn reading(&self, outcome: &Outcome) -> Reading {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let gigabytes = |speed: Option<f64>| speed.map(|speed| speed / 1e9);
        let came = outcome.came;
        let has_streamed = came.all() < outcome.bytes;
        let alone = self.alone.time_of(came).filter(|_| !has_streamed);
        Reading {
            threads: self.size.readers,
            ring_bytes: self.size.bytes(),
            from_cache_bytes: came.cached,
            through_cache_bytes: came.through,
            direct_bytes: came.past,
            waited_for_room_ms: milliseconds(outcome.waited_for_room),
            waited_for_values_ms: milliseconds(outcome.waited_for_values),
            from_cache_alone_gigabytes_per_second: gigabytes(self.alone.cached),
            through_cache_alone_gigabytes_per_second: gigabytes(self.alone.through),
            direct_alone_gigabytes_per_second: gigabytes(self.alone.past),
            share_of_reading: alone
                .map(|alone| alone.as_secs_f64() / outcome.elapsed.as_secs_f64()),
        }
    }
}

fn print(
    report: &Report<'_>,
    arguments: &Arguments,
    shown: &[Shown],
    output: &Output,
) -> Result<(), Failure> {
    output.print(&report.device)?;
    let column = report.column.as_ref();
    let column = column.map_or_else(String::new, |column| format!(", column '{column}'"));
    let files = match &report.files[..] {
        [file] => format!("{file}{column}"),
        [first, .., last] => format!(
            "{} files, from {first} to {last}{column}",
            report.files.len()
        ),
        [] => String::new(),
    };
    output.print(format!(
        "{files}: {} × {} ({})\n",
        show::count(report.n),
        report.element_type,
        show::bytes(report.bytes)
    ))?;
    for (operator, results) in arguments.operators.iter().zip(shown) {
        output.print(format!("{operator} = {results}"))?;
    }
    let speed = show::significant(report.bytes as f64 / (report.elapsed_ms * 1e6));
    let elapsed = show::milliseconds(report.elapsed_ms);
    if report.bytes < WORTH_A_LIMIT {
        return output.print(format!("{elapsed} · {speed} GB/s with reading"));
    }
    output.print(format!(
        "{elapsed} · {speed} GB/s with reading, limited by {}",
        report.limit
    ))?;
    let reading = &report.reading;
    let ways = [
        ("from the page cache", reading.from_cache_bytes),
        (
            "from the disk through the cache",
            reading.through_cache_bytes,
        ),
        (
            "from the disk past the cache (O_DIRECT)",
            reading.direct_bytes,
        ),
    ];
    let ways: Vec<String> = ways
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(way, bytes)| format!("{} {way}", show::bytes(*bytes)))
        .collect();
    if !ways.is_empty() {
        output.print(format!(
            "read by {} threads: {}",
            reading.threads,
            ways.join(", ")
        ))?;
    }
    if let Some(share) = reading.share_of_reading {
        let alone = [
            ("cached", reading.from_cache_alone_gigabytes_per_second),
            (
                "through the cache",
                reading.through_cache_alone_gigabytes_per_second,
            ),
            ("O_DIRECT", reading.direct_alone_gigabytes_per_second),
        ];
        let alone: Vec<String> = alone
            .iter()
            .filter_map(|(way, speed)| Some(format!("{way} {}", show::significant((*speed)?))))
            .collect();
        output.print(format!(
            "{:.0} % of reading alone, measured before on the end of the files (GB/s: {})",
            100.0 * share,
            alone.join(", ")
        ))?;
    }
    if let (Some(copy), Some(share)) =
        (report.copy_alone_gigabytes_per_second, report.share_of_copy)
    {
        output.print(format!(
            "{:.0} % of copying alone to the GPUs ({} GB/s)",
            100.0 * share,
            show::significant(copy)
        ))?;
    }
    Ok(())
}
