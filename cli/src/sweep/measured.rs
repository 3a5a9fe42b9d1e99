//! What a sweep has measured, what it has left out, and what has ended it.

use super::contender::Contender;
use crate::figures::LessonFigures;
use serde::Serialize;
use std::mem::{Discriminant, discriminant};
use std::ops::ControlFlow;
use warpfold::device::DeviceError;
use warpfold_course::lesson::LessonError;
use warpfold_course::size::short;

/// The measurements, and what is missing among them.
#[derive(Debug, Default, Serialize)]
pub struct Measured {
    /// The measurements, size by size.
    pub rows: Vec<Row>,
    /// What was not measured.
    pub left_out: Vec<LeftOut>,
    /// What ended the sweep early; `null` where nothing did.
    pub stopped: Option<Stop>,
}

/// One contender at one size.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub id: &'static str,
    /// Number of elements.
    pub n: usize,
    /// Threads of a block; `null` where the library chooses.
    pub block: Option<u32>,
    /// Its figures; `null` if the kernel faulted.
    pub figures: Option<LessonFigures>,
    /// The fault of the kernel, in one sentence.
    pub fault: Option<String>,
}

impl Row {
    /// Whether the kernel ran to its end with the right result.
    pub fn is_right(&self) -> bool {
        let figures = self.figures.as_ref();
        figures.is_some_and(|figures| figures.is_right)
    }
}

/// Sizes that a contender, or the device, does not take.
#[derive(Debug, Serialize)]
pub struct LeftOut {
    /// The contender's name; `null` for all contenders.
    pub id: Option<&'static str>,
    /// The sizes.
    pub sizes: Vec<usize>,
    /// Why, in one sentence about the first of them.
    pub reason: String,
    /// What the reasons for other sizes have in common with this one.
    #[serde(skip)]
    kind: Option<Discriminant<LessonError>>,
}

impl LeftOut {
    /// One sentence.
    pub fn describe(&self) -> String {
        let who = self.id.map_or("all".to_owned(), |id| format!("`{id}`"));
        let sizes: Vec<String> = self.sizes.iter().map(|&n| short(n)).collect();
        format!(
            "left out: {who} at {}, because {}",
            sizes.join(", "),
            self.reason
        )
    }
}

/// The measurement after which the device stopped working.
#[derive(Debug, Serialize)]
pub struct Stop {
    /// The contender's name.
    pub id: &'static str,
    /// Number of elements.
    pub n: usize,
    /// What went wrong, in one sentence.
    pub reason: String,
}

impl Stop {
    /// One sentence.
    pub fn describe(&self) -> String {
        format!(
            "not measured: everything after `{}` at {}, where the device stopped working",
            self.id,
            short(self.n)
        )
    }
}

impl Measured {
    /// Notes the outcome of a run, and breaks if the device has stopped working. A wrong result is a row like any other, and a
    /// contender that is left out is named.
    pub fn note(
        &mut self,
        contender: &Contender,
        n: usize,
        block: u32,
        run: Result<LessonFigures, LessonError>,
    ) -> ControlFlow<()> {
        let id = contender.id();
        let mut row = Row {
            id,
            n,
            block: contender.lesson().map(|_| block),
            figures: None,
            fault: None,
        };
        let stop = |error: &LessonError| Stop {
            id,
            n,
            reason: error.to_string(),
        };
        match run {
            Ok(figures) => row.figures = Some(figures),
            Err(LessonError::Device(error)) if error.is_fault() => {
                row.fault = Some(error.to_string());
                self.stopped = error.ends_device().then(|| stop(&error.into()));
            }
            Err(error) if is_a_limit(&error) => {
                self.leave_out_for(Some(id), n, &error);
                return ControlFlow::Continue(());
            }
            Err(error) => {
                self.stopped = Some(stop(&error));
                return ControlFlow::Break(());
            }
        }
        self.rows.push(row);
        match self.stopped {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    }

    /// Leaves out a contender, or all, because of an error.
    pub fn leave_out_for(&mut self, id: Option<&'static str>, n: usize, error: &LessonError) {
        self.leave_out(id, n, Some(discriminant(error)), error.to_string());
    }

    /// Leaves out a contender, or all. Sizes with the same kind of reason are listed together.
    pub fn leave_out(
        &mut self,
        id: Option<&'static str>,
        n: usize,
        kind: Option<Discriminant<LessonError>>,
        reason: String,
    ) {
        let mut known = self.left_out.iter_mut();
        match known.find(|known| known.id == id && known.kind == kind) {
            Some(known) => known.sizes.push(n),
            None => self.left_out.push(LeftOut {
                id,
                sizes: vec![n],
                reason,
                kind,
            }),
        }
    }
}

/// Whether an error says that a kernel or a device does not take the input, and not that something went wrong.
fn is_a_limit(error: &LessonError) -> bool {
    match error {
        LessonError::Device(error) => matches!(
            error,
            DeviceError::NoRoom { .. }
                | DeviceError::EmulatorMemory(_)
                | DeviceError::InvalidLaunch { .. }
                | DeviceError::NoDeviceRuntime { .. }
                | DeviceError::WaitsOnDevice { .. }
        ),
        _ => true,
    }
}
