//! What a device build must not inherit from the build that started it, and the folder it works in.
//!
//! A build script or an xtask runs inside somebody else's cargo. Its flags, wrappers and toolchain are meant for the
//! host; passed on, they would reach the device compiler and fail there, or change the PTX without a word.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables that steer which compiler runs, with which flags, and where it writes.
const LEAKING: [&str; 19] = [
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_INCREMENTAL",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTDOCFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CARGO_TARGET_DIR",
    "RUSTC",
    "RUSTC_BOOTSTRAP",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// The same, where the name goes on: profile settings, flags and linker of the device target, and what cargo tells the
/// outer build script about its own package, which build scripts below would take for theirs.
const LEAKING_PREFIXES: [&str; 5] = [
    "CARGO_CFG_",
    "CARGO_FEATURE_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_NVPTX64_",
    "CARGO_UNSTABLE_",
];

/// Whether the variable must not reach the device build.
fn leaks(name: &str) -> bool {
    LEAKING.contains(&name)
        || LEAKING_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Removes from the command's environment whatever belongs to the outer build.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(leaks) {
            command.env_remove(name);
        }
    }
    command
}

/// The cargo that runs this process, else the one on the `PATH`.
pub(crate) fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    clean(&mut command);
    command
}

/// Whether this process is a build script, to which cargo listens on standard output.
pub(crate) fn in_build_script() -> bool {
    env::var_os("OUT_DIR").is_some() && env::var_os("PROFILE").is_some()
}

/// The target folder of the outer build, if it can be told: in a build script from `OUT_DIR`, which is
/// `target/debug/build/<package>-<hash>/out`, else from `CARGO_TARGET_DIR`.
pub(crate) fn outer_target_folder() -> Option<PathBuf> {
    if in_build_script() {
        return target_folder_above(Path::new(&env::var_os("OUT_DIR")?));
    }
    env::var_os("CARGO_TARGET_DIR")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
}

fn target_folder_above(out_dir: &Path) -> Option<PathBuf> {
    let build = out_dir
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "build"))?;
    Some(build.parent()?.parent()?.to_owned())
}

/// The first line of what a program printed, to quote in a sentence.
pub(crate) fn first_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.lines()
        .next()
        .unwrap_or("without a message")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_toolchains_of_the_host_do_not_leak() {
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_RELEASE_DEBUG",
            "CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS",
        ] {
            assert!(leaks(name), "{name}");
        }
    }

    #[test]
    fn what_the_machine_needs_is_kept() {
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "CARGO_BUILD_JOBS",
            "CARGO_NET_OFFLINE",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
        ] {
            assert!(!leaks(name), "{name}");
        }
    }

    #[test]
    fn the_target_folder_is_found_above_out_dir() {
        let cases = [
            ("/p/target/debug/build/demo-0123/out", "/p/target"),
            ("/p/target/bench/build/demo/0123/out", "/p/target"),
            (
                "/p/target/x86_64-unknown-linux-gnu/release/build/demo-0/out",
                "/p/target/x86_64-unknown-linux-gnu",
            ),
        ];
        for (out_dir, target) in cases {
            assert_eq!(
                target_folder_above(Path::new(out_dir)),
                Some(PathBuf::from(target)),
                "{out_dir}"
            );
        }
        assert_eq!(target_folder_above(Path::new("/somewhere/else")), None);
    }
}
