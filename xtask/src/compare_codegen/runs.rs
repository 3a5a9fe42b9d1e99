//! What a kernel does when it runs, as `warpfold run` tells it. That program is started, not linked, because it embeds the PTX
//! that this one writes.

use std::env;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use warpfold_kernels::catalogue::{Lesson, Variant};

use super::error::CompareError;
use crate::failure::io;

/// What the kernels run on.
#[derive(clap::Args)]
pub(super) struct Workload {
    /// Number of elements, as `warpfold run` takes it.
    #[arg(short, default_value = "2^20")]
    n: String,
    /// Where to run, as `warpfold run` takes it.
    #[arg(long, default_value = "auto")]
    device: String,
}

/// What one run gives: counters on the emulator, a time on a GPU.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Warp instructions executed.
    pub(super) warp_instructions: Option<u64>,
    /// The share of branches at which a warp stayed together.
    pub(super) branch_efficiency_percent: Option<f64>,
    /// Bytes loaded from global memory.
    pub(super) global_load_bytes: Option<u64>,
    /// Bytes stored to global memory.
    pub(super) global_store_bytes: Option<u64>,
    /// The median time on a GPU.
    pub(super) elapsed_ms: Option<f64>,
}

impl Workload {
    /// One line on it.
    pub(super) fn describe(&self) -> String {
        format!("{} elements on device {}", self.n, self.device)
    }

    /// Runs a lesson from the PTX in a folder.
    ///
    /// # Errors
    /// `warpfold` does not start, or fails: its own sentence.
    pub(super) fn run(
        &self,
        repository: &Path,
        lesson: &Lesson,
        variant: Variant,
        ptx_folder: &Path,
    ) -> Result<Figures, CompareError> {
        let block = variant.block.to_string();
        let reduction = lesson.reduction();
        // A lesson of one block takes no more than that.
        let most = reduction.and_then(|reduction| reduction.most_elements(variant));
        let n = most.map_or_else(|| self.n.clone(), |most| most.to_string());
        let mut arguments = vec!["run", lesson.id, "--block", &block, "-n", &n];
        arguments.extend(["--device", &self.device, "--json", "-"]);
        let parameter = lesson.parameter.zip(variant.parameter);
        let setting = parameter.map(|(parameter, value)| format!("{}={value}", parameter.name));
        if let Some(setting) = &setting {
            arguments.extend(["--set", setting]);
        }
        let command_line = format!("warpfold {}", arguments.join(" "));
        let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["run", "--quiet", "--release", "--package", "warpfold", "--"])
            .args(&arguments)
            .arg("--ptx-dir")
            .arg(ptx_folder)
            .current_dir(repository)
            .output()
            .map_err(io(format!("run `{command_line}`")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(CompareError::Warpfold {
                command: command_line,
                message: said.lines().last().unwrap_or_default().to_owned(),
            });
        }
        serde_json::from_slice(&output.stdout)
            .map(|report| Figures::of(&report))
            .map_err(|error| CompareError::Warpfold {
                command: command_line,
                message: error.to_string(),
            })
    }
}

impl Figures {
    /// The figures in a report of `warpfold run --json`.
    fn of(report: &Value) -> Self {
        let counters = &report["emulator"]["counters"];
        Self {
            warp_instructions: counters["warp_instructions"].as_u64(),
            branch_efficiency_percent: counters["branch_efficiency_percent"].as_f64(),
            global_load_bytes: counters["global_load_bytes"].as_u64(),
            global_store_bytes: counters["global_store_bytes"].as_u64(),
            elapsed_ms: report["gpu"]["elapsed_ms"].as_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_gpu_gives_a_time_and_the_emulator_counters() {
        let on_gpu = Figures::of(&json!({"gpu": {"elapsed_ms": 0.25}, "emulator": null}));
        assert_eq!(on_gpu.elapsed_ms, Some(0.25));
        assert_eq!(on_gpu.warp_instructions, None);
        let counters = json!({"warp_instructions": 7, "branch_efficiency_percent": 98.5,
            "global_load_bytes": 40, "global_store_bytes": 4});
        let emulated = Figures::of(&json!({"gpu": null, "emulator": {"counters": counters}}));
        let expected = Figures {
            warp_instructions: Some(7),
            branch_efficiency_percent: Some(98.5),
            global_load_bytes: Some(40),
            global_store_bytes: Some(4),
            elapsed_ms: None,
        };
        assert_eq!(emulated, expected);
    }
}
