//! Where results go: text on standard output, and JSON where `--json` says.

use super::failure::Failure;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The option `--json`, of every command that prints a table.
#[derive(Clone, clap::Args, Debug, Default)]
pub struct JsonArguments {
    /// Also write the results as JSON to FILE; with `-`, print JSON and nothing else
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// The two channels of a command's results.
#[derive(Debug)]
pub struct Output {
    json: Option<PathBuf>,
    /// Whether the reader of standard output has closed it. What is still to do is done: the JSON is written, and the exit status is that of the
    /// results.
    is_closed: AtomicBool,
}

impl Output {
    /// Output as `--json` asks for it.
    ///
    /// # Errors
    /// The folder of the JSON file does not exist. This is checked before a long run, not after it.
    pub fn new(arguments: &JsonArguments) -> Result<Self, Failure> {
        let json = arguments.json.clone();
        if let Some(path) = &json {
            check_folder(path)?;
        }
        Ok(Self {
            json,
            is_closed: AtomicBool::new(false),
        })
    }

    /// Refuses to write the JSON over a file that the command reads. This is checked before a long run, not after it.
    pub fn check_inputs<'a>(
        &self,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Failure> {
        let Some(Ok(json)) = self.json.as_deref().map(Path::canonicalize) else {
            return Ok(());
        };
        let is_json = |input: &&Path| input.canonicalize().is_ok_and(|input| input == json);
        match inputs.into_iter().find(is_json) {
            Some(input) => Err(Failure::Input(format!(
                "{} is read, and the JSON would overwrite it; give --json another name",
                input.display()
            ))),
            None => Ok(()),
        }
    }

    /// Whether standard output belongs to the JSON.
    pub fn is_json_only(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Prints text and a line end, unless standard output belongs to the JSON.
    pub fn print(&self, text: impl Display) -> Result<(), Failure> {
        if self.is_json_only() || self.is_closed.load(Relaxed) {
            return Ok(());
        }
        match print(text) {
            Err(Failure::OutputClosed) => {
                self.is_closed.store(true, Relaxed);
                Ok(())
            }
            printed => printed,
        }
    }

    /// Writes the results as JSON, if `--json` asked for it.
    pub fn write_json(&self, results: &impl Serialize) -> Result<(), Failure> {
        let Some(path) = &self.json else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(results)
            .map_err(|error| Failure::Input(format!("the results have no JSON form: {error}")))?;
        if self.is_json_only() {
            match print(text) {
                Err(Failure::OutputClosed) => Ok(()),
                printed => printed,
            }
        } else {
            write_file(path, format!("{text}\n").as_bytes())
        }
    }
}

/// Prints text and a line end on standard output.
pub fn print(text: impl Display) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{text}").map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Input(format!("cannot write to standard output: {error}")),
    })
}

/// Checks that the folder exists in which a file will be written later.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "cannot write {}: there is no folder {}; create it first",
        path.display(),
        folder.display()
    )))
}

/// Writes a file under a temporary name and renames it, so that nobody ever sees half of it.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    write_renamed(path, contents)
        .map_err(|error| Failure::Input(format!("cannot write {}: {error}", path.display())))
}

fn write_renamed(path: &Path, contents: &[u8]) -> io::Result<()> {
    // A device or a pipe is written to, not replaced by a file.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, contents);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".warpfold-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of an ordinary new file; the process's umask removes some of them.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder_of(path))?;
    file.write_all(contents)?;
    file.persist(path)?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
