//! `cargo xtask build-ptx --codegen rust-cuda`: the same kernels by the workspace in `rust-cuda/`, held to the PTX of rustc's own
//! backend.

mod faults;
mod toolchain_file;
mod tools;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use cuda_builder::{NvvmArch, ptx};
use warpfold_kernels::catalogue::PtxText;

use super::compare::Finding;
use super::generated::Generated;
use super::refusal::unless_expected;
use crate::build_ptx::error::BuildPtxError;
use crate::failure::{FailedStep, io};
use faults::Built;
use toolchain_file::ToolchainFile;
use tools::Tools;
use warpfold_ptx::header::Header;
use warpfold_ptx::sources::hash_sources;

/// The version of glam that the `cuda_std` of rust-cuda compiles with. Its manifest takes any from 0.22 on, and the newer ones
/// lack vector types that it imports.
const GLAM: &str = "0.30.9";

/// Compiles the kernels for each architecture and checks them like those of rustc's own backend; besides, each must have as
/// many barriers as there, and a `trap` only where it has one there.
///
/// # Errors
/// What the machine lacks; a step of the build that fails; everything that is wrong with the PTX.
pub(super) fn build(
    repository: &Path,
    architectures: &[NvvmArch],
) -> Result<Vec<Generated>, BuildPtxError> {
    if let Some(unknown) = architectures.iter().find(|&&arch| !is_in_builder(arch)) {
        return Err(BuildPtxError::NotInBuilder(unknown.target_cpu()));
    }
    let workspace = repository.join("rust-cuda");
    let toolchain = ToolchainFile::read(&workspace)?;
    let tools = Tools::check(&toolchain, architectures).map_err(BuildPtxError::NotPrepared)?;
    println!("compiler: {tools}");
    let source_hash = hash_sources(repository).map_err(io("read the sources of the kernels"))?;
    let cargo = Cargo {
        workspace: &workspace,
        tools: &tools,
    };
    if !workspace.join("Cargo.lock").exists() {
        cargo.run(&["update", "glam", "--precise", GLAM])?;
    }

    let mut generated = Vec::new();
    let mut findings = Vec::new();
    let modules = PtxText::ALL.into_iter();
    for (module, arch) in
        modules.flat_map(|module| architectures.iter().map(move |&arch| (module, arch)))
    {
        let name = format!("{}.{}.ptx", module.name(), arch.target_cpu());
        // Not yet where finished PTX is looked for.
        let built = format!("target/rust-cuda/{name}");
        let path = repository.join(&built);
        let text = compile(&cargo, module, arch, &path)?;
        let faults = Built {
            file: &built,
            text: &text,
            module,
            sm: arch.capability_value(),
        }
        .faults(repository, format!("kernels/ptx/{name}"), &source_hash)?;
        // What calls a function that nothing defines is refused by ptxas too, in other words.
        if faults.is_empty() {
            unless_expected(ptx::assemble(&path, arch), |_| ())?;
        }
        findings.extend(faults);
        let header = Header {
            generator: "cargo xtask build-ptx --codegen rust-cuda".into(),
            compiler: tools.to_string(),
            target: format!("nvptx64-nvidia-cuda {}", arch.target_cpu()),
            source_hash: source_hash.clone(),
        };
        let text = format!("{header}{text}");
        let file = format!("target/ptx-rust-cuda/{name}");
        generated.push(Generated { file, text });
    }
    if findings.is_empty() {
        Ok(generated)
    } else {
        Err(BuildPtxError::Findings(findings))
    }
}

/// Whether the builder's `--arch` knows the architecture.
fn is_in_builder(arch: NvvmArch) -> bool {
    matches!(
        arch,
        NvvmArch::Compute70 | NvvmArch::Compute80 | NvvmArch::Compute90
    )
}

/// Runs the builder for one module and one architecture, into the file.
fn compile(
    cargo: &Cargo<'_>,
    module: PtxText,
    arch: NvvmArch,
    path: &Path,
) -> Result<String, BuildPtxError> {
    let file = path.display().to_string();
    cargo.run(&[
        "run",
        "--release",
        "--locked",
        "--",
        "--arch",
        &arch.to_string(),
        "--module",
        module.name(),
        "--copy-to",
        &file,
    ])?;
    let text = fs::read_to_string(path).map_err(io(format!("read {file}")))?;
    // The builder of rust-cuda knows nothing of these.
    let bounded = ptx::with_launch_bounds(&text).map_err(|violation| {
        let file = file.clone();
        BuildPtxError::Findings(vec![Finding::Violation { file, violation }])
    })?;
    if bounded != text {
        fs::write(path, &bounded).map_err(io(format!("write {file}")))?;
    }
    Ok(bounded)
}

