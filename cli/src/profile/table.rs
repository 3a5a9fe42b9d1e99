//! A profile as text.

use super::measure::Profiled;
use crate::counters::text as value;
use crate::show;
use crate::sources;
use comfy_table::CellAlignment::{self, Left, Right};
use std::collections::BTreeSet;
use warpfold_emulator::{METRICS, Measurements, Metric};

/// The metrics that are shown of each line, where any line has some of it, and their headings.
const LINE_METRICS: [(&str, &str); 9] = [
    ("warp_instructions", "warp\ninstructions"),
    ("active_lanes", "active\nlanes"),
    ("divergent_branches", "divergent\nbranches"),
    ("global_sectors", "global\nsectors"),
    ("global_sectors_excessive", "of them\nexcessive"),
    ("shared_wavefronts", "shared\nwavefronts"),
    ("shared_wavefronts_excessive", "of them\nexcessive"),
    ("atomics_on_one_address", "atomics on\none address"),
    ("barrier_waiting_warps", "waiting\nwarps"),
];

/// The most profiles that stand side by side.
const MOST_COLUMNS: usize = 6;

/// These metrics of every profile: of a few side by side, of many one below the other.
pub fn metrics(profiles: &[Profiled], metrics: &[&'static Metric]) -> String {
    if profiles.len() > MOST_COLUMNS {
        return differences(profiles, metrics);
    }
    let titles: Vec<String> = profiles.iter().map(title).collect();
    let mut columns: Vec<(&str, CellAlignment)> = vec![("metric", Left)];
    columns.extend(titles.iter().map(|title| (title.as_str(), Right)));
    // Who asks for some knows them by name.
    let has_ncu = metrics.len() == METRICS.len();
    if has_ncu {
        columns.push(("in Nsight Compute", Left));
    }
    let mut table = show::table(&columns);
    for metric in metrics {
        let mut row = vec![metric.name.to_owned()];
        row.extend(profiles.iter().map(|profile| value(metric, &profile.total)));
        if has_ncu {
            row.push(metric.ncu.unwrap_or_default().to_owned());
        }
        table.add_row(row);
    }
    let expendable = has_ncu.then_some(columns.len() - 1);
    show::fitted_text(&table, 1, expendable.as_slice())
}

/// The occupancy of each profile, with what it takes into account.
pub fn occupancies(profiles: &[Profiled]) -> String {
    let mut table = show::table(&[
        ("occupancy", Left),
        ("block", Right),
        ("on", Left),
        ("registers", Right),
        ("shared\nmemory", Right),
        ("blocks", Right),
        ("warps", Right),
        ("of its\nwarps", Right),
        ("limited by", Left),
    ]);
    for profile in profiles {
        for residency in &profile.residencies {
            let limits = residency.limited_by.join(", ");
            table.add_row([
                profile.kernel.name().to_owned(),
                profile.block.to_string(),
                format!("sm_{}", residency.sm),
                residency
                    .registers
                    .map_or_else(|| "?".to_owned(), |count| count.to_string()),
                show::bytes(residency.shared_bytes),
                residency.blocks.to_string(),
                format!("{} of {}", residency.warps, residency.most_warps),
                show::percent(residency.percent),
                limits,
            ]);
        }
    }
    let mut text = show::fitted_text(&table, 3, &[]);
    let residencies = || profiles.iter().flat_map(|profile| &profile.residencies);
    if let Some(assembler) = warpfold::ptx::recorded_by()
        && residencies().any(|residency| residency.registers.is_some())
    {
        text += &format!(
            "\nRegisters of a thread as {assembler} gives them; the driver of a GPU may give a few more or fewer."
        );
    }
    if residencies().any(|residency| residency.registers.is_none()) {
        text += "\nWithout registers where there is a ?: their number is decided by a GPU's assembler and is not recorded, and the blocks may be fewer.";
    }
    text
}

/// The lines of a profile that are hottest by a metric.
pub fn lines(profile: &Profiled, sort: &Metric, top: usize) -> String {
    let mut hottest: Vec<&(u32, Measurements)> = profile.lines.iter().collect();
    let heat = |measured: &Measurements| sort.value(measured).unwrap_or(0.0);
    hottest.sort_by(|(_, left), (_, right)| heat(right).total_cmp(&heat(left)));
    hottest.truncate(top);

    let mut shown: Vec<(&Metric, &str)> = LINE_METRICS
        .iter()
        .map(|&(name, title)| {
            let metric = Metric::find(name).expect("each is the name of a metric");
            (metric, title)
        })
        .filter(|(metric, _)| {
            hottest
                .iter()
                .any(|(_, measured)| metric.value(measured) > Some(0.0))
        })
        .collect();
    if shown.iter().all(|(metric, _)| metric.name != sort.name) {
        shown.insert(0, (sort, sort.name));
    }
    let has_sources = hottest
        .iter()
        .any(|(line, _)| profile.kernel.origin(*line).is_some());

    let mut columns = vec![("line", Right)];
    columns.extend(shown.iter().map(|&(_, title)| (title, Right)));
    columns.push(("PTX", Left));
    if has_sources {
        columns.extend([("source", Left), ("", Left)]);
    }
    let mut table = show::table(&columns);
    for (line, measured) in &hottest {
        let mut row = vec![line.to_string()];
        row.extend(shown.iter().map(|(metric, _)| cell(metric, measured)));
        let text = profile.kernel.line_text(*line).unwrap_or_default();
        row.push(text.replace('\t', " "));
        if let Some(origin) = profile.kernel.origin(*line) {
            let (place, text) = sources::of(origin);
            row.extend([place.to_string(), text.unwrap_or_default()]);
        }
        table.add_row(row);
    }
    format!(
        "{}: {} of {} lines, by {}\n{}",
        title(profile).replace('\n', " "),
        hottest.len(),
        profile.lines.len(),
        sort.name,
        show::text(&table)
    )
}

/// One row for each profile: of all metrics, those that are not the same for all profiles; of a choice, every one.
fn differences(profiles: &[Profiled], metrics: &[&'static Metric]) -> String {
    let is_shown = |metric: &&Metric| {
        let values = profiles.iter().map(|profile| value(metric, &profile.total));
        metrics.len() < METRICS.len() || values.collect::<BTreeSet<String>>().len() > 1
    };
    let shown: Vec<&Metric> = metrics.iter().copied().filter(is_shown).collect();
    let headings: Vec<String> = shown
        .iter()
        .map(|metric| metric.name.replace('_', "\n"))
        .collect();
    let mut columns: Vec<(&str, CellAlignment)> = vec![("", Left)];
    columns.extend(headings.iter().map(|heading| (heading.as_str(), Right)));
    let mut table = show::table(&columns);
    for profile in profiles {
        let mut row = vec![title(profile).replace('\n', ", ")];
        row.extend(shown.iter().map(|metric| value(metric, &profile.total)));
        table.add_row(row);
    }
    let text = show::text(&table);
    match metrics.len() - shown.len() {
        0 => text,
        others => format!(
            "{text}\nThe {others} other metrics are the same for all of them; the JSON has every one."
        ),
    }
}

/// The heading of a profile's column.
pub fn title(profile: &Profiled) -> String {
    let parameter = profile
        .parameter
        .map_or_else(String::new, |(name, value)| format!("\n{name} {value}"));
    format!(
        "{}\nblock {}{parameter}",
        profile.kernel.name(),
        profile.block
    )
}

/// A metric of a line; nothing where it is zero, so that what there is stands out.
fn cell(metric: &Metric, measured: &Measurements) -> String {
    match metric.value(measured) {
        None | Some(0.0) => String::new(),
        Some(_) => value(metric, measured),
    }
}
