//! Runs cargo with the device compiler.

use std::fs::{self, File};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::arch::NvvmArch;
use crate::compiler::DeviceCompiler;
use crate::debug_info::DebugInfo;
use crate::environment::cargo;
use crate::error::CudaBuilderError;
use crate::kernel_crate::KernelCrate;
use crate::toolchain::TARGET;

/// Settings that the PTX must not take from the profile of whoever's workspace the kernel crate is in.
const PROFILE: [&str; 7] = [
    "opt-level=3",
    "lto=\"fat\"",
    "codegen-units=1",
    "debug-assertions=false",
    "overflow-checks=false",
    "incremental=false",
    "strip=\"none\"",
];

/// What a build asks for.
pub(crate) struct Settings<'a> {
    pub(crate) arch: NvvmArch,
    pub(crate) debug: DebugInfo,
    pub(crate) ptx_version: Option<u32>,
    /// Additional arguments for cargo.
    pub(crate) build_args: &'a [String],
    /// Whether the compiler's messages become part of the error.
    pub(crate) capture_messages: bool,
}

/// The outcome of a compilation.
pub(crate) struct Compiled {
    /// The PTX text.
    pub(crate) ptx: String,
    /// The source files of the crate and of the path dependencies it is made from.
    pub(crate) sources: Vec<PathBuf>,
}

/// Compiles the crate's library to PTX in `folder`, a target folder of its own: the outer cargo holds the lock of its own
/// target folder as long as a build script runs.
pub(crate) fn compile(
    kernel_crate: &KernelCrate,
    compiler: &DeviceCompiler,
    settings: &Settings<'_>,
    folder: &Path,
) -> Result<Compiled, CudaBuilderError> {
    // One for each architecture: cargo keeps a single `core` in a folder, and would compile it anew for other flags.
    let folder = &folder.join(settings.arch.target_cpu());
    // Other builds in the same folder wait until this one has read its output.
    let _lock = lock(folder)?;
    let mut command = cargo();
    command
        .args(["rustc", "--lib", "--release", "-Zbuild-std=core"])
        .args(["--target", TARGET])
        // Whatever the crate calls itself: nothing is to be linked.
        .args(["--crate-type", "lib"])
        .arg("--message-format=json-render-diagnostics")
        .arg("--target-dir")
        .arg(folder);
    for setting in PROFILE {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    let debug = match settings.debug {
        DebugInfo::None => "profile.release.debug=false",
        DebugInfo::LineDirectives => "profile.release.debug=\"line-directives-only\"",
        DebugInfo::LineTables => "profile.release.debug=\"line-tables-only\"",
    };
    command
        .args(["--config", debug])
        .args(settings.build_args)
        .arg("--")
        .args(settings.ptx_version.map(ptx_feature))
        .arg("--emit=asm")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            rustflags(settings, kernel_crate, compiler).join("\u{1f}"),
        )
        // A configuration file may move intermediate files into a folder that the outer cargo has locked.
        .env("CARGO_BUILD_BUILD_DIR", folder)
        .current_dir(&kernel_crate.folder)
        .stdin(Stdio::null());
    if settings.capture_messages {
        let colour = match std::io::stderr().is_terminal() {
            true => "always",
            false => "never",
        };
        command
            .env("CARGO_TERM_COLOR", colour)
            .env("CARGO_TERM_QUIET", "true");
    } else {
        // They are for whoever started the build.
        command.stderr(Stdio::inherit());
    }
    compiler.apply(&mut command);
    let output = command
        .output()
        .map_err(CudaBuilderError::io("run cargo"))?;
    if !output.status.success() {
        return Err(match settings.capture_messages {
            true => CudaBuilderError::DoesNotCompile {
                messages: String::from_utf8_lossy(&output.stderr)
                    .trim_end()
                    .to_owned(),
            },
            false => CudaBuilderError::BuildFailed,
        });
    }
    let manifest = kernel_crate.folder.join("Cargo.toml");
    let assembly = assembly_file(&String::from_utf8_lossy(&output.stdout), &manifest)
        .ok_or(CudaBuilderError::BuildFailed)?;
    let dependencies = folder
        .join(TARGET)
        .join("release")
        .join(format!("lib{}.d", kernel_crate.library));
    Ok(Compiled {
        ptx: read(&assembly)?,
        sources: source_files(&read(&dependencies)?),
    })
}

/// What asks for a version of PTX.
fn ptx_feature(version: u32) -> String {
    format!("-Ctarget-feature=+ptx{version}")
}

/// The PTX version, where the compiler's own choice is too old for what the architecture brings: LLVM takes 7.8 for sm_90,
/// and asynchronous bulk copies came with 8.0.
fn usual_ptx_version(arch: NvvmArch) -> Option<u32> {
    (arch.capability_value() == 90).then_some(80)
}

