//! Where the device runtime is: the library of the CUDA toolkit that kernels need to launch grids.

use crate::device::DeviceError;
use std::path::{Path, PathBuf};
use std::{env, fs};

const LIBRARY: &str = "libcudadevrt.a";
/// Where a toolkit has its libraries.
const IN_TOOLKIT: [&str; 3] = [
    "lib64",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
];
/// Where distributions put them.
const SYSTEM: [&str; 2] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
/// Where the packages for Python have them, in an environment's folder of packages.
const IN_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_runtime/lib"];

/// The library's path.
pub(super) fn find() -> Result<PathBuf, DeviceError> {
    let folders = folders(|name| env::var_os(name).map(PathBuf::from));
    find_in(&folders)
}

fn find_in(folders: &[PathBuf]) -> Result<PathBuf, DeviceError> {
    let mut paths = folders.iter().map(|folder| folder.join(LIBRARY));
    paths.find(|path| path.is_file()).ok_or_else(|| {
        let names = folders.iter().map(|folder| folder.display().to_string());
        DeviceError::NoDeviceRuntime {
            looked_in: names.collect::<Vec<_>>().join(", "),
        }
    })
}

/// The folders to look in, the user's choice first.
fn folders(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(&variable);
    let installed = ["/usr/local/cuda".into()]
        .into_iter()
        .chain(subfolders(Path::new("/usr/local"), "cuda-"));
    let toolkits = named
        .chain(installed)
        .flat_map(|toolkit| IN_TOOLKIT.map(|folder| toolkit.join(folder)));
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(&variable);
    let packages = environments
        .flat_map(|environment| subfolders(&environment.join("lib"), "python3"))
        .flat_map(|python| IN_PACKAGES.map(|folder| python.join("site-packages").join(folder)));
    toolkits
        .chain(SYSTEM.map(PathBuf::from))
        .chain(packages)
        .collect()
}

/// The folders in a folder whose names begin so, the greatest name first.
fn subfolders(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_s_toolkit_comes_first() {
        let folders = folders(|name| (name == "CUDA_HOME").then(|| "/opt/toolkit".into()));
        assert_eq!(folders[0], Path::new("/opt/toolkit/lib64"));
        assert_eq!(
            folders[1],
            Path::new("/opt/toolkit/targets/x86_64-linux/lib")
        );
        assert!(folders.contains(&"/usr/local/cuda/lib64".into()));
    }

    #[test]
    fn it_is_found_in_a_toolkit_and_in_an_environment() {
        let scratch = tempfile::tempdir().unwrap();
        let python = scratch.path().join("lib/python3.12/site-packages");
        for home in [scratch.path().join("lib64"), python.join(IN_PACKAGES[0])] {
            fs::create_dir_all(&home).unwrap();
            let library = home.join(LIBRARY);
            fs::write(&library, "").unwrap();
            let mut folders = folders(|name| {
                let known = ["CUDA_PATH", "VIRTUAL_ENV"].contains(&name);
                known.then(|| scratch.path().to_owned())
            });
            // This machine may have a toolkit as well.
            folders.retain(|folder| folder.starts_with(scratch.path()));
            assert_eq!(find_in(&folders).unwrap(), library);
            fs::remove_file(&library).unwrap();
        }
    }

    #[test]
    fn what_is_missing_is_said_in_one_sentence() {
        let folders = [PathBuf::from("/no/such/lib64"), "/nor/this".into()];
        assert_eq!(
            find_in(&folders).unwrap_err().to_string(),
            "these kernels launch grids, for which a GPU needs the CUDA toolkit's libcudadevrt.a, and it is in none of \
             /no/such/lib64, /nor/this: install the toolkit and set CUDA_HOME to its folder, or use --device emulator"
        );
    }
}
