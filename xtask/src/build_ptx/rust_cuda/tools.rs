//! What a machine must have to build with rust-cuda: one nightly, CUDA with libNVVM, and LLVM 7.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::NvvmArch;

use super::toolchain_file::ToolchainFile;
use crate::build_ptx::missing::{LEAST_CUDA, LLVM, Missing};

/// What was found where nothing is missing.
#[derive(Debug)]
pub(super) struct Tools {
    /// The rustup toolchain.
    pub(super) toolchain: String,
    /// The root of the CUDA toolkit.
    pub(super) cuda: PathBuf,
    /// Its version: `12.8`.
    cuda_version: String,
    /// LLVM 7's `llvm-config`.
    pub(super) llvm_config: PathBuf,
    /// Its version: `7.1.0`.
    llvm_version: String,
}

/// The revision that `rust-cuda/Cargo.toml` names.
const REVISION: &str = "946c91f";

/// `rust-cuda 946c91f, nightly-2026-04-02, LLVM 7.1.0, CUDA 12.8`.
impl fmt::Display for Tools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "rust-cuda {REVISION}, {}, LLVM {}, CUDA {}",
            self.toolchain, self.llvm_version, self.cuda_version
        )
    }
}

/// The first whose libNVVM no longer compiles for compute_70.
const FIRST_WITHOUT_70: u32 = 13;

impl Tools {
    /// Looks for everything that it takes to build for these architectures.
    ///
    /// # Errors
    /// All that is missing, not only the first.
    pub(super) fn check(
        toolchain: &ToolchainFile,
        architectures: &[NvvmArch],
    ) -> Result<Self, Vec<Missing>> {
        let rustup = check_toolchain(toolchain, &installed_components(&toolchain.channel));
        let with_70 = architectures.contains(&NvvmArch::Compute70);
        let cuda = find_cuda(&cuda_folders(), with_70);
        let llvm = find_llvm(&llvm_candidates());
        match (rustup, cuda, llvm) {
            (Ok(()), Ok((cuda, cuda_version)), Ok((llvm_config, llvm_version))) => Ok(Self {
                toolchain: toolchain.channel.clone(),
                cuda,
                cuda_version,
                llvm_config,
                llvm_version,
            }),
            (rustup, cuda, llvm) => Err([rustup.err(), cuda.err(), llvm.err()]
                .into_iter()
                .flatten()
                .collect()),
        }
    }
}

