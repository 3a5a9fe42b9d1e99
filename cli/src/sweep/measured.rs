//! What a sweep has measured, what it has left out, and what has ended it.

use super::contender::Contender;
use crate::figures::LessonFigures;
use serde::Serialize;
use std::mem::{Discriminant, discriminant};
use std::ops::ControlFlow;
use warpfold::device::DeviceError;
use warpfold_course::lesson::LessonError;
use warpfold_course::size::short;

/// All of it.
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
    /// What it came to; `null` where the kernel faulted.
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

/// Sizes that a contender does not take, or the machine not with it.
#[derive(Debug, Serialize)]
pub struct LeftOut {
    /// Its name; `null` for everybody.
    pub id: Option<&'static str>,
    /// The sizes.
    pub sizes: Vec<usize>,
    /// Why, in one sentence about the first of them.
    pub reason: String,
    /// What reasons for other sizes have in common with it.
    #[serde(skip)]
    kind: Option<Discriminant<LessonError>>,
}

impl LeftOut {
    /// One sentence.
    pub fn describe(&self) -> String {
        let who = self
            .id
            .map_or("everybody".to_owned(), |id| format!("`{id}`"));
        let sizes: Vec<String> = self.sizes.iter().map(|&n| short(n)).collect();
        format!(
            "left out: {who} at {}, because {}",
            sizes.join(", "),
            self.reason
        )
    }
}

/// Behind what nothing was measured, because the device did no more.
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
            "not measured: whatever comes behind `{}` at {}, where the device came to its end",
            self.id,
            short(self.n)
        )
    }
}

impl Measured {
    /// Notes what a run has come to, and breaks where the device does no more. A wrong result is a row like every other, and who is
    /// left out is named.
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

    /// Leaves somebody out, or everybody, for an error.
    pub fn leave_out_for(&mut self, id: Option<&'static str>, n: usize, error: &LessonError) {
        self.leave_out(id, n, Some(discriminant(error)), error.to_string());
    }

    /// Leaves somebody out, or everybody. The sizes of one kind of reason are put together.
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

/// Whether an error says what a kernel or a machine does not do, and not that something went wrong.
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
