//! What a check has found, as text and as JSON.

use super::subjects::describe_launch;
use crate::failure::Failure;
use crate::sources;
use serde::Serialize;
use std::collections::BTreeSet;
use warpfold_course::check::Subject;
use warpfold_emulator::{Finding, Kernel, Launch, Origin, Place, SourcePlace};

/// Everything that the command found.
#[derive(Serialize)]
pub struct Report {
    name: String,
    tools: Vec<&'static str>,
    schedules: usize,
    launches: Vec<Checked>,
}

/// One launch and its findings.
#[derive(Serialize)]
pub struct Checked {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    /// The value of the lesson's parameter, if it has one.
    parameter: Option<u32>,
    findings: Vec<FindingFigures>,
    #[serde(skip)]
    launch: Launch,
    #[serde(skip)]
    setting: String,
}

/// One finding.
#[derive(Serialize)]
struct FindingFigures {
    tool: &'static str,
    kind: &'static str,
    message: String,
    count: u64,
    ends_launch: bool,
    memory: Option<MemoryFigures>,
    places: Vec<PlaceFigures>,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct MemoryFigures {
    space: &'static str,
    address: u64,
    bytes: u32,
    /// The argument whose buffer this is in, counted from 0, and where in it.
    argument: Option<usize>,
    offset: Option<u64>,
}

#[derive(Serialize)]
struct PlaceFigures {
    does: &'static str,
    block: [u32; 3],
    thread: [u32; 3],
    ptx_line: u32,
    ptx: String,
    source: Option<SourceFigures>,
    caller: Option<SourceFigures>,
}

#[derive(Serialize)]
struct SourceFigures {
    file: String,
    line: u32,
}

/// What makes a finding the same in another launch: its kind and the lines.
pub type Identity = (&'static str, &'static str, Vec<u32>);

impl Report {
    /// A report without launches.
    pub fn new(name: &str, tools: Vec<&'static str>, schedules: usize) -> Self {
        Self {
            name: name.to_owned(),
            tools,
            schedules,
            launches: Vec::new(),
        }
    }

    /// Adds a launch.
    pub fn add(&mut self, checked: Checked) {
        self.launches.push(checked);
    }

    /// What the process ends with.
    pub fn verdict(&self) -> Result<(), Failure> {
        let findings: usize = self
            .launches
            .iter()
            .map(|launch| launch.findings.len())
            .sum();
        match findings {
            0 => Ok(()),
            1 => Err(Failure::Finding(format!("`{}` has a finding", self.name))),
            _ => Err(Failure::Finding(format!(
                "`{}` has {findings} findings",
                self.name
            ))),
        }
    }
}

impl Checked {
    /// What was found in a launch, of a lesson with this parameter and value.
    pub fn new(
        subject: &Subject,
        parameter: Option<(&'static str, u32)>,
        findings: Vec<Finding>,
    ) -> Self {
        let launch = *subject.launch();
        Self {
            kernel: subject.kernel().name().to_owned(),
            grid: launch.grid,
            block: launch.block,
            parameter: parameter.map(|(_, value)| value),
            findings: findings
                .into_iter()
                .map(|finding| FindingFigures::new(subject, finding))
                .collect(),
            launch,
            setting: parameter
                .map_or_else(String::new, |(name, value)| format!(", {name} {value}")),
        }
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// One line on the launch.
    pub fn headline(&self) -> String {
        let verdict = match self.findings.len() {
            0 => "clean".to_owned(),
            1 => "1 finding".to_owned(),
            count => format!("{count} findings"),
        };
        let (launch, setting) = (describe_launch(&self.launch), &self.setting);
        format!("{launch}{setting}: {verdict}")
    }

    /// Whether anything was found that is not among what has been shown; adds it there.
    pub fn is_news(&self, shown: &mut BTreeSet<Identity>) -> bool {
        // All of them have to be added, so no short cut.
        let new = self
            .findings
            .iter()
            .filter(|finding| shown.insert(finding.identity()))
            .count();
        new > 0 || self.is_clean()
    }

    /// The findings, at most `limit` of each tool; what neighbours all say is said once.
    pub fn text(&self, limit: usize) -> String {
        let mut paragraphs = Vec::new();
        for findings in self.findings.chunk_by(|one, next| one.tool == next.tool) {
            let (shown, rest) = findings.split_at(limit.min(findings.len()));
            for (index, finding) in shown.iter().enumerate() {
                let next = shown.get(index + 1);
                let message = match next {
                    Some(next) if next.message == finding.message => String::new(),
                    _ => format!("  {}\n", finding.message),
                };
                paragraphs.push(format!("{}{message}", finding.text));
            }
            if let Some(first) = rest.first() {
                let (more, tool) = (rest.len(), first.tool);
                paragraphs.push(format!("{tool}: {more} more (--limit shows them)\n"));
            }
        }
        sources::quoted(paragraphs.join("\n").trim_end())
    }
}

impl FindingFigures {
    fn new(subject: &Subject, finding: Finding) -> Self {
        let place = subject.argument_of(&finding);
        let shown = finding.to_string();
        let mut text = shown
            .strip_suffix(&finding.message)
            .unwrap_or(&shown)
            .trim_end_matches(' ')
            .to_owned();
        if let Some((argument, offset)) = place {
            let name = match parameter_name(subject.kernel(), &finding, argument) {
                Some(name) => format!("`{name}`"),
                None => format!("argument {argument}"),
            };
            text += &format!("  the address is in {name}, at byte {offset}\n");
        }
        Self {
            tool: finding.tool.name(),
            kind: finding.kind,
            count: finding.count,
            ends_launch: finding.ends_launch,
            memory: finding.memory.map(|memory| MemoryFigures {
                space: memory.space.name(),
                address: memory.address,
                bytes: memory.bytes,
                argument: place.map(|(argument, _)| argument),
                offset: place.map(|(_, offset)| offset),
            }),
            places: finding.places.into_iter().map(PlaceFigures::new).collect(),
            message: finding.message,
            text,
        }
    }

    fn identity(&self) -> Identity {
        let lines = self.places.iter().map(|place| place.ptx_line);
        (self.tool, self.kind, lines.collect())
    }
}

/// What a parameter of a kernel is called in its source, as far as a place of the finding or a branch of the kernel says where that is.
fn parameter_name(kernel: &Kernel, finding: &Finding, index: usize) -> Option<String> {
    let of_places = finding
        .places
        .iter()
        .filter_map(|place| place.origin.clone());
    let of_branches = kernel
        .branches()
        .filter_map(|(line, _)| kernel.origin(line));
    let mut origins = of_places.chain(of_branches);
    origins.find_map(|origin| {
        let files = [Some(&origin.own), origin.inlined.as_ref()];
        let mut files = files.into_iter().flatten();
        files.find_map(|place| sources::parameter(&place.file, kernel.name(), index))
    })
}

impl PlaceFigures {
    fn new(place: Place) -> Self {
        let source = |place: SourcePlace| SourceFigures {
            file: place.file,
            line: place.line,
        };
        let (at, caller) = match place.origin {
            Some(Origin {
                own,
                inlined: Some(inlined),
            }) => (Some(inlined), Some(own)),
            Some(Origin { own, inlined: None }) => (Some(own), None),
            None => (None, None),
        };
        Self {
            does: place.does,
            block: place.block,
            thread: place.thread,
            ptx_line: place.line,
            ptx: place.text,
            source: at.map(source),
            caller: caller.map(source),
        }
    }
}
