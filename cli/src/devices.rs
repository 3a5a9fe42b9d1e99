//! `warpfold devices`: what kernels can run on here.

use super::failure::Failure;
use super::output::{JsonArguments, Output};
use super::show;
use comfy_table::CellAlignment::{Left, Right};
use warpfold::device::{GpuInformation, list};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  warpfold devices --json -")]
pub struct Arguments {
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    let devices = list()?;
    let mut table = show::table(&[
        ("--device", Left),
        ("name", Left),
        ("sm", Right),
        ("cores", Right),
        ("memory", Right),
        ("bandwidth", Right),
        ("L2 cache", Right),
    ]);
    for gpu in &devices.gpus {
        table.add_row([
            format!("gpu:{}", gpu.index),
            gpu.name.clone(),
            gpu.sm.to_string(),
            format!("{} SMs", gpu.multiprocessors),
            show::bytes(gpu.memory_bytes),
            bandwidth(gpu),
            show::bytes(gpu.l2_bytes),
        ]);
    }
    table.add_row([
        "emulator".to_owned(),
        "PTX on this computer".to_owned(),
        String::new(),
        devices.emulator_cores.to_string(),
    ]);
    output.print(show::text(&table))?;
    if let Some(driver) = &devices.driver {
        output.print(format!("\nThe NVIDIA driver supports CUDA {driver}."))?;
    }
    if let Some(reason) = &devices.why_no_gpu {
        output.print(format!("\nNo GPU: {reason}."))?;
    }
    output.write_json(&devices)
}

fn bandwidth(gpu: &GpuInformation) -> String {
    gpu.memory_bytes_per_second.map_or_else(
        || "unknown".to_owned(),
        |peak| format!("{} GB/s", show::significant(peak as f64 / 1e9)),
    )
}