/// The cargo of the pinned nightly, in the workspace of rust-cuda.
struct Cargo<'a> {
    workspace: &'a Path,
    tools: &'a Tools,
}

impl Cargo<'_> {
    fn run(&self, arguments: &[&str]) -> Result<(), BuildPtxError> {
        let command_line = format!("cargo {}", arguments.join(" "));
        println!("$ cd rust-cuda && {command_line}");
        let start = Instant::now();
        let status = self
            .command()
            .args(arguments)
            .status()
            .map_err(io(format!("run `{command_line}`")))?;
        if status.success() {
            Ok(())
        } else {
            Err(BuildPtxError::Step(FailedStep {
                command: command_line,
                elapsed: start.elapsed(),
            }))
        }
    }

    fn command(&self) -> Command {
        let Tools {
            toolchain,
            llvm_config,
            cuda,
            ..
        } = self.tools;
        let mut command = Command::new("rustup");
        command
            .args(["run", toolchain, "cargo"])
            .current_dir(self.workspace);
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(belongs_to_outer_cargo) {
                command.env_remove(name);
            }
        }
        command
            // `cuda_builder` looks for its code generator there.
            .env("CARGO_TARGET_DIR", self.workspace.join("target"))
            .env("LLVM_CONFIG", llvm_config)
            .env("CUDA_HOME", cuda)
            .env("CUDA_PATH", cuda)
            // The root's .cargo/config.toml has another use for this one.
            .env("CUDA_LIBRARY_PATH", cuda.join("lib64"))
            // rustc loads the code generator, and that loads libNVVM.
            .env("LD_LIBRARY_PATH", in_front(cuda.join("nvvm/lib64")));
        command
    }
}

/// Whether a variable comes from the cargo that runs this program, which is another one with another compiler.
fn belongs_to_outer_cargo(name: &str) -> bool {
    let is_for_every_cargo = name == "CARGO_HOME"
        || ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
    let is_of_cargo = ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    is_of_cargo && !is_for_every_cargo
}

/// The library path with a folder put in front.
fn in_front(folder: PathBuf) -> OsString {
    let mut path = folder.into_os_string();
    if let Some(rest) = env::var_os("LD_LIBRARY_PATH").filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_outer_cargo_sets_stays_outside() {
        for name in [
            "CARGO",
            "CARGO_MANIFEST_DIR",
            "CARGO_TARGET_DIR",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
        ] {
            assert!(belongs_to_outer_cargo(name), "{name}");
        }
        for name in [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "RUSTUP_HOME",
            "PATH",
            "CUDA_HOME",
        ] {
            assert!(!belongs_to_outer_cargo(name), "{name}");
        }
    }

    #[test]
    fn the_manifests_have_what_no_build_here_would_miss() {
        let read = |file: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
            fs::read_to_string(path).unwrap()
        };
        let workspace = read("rust-cuda/Cargo.toml");
        // Without the first there is no code generator, without the others barriers are copied into branches.
        for line in [
            "features = [\"rustc_codegen_nvvm\"]",
            "cargo-features = [\"profile-rustflags\"]",
            "[profile.release.package.warpfold-kernels]\nrustflags = [\"-Zmir-enable-passes=-JumpThreading\"]",
        ] {
            assert!(workspace.contains(line), "{line}");
        }
        let lint = |file: &str| {
            let lines = read(file);
            let line = lines
                .lines()
                .find(|line| line.starts_with("unexpected_cfgs"));
            line.map(str::to_owned)
        };
        assert!(lint("Cargo.toml").is_some());
        assert_eq!(lint("Cargo.toml"), lint("rust-cuda/kernels/Cargo.toml"));
    }

    #[test]
    fn the_default_architectures_are_in_the_builder() {
        for name in ["70", "80", "90"] {
            assert!(is_in_builder(name.parse().unwrap()), "{name}");
        }
        assert!(!is_in_builder(NvvmArch::Compute75));
    }
}
