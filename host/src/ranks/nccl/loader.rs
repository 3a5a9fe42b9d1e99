//! Where there is NCCL: on Linux, for programs of 64 bits.

use super::super::bindings::Api;
use libloading::Library;
use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The names that NCCL is installed under, on the loader's own search path.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// Where Python's wheel of NCCL has it, in a folder of packages.
const IN_PACKAGES: &str = "nvidia/nccl/lib/libnccl.so.2";

pub(super) fn load() -> Result<Api, String> {
    let mut answers = Vec::new();
    for name in NAMES {
        match open(name.as_ref()) {
            Ok(api) => return api,
            Err(answer) => answers.push(answer),
        }
    }
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(std::env::var_os);
    let of_environments = environments.flat_map(|folder| packages_of(Path::new(&folder)));
    // Python is asked only where nothing else is left.
    let mut looked_in = Vec::new();
    for folder in of_environments.chain(std::iter::once_with(packages_of_python).flatten()) {
        let path = folder.join(IN_PACKAGES);
        if path.is_file() {
            match open(path.as_os_str()) {
                Ok(api) => return api,
                Err(answer) => answers.push(answer),
            }
        }
        looked_in.push(folder.display().to_string());
    }
    looked_in.dedup();
    let packages = match &looked_in[..] {
        [] => "no python3 on PATH has folders of packages to look in".to_owned(),
        folders => format!("there is no {IN_PACKAGES} in {}", folders.join(", ")),
    };
    Err(format!(
        "{}; {packages}: install NCCL, or pip install nvidia-nccl-cu12, or let LD_LIBRARY_PATH name its folder",
        answers.join("; ")
    ))
}

/// What the loader says where there is no such library; and a library whose functions cannot be used ends the search.
fn open(name: &OsStr) -> Result<Result<Api, String>, String> {
    // SAFETY: loading runs the library's initialisers. These names are NCCL's, whose initialisers have no preconditions.
    let library = unsafe { Library::new(name) }.map_err(|error| {
        let text = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        if text.contains(&*name.to_string_lossy()) {
            text
        } else {
            format!("{}: {text}", name.to_string_lossy())
        }
    })?;
    // It stays loaded: NCCL's threads may run until the process ends.
    let library = Box::leak(Box::new(library));
    // SAFETY: the library is NCCL's, which gives these names these signatures; it is never closed.
    let api = unsafe {
        Api::of(|name| {
            library
                .get::<*mut std::ffi::c_void>(name.as_bytes())
                .ok()
                .map(|symbol| *symbol)
        })
    };
    Ok(api.map_err(|reason| format!("{}: {reason}", name.to_string_lossy())))
}

/// The folders of packages of an environment.
fn packages_of(environment: &Path) -> Vec<PathBuf> {
    let versions = std::fs::read_dir(environment.join("lib"))
        .into_iter()
        .flatten()
        .flatten();
    let versions = versions.map(|entry| entry.path());
    let pythons = versions.filter(|path| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.starts_with("python3"))
    });
    let mut folders: Vec<PathBuf> = pythons.map(|python| python.join("site-packages")).collect();
    folders.sort();
    folders
}

/// The folders of packages of the `python3` on PATH, as it says itself. Not the current folder, where anybody may put a file.
fn packages_of_python() -> Vec<PathBuf> {
    let program =
        "import sys\nfor folder in sys.path[1:]:\n  if folder.endswith('-packages'): print(folder)";
    let said = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let said = said.map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    said.lines()
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_an_environment_are_found() {
        let environment = tempfile::tempdir().expect("there is room");
        let packages = environment.path().join("lib/python3.12/site-packages");
        std::fs::create_dir_all(&packages).expect("there is room");
        std::fs::create_dir_all(environment.path().join("lib/other")).expect("there is room");
        assert_eq!(packages_of(environment.path()), [packages]);
        assert!(packages_of(Path::new("/no/such/folder")).is_empty());
    }

    #[test]
    fn what_is_no_library_of_nccl_is_told() {
        let answer = open("no-such-library.so.2".as_ref()).expect_err("there is none");
        assert!(answer.starts_with("no-such-library.so.2: "), "{answer}");
        let of_c = open("libc.so.6".as_ref()).expect("it is there");
        let reason = of_c.expect_err("it is not NCCL");
        assert_eq!(reason, "libc.so.6: it has no function ncclGetVersion");
    }

    #[test]
    fn absent_or_there_it_is_said_where() {
        match super::super::api() {
            Ok(api) => println!("NCCL {}", api.version()),
            Err(reason) => {
                println!("no NCCL here, so that no function of it is called: {reason}");
                assert!(
                    reason.contains("libnccl.so.2") && reason.contains("python3"),
                    "{reason}"
                );
            }
        }
    }
}
