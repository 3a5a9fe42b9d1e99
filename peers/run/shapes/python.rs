//! The processes in Python: a file has to be one, because Triton reads the source of its kernels.

use crate::error::PeersError;
use crate::process::Process;
use crate::record::Maker;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use tempfile::TempDir;

/// What is written for Python to run.
const FILES: [(&str, &str); 3] = [
    ("python_peers.py", include_str!("../../python_peers.py")),
    ("python_shapes.py", include_str!("../../python_shapes.py")),
    ("triton_shapes.py", include_str!("../../triton_shapes.py")),
];
/// What takes part, each in a process of its own.
const LIBRARIES: [&str; 4] = ["torch", "CuPy", "Triton", "JAX"];

/// The programs, in a folder that goes with this value.
pub struct Files(TempDir);

impl Files {
    /// Writes them.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub fn new() -> Result<Self, PeersError> {
        let folder = TempDir::new().map_err(|source| PeersError::Write {
            path: std::env::temp_dir(),
            source,
        })?;
        for (name, text) in FILES {
            let path = folder.path().join(name);
            fs::write(&path, text).map_err(|source| PeersError::Write { path, source })?;
        }
        Ok(Self(folder))
    }

    /// Starts a process for each library, with its name. They start side by side: each takes seconds to load its library.
    pub fn start(&self, python: &Path) -> [(&'static str, Result<Process, PeersError>); 4] {
        let start = |name| {
            let mut command = Command::new(python);
            command
                .arg(self.0.path().join("python_shapes.py"))
                .arg(name);
            Process::start(name, Maker::Python, command)
        };
        thread::scope(|scope| {
            let threads = LIBRARIES.map(|name| (name, scope.spawn(move || start(name))));
            threads.map(|(name, thread)| {
                let stopped = |_| {
                    Err(PeersError::Process {
                        name,
                        message: "the thread that starts it was stopped".to_owned(),
                    })
                };
                (name, thread.join().unwrap_or_else(stopped))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library that is not there is left out by its name, and the process that has looked for it goes on.
    #[test]
    fn who_is_not_installed_is_named_with_the_reason() {
        let python = Path::new("python3");
        if Command::new(python).arg("--version").output().is_err() {
            println!("skipped: there is no python3");
            return;
        }
        let files = Files::new().expect("there is room for temporary files");
        let mut names = Vec::new();
        for (name, started) in files.start(python) {
            let mut process = started.expect("it greets");
            assert!(!process.is_gone(), "{name} has ended");
            match &process.left_out[..] {
                [] => assert!(process.versions[0].starts_with(name), "{name}"),
                [missing] => {
                    assert_eq!(missing.name, name);
                    assert!(missing.reason.contains("Error"), "{}", missing.reason);
                }
                more => panic!("{name}: {more:?}"),
            }
            names.push(name);
        }
        assert_eq!(names, LIBRARIES);
    }

    #[test]
    fn a_python_that_is_not_there_leaves_out_all_its_libraries() {
        let files = Files::new().expect("there is room for temporary files");
        for (_, started) in files.start(Path::new("/nowhere/python3")) {
            let error = started.err().expect("it does not start");
            assert!(error.to_string().contains("does not start"), "{error}");
        }
    }
}