/// Flags for every crate of the device build.
fn rustflags(
    settings: &Settings<'_>,
    kernel_crate: &KernelCrate,
    compiler: &DeviceCompiler,
) -> Vec<String> {
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        "-Zunstable-options".to_owned(),
        // For every crate, so that a library of device code can ask which instructions there are.
        format!("-Ctarget-cpu={}", settings.arch.target_cpu()),
        // A failed bounds check becomes a `trap`; otherwise it would call functions that nothing on the GPU defines.
        "-Cpanic=immediate-abort".to_owned(),
        // Functions of dependencies are compiled into the crate that calls them, for there is no linker to find them.
        "-Zcross-crate-inline-threshold=always".to_owned(),
        // This pass of rustc's knows nothing of barriers: it copies one that stands between two tests of the same
        // condition into both branches, where half of a warp waits at one copy and the other half at the other.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        // Finds out that a generic pointer is a shared or global one, for `ld.shared` instead of `ld`.
        "-Cpasses=infer-address-spaces".to_owned(),
        // The same PTX wherever the crate and the compiler are.
        remap(&kernel_crate.workspace, "."),
        remap(&compiler.source_folder(), "/rustc"),
    ];
    if let Ok(inside) = compiler
        .source_folder()
        .strip_prefix(&kernel_crate.workspace)
    {
        // cargo names files below the workspace by their relative paths.
        flags.push(remap(inside, "/rustc"));
    }
    flags.extend(usual_ptx_version(settings.arch).map(ptx_feature));
    if settings.debug == DebugInfo::LineTables {
        // LLVM writes address ranges in a form that ptxas does not read.
        flags.push("-Zno-generate-arange-section".to_owned());
    }
    flags
}

fn lock(folder: &Path) -> Result<File, CudaBuilderError> {
    fs::create_dir_all(folder)
        .map_err(CudaBuilderError::io(format!("create {}", folder.display())))?;
    let path = folder.join("lock");
    let failed = || CudaBuilderError::io(format!("lock {}", path.display()));
    let file = File::create(&path).map_err(failed())?;
    file.lock().map_err(failed())?;
    Ok(file)
}

fn read(path: &Path) -> Result<String, CudaBuilderError> {
    fs::read_to_string(path).map_err(CudaBuilderError::io(format!("read {}", path.display())))
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// The assembly file of the crate with this manifest, from cargo's messages: it lies beside the crate's metadata file
/// `lib<name>-<hash>.rmeta`, as `<name>-<hash>.s`.
fn assembly_file(messages: &str, manifest: &Path) -> Option<PathBuf> {
    let metadata_file = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| message.manifest_path.as_deref() == Some(manifest))
        .flat_map(|message| message.filenames)
        .rfind(|file| {
            file.extension()
                .is_some_and(|extension| extension == "rmeta")
        })?;
    let stem = metadata_file.file_stem()?.to_str()?.strip_prefix("lib")?;
    Some(metadata_file.with_file_name(format!("{stem}.s")))
}

/// The files in cargo's dependency file `output: file file …`, where a space in a name is written `\ `.
fn source_files(dependency_file: &str) -> Vec<PathBuf> {
    let files = dependency_file
        .lines()
        .find_map(|line| line.split_once(": "))
        .map_or("", |(_, files)| files);
    files
        .replace("\\ ", "\0")
        .split_whitespace()
        .map(|file| file.replace('\0', " ").into())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","manifest_path":"/w/std/Cargo.toml","filenames":["/t/deps/libstd_like-01.rmeta"]}
{"reason":"compiler-artifact","manifest_path":"/w/demo/Cargo.toml","filenames":["/t/libdemo.rlib","/t/deps/libdemo-89ab.rmeta"]}
{"reason":"build-finished","success":true}
not a message
"#;

    #[test]
    fn only_the_architecture_whose_default_is_too_old_gets_a_ptx_version() {
        assert_eq!(usual_ptx_version(NvvmArch::Compute80), None);
        assert_eq!(usual_ptx_version(NvvmArch::Compute90), Some(80));
        assert_eq!(usual_ptx_version(NvvmArch::Compute90a), Some(80));
        assert_eq!(usual_ptx_version(NvvmArch::Compute100), None);
    }

    #[test]
    fn the_assembly_lies_beside_the_crates_metadata() {
        assert_eq!(
            assembly_file(MESSAGES, Path::new("/w/demo/Cargo.toml")),
            Some("/t/deps/demo-89ab.s".into())
        );
        assert_eq!(
            assembly_file(MESSAGES, Path::new("/w/other/Cargo.toml")),
            None
        );
    }

    #[test]
    fn source_files_may_have_spaces_in_their_names() {
        let text = "/t/release/demo.ptx: /w/demo/src/lib.rs /w/my\\ std/src/lib.rs\n";
        assert_eq!(
            source_files(text),
            [
                PathBuf::from("/w/demo/src/lib.rs"),
                PathBuf::from("/w/my std/src/lib.rs")
            ]
        );
        assert!(source_files("").is_empty());
    }
}