/// What rustup says is installed of a toolchain: one component per line, or the reason why it has nothing to say.
fn installed_components(toolchain: &str) -> Result<String, String> {
    let output = Command::new("rustup")
        .args(["component", "list", "--installed", "--toolchain", toolchain])
        // To ask for a toolchain must not install it.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .output()
        .map_err(|error| format!("rustup does not run, {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err("not installed".to_owned())
    }
}

fn check_toolchain(
    wanted: &ToolchainFile,
    installed: &Result<String, String>,
) -> Result<(), Missing> {
    let installed = installed.as_ref().map_err(|found| Missing::Toolchain {
        toolchain: wanted.channel.clone(),
        found: found.clone(),
        components: wanted.components.clone(),
    })?;
    let components: Vec<String> = wanted
        .components
        .iter()
        // `rustc-dev-x86_64-unknown-linux-gnu` is rustc-dev, and llvm-tools was once llvm-tools-preview.
        .filter(|component| {
            !installed
                .lines()
                .any(|line| line.starts_with(&***component))
        })
        .cloned()
        .collect();
    if components.is_empty() {
        return Ok(());
    }
    Err(Missing::Components {
        toolchain: wanted.channel.clone(),
        components,
    })
}

/// The folders that variables name, else where CUDA installs itself.
fn cuda_folders() -> Vec<PathBuf> {
    let named: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
        .collect();
    if named.is_empty() {
        vec![PathBuf::from("/usr/local/cuda")]
    } else {
        named
    }
}

/// The first folder with a CUDA that will do, and its version.
fn find_cuda(folders: &[PathBuf], with_70: bool) -> Result<(PathBuf, String), Missing> {
    let mut looked_at = Vec::new();
    for folder in folders {
        match inspect_cuda(folder, with_70) {
            Ok(version) => return Ok((folder.clone(), version)),
            Err(fault) => looked_at.push(format!("{}: {fault}", folder.display())),
        }
    }
    looked_at.dedup();
    Err(Missing::Cuda { looked_at })
}

fn inspect_cuda(folder: &Path, with_70: bool) -> Result<String, String> {
    if !folder.is_dir() {
        return Err("no such folder".to_owned());
    }
    let header = fs::read_to_string(folder.join("include/cuda.h"))
        .map_err(|_| "no include/cuda.h".to_owned())?;
    let number: u32 = header
        .lines()
        .find_map(|line| line.trim().strip_prefix("#define CUDA_VERSION"))
        .and_then(|number| number.trim().parse().ok())
        .ok_or("include/cuda.h names no CUDA_VERSION")?;
    // 12080 is 12.8.
    let (major, minor) = (number / 1000, number / 10 % 100);
    let version = format!("{major}.{minor}");
    if major < LEAST_CUDA {
        return Err(format!("CUDA {version}"));
    }
    if with_70 && major >= FIRST_WITHOUT_70 {
        return Err(format!("CUDA {version}, whose libNVVM refuses compute_70"));
    }
    for needed in ["nvvm/lib64/libnvvm.so", "nvvm/libdevice/libdevice.10.bc"] {
        if !folder.join(needed).exists() {
            return Err(format!("CUDA {version} without {needed}"));
        }
    }
    Ok(version)
}

/// What `LLVM_CONFIG` names, else the usual names on the `PATH`.
fn llvm_candidates() -> Vec<PathBuf> {
    let named = env::var_os("LLVM_CONFIG").filter(|path| !path.is_empty());
    match named {
        Some(path) => vec![PathBuf::from(path)],
        None => ["llvm-config-7", "llvm-config"].map(PathBuf::from).into(),
    }
}

/// The first program that is LLVM 7's, and its version.
fn find_llvm(candidates: &[PathBuf]) -> Result<(PathBuf, String), Missing> {
    let mut looked_at = Vec::new();
    for program in candidates {
        match version_of(program.as_os_str()) {
            Some(version) if version.split('.').next() == Some(LLVM) => {
                return Ok((program.clone(), version));
            }
            Some(version) => looked_at.push(format!("{} is of LLVM {version}", program.display())),
            None => looked_at.push(format!("{} does not run", program.display())),
        }
    }
    Err(Missing::Llvm { looked_at })
}

fn version_of(program: &OsStr) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> ToolchainFile {
        ToolchainFile {
            channel: "nightly-2026-04-02".into(),
            components: ["rust-src", "rustc-dev", "llvm-tools"]
                .map(str::to_owned)
                .into(),
        }
    }

    #[test]
    fn the_revision_is_that_of_the_workspace() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rust-cuda/Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let revisions: Vec<&str> = manifest.split("rev = \"").skip(1).collect();
        assert_eq!(revisions.len(), 2);
        assert!(
            revisions.iter().all(|rest| rest.starts_with(REVISION)),
            "{manifest}"
        );
    }

    #[test]
    fn a_toolchain_with_all_components_will_do() {
        let installed = "cargo-x86_64-unknown-linux-gnu\nllvm-tools-x86_64-unknown-linux-gnu\n\
                         rust-src\nrustc-dev-x86_64-unknown-linux-gnu\n";
        assert_eq!(check_toolchain(&wanted(), &Ok(installed.into())), Ok(()));
    }

    #[test]
    fn missing_components_are_named_with_the_command_that_adds_them() {
        let missing = check_toolchain(&wanted(), &Ok("rust-src\n".into())).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "the components rustc-dev and llvm-tools of nightly-2026-04-02: run `rustup component add --toolchain \
             nightly-2026-04-02 rustc-dev llvm-tools`"
        );
    }

    #[test]
    fn a_missing_toolchain_is_named_with_the_command_that_installs_it() {
        let missing = check_toolchain(&wanted(), &Err("not installed".into())).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "the Rust toolchain nightly-2026-04-02 (not installed): run `rustup toolchain install nightly-2026-04-02 \
             --profile minimal --component rust-src,rustc-dev,llvm-tools`"
        );
    }

    /// A CUDA toolkit of this version, as far as it is looked at, with these libraries.
    fn toolkit(version: u32, files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("include")).unwrap();
        fs::write(
            folder.path().join("include/cuda.h"),
            format!("/* CUDA */\n#define CUDA_VERSION {version}\n"),
        )
        .unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    const LIBRARIES: [&str; 2] = ["nvvm/lib64/libnvvm.so", "nvvm/libdevice/libdevice.10.bc"];

    #[test]
    fn a_toolkit_is_taken_by_its_version_and_its_libraries() {
        let good = toolkit(12080, &LIBRARIES);
        assert_eq!(inspect_cuda(good.path(), true), Ok("12.8".into()));
        let old = toolkit(11080, &LIBRARIES);
        assert_eq!(inspect_cuda(old.path(), true), Err("CUDA 11.8".into()));
        let bare = toolkit(12090, &[]);
        assert_eq!(
            inspect_cuda(bare.path(), true),
            Err("CUDA 12.9 without nvvm/lib64/libnvvm.so".into())
        );
        let folders = [old.path().to_owned(), good.path().to_owned()];
        assert_eq!(find_cuda(&folders, true).unwrap().0, good.path());
    }

    #[test]
    fn a_toolkit_that_refuses_compute_70_will_do_for_the_others() {
        let new = toolkit(13000, &LIBRARIES);
        assert_eq!(inspect_cuda(new.path(), false), Ok("13.0".into()));
        assert_eq!(
            inspect_cuda(new.path(), true),
            Err("CUDA 13.0, whose libNVVM refuses compute_70".into())
        );
    }

    #[test]
    fn every_folder_without_cuda_is_named_with_its_fault() {
        let missing = find_cuda(&["/nowhere".into()], true).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "CUDA 12, or with --sm 80,90 a later one, with libNVVM (/nowhere: no such folder): install NVIDIA's CUDA toolkit and \
             let CUDA_HOME name its folder"
        );
    }

    #[test]
    fn every_llvm_config_of_another_version_is_named() {
        let missing = find_llvm(&["/nowhere/llvm-config".into()]).unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("LLVM 7 (/nowhere/llvm-config does not run): build llvm-7.1.0"),
            "{missing}"
        );
    }
}
