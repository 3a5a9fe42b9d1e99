//! What a record says of the machine, and how it is written.

use crate::error::PeersError;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;
use warpfold::Device;

/// The time, in UTC.
pub fn date() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// The driver's own version, where `nvidia-smi` tells it, and that of CUDA.
pub fn driver(cuda: &str) -> String {
    let asked = Command::new("nvidia-smi")
        .args([
            "--query-gpu=driver_version",
            "--format=csv,noheader",
            "--id=0",
        ])
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            format!(
                "{} (CUDA {cuda})",
                String::from_utf8_lossy(&output.stdout).trim()
            )
        }
        _ => format!("CUDA {cuda}"),
    }
}

/// What the memory gives by its data sheet.
pub fn datasheet(device: &Device) -> Option<f64> {
    let bytes_per_second = device.gpu_information()?.memory_bytes_per_second?;
    Some(bytes_per_second as f64 / 1e9)
}

/// Writes a record under a temporary name, and renames it.
pub fn write(path: &Path, record: &impl Serialize) -> Result<(), PeersError> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let failed = |source| PeersError::Write {
        path: path.to_owned(),
        source,
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of an ordinary new file; the process's mask takes its share away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    serde_json::to_writer_pretty(&mut file, record).map_err(|error| failed(error.into()))?;
    writeln!(file).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
