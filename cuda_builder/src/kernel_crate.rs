//! What cargo knows about the crate to be compiled.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::environment::cargo;
use crate::error::CudaBuilderError;

/// The kernel crate, as `cargo metadata` describes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KernelCrate {
    /// Its folder, absolute.
    pub(crate) folder: PathBuf,
    /// The name of its library as the compiler knows it, with underscores.
    pub(crate) library: String,
    /// The root of its workspace.
    pub(crate) workspace: PathBuf,
    /// The workspace's target folder.
    pub(crate) target_folder: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    crate_types: Vec<String>,
}

impl KernelCrate {
    /// Asks cargo about the crate in `path`.
    pub(crate) fn describe(path: &Path) -> Result<Self, CudaBuilderError> {
        let missing = || CudaBuilderError::CratePathDoesntExist(path.to_owned());
        let folder = path.canonicalize().map_err(|_| missing())?;
        if !folder.join("Cargo.toml").is_file() {
            return Err(missing());
        }
        let refuse = |reason: String| CudaBuilderError::NotAKernelCrate {
            path: path.to_owned(),
            reason,
        };
        let output = cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(&folder)
            .output()
            .map_err(CudaBuilderError::io("run cargo"))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(refuse(message.trim().to_owned()));
        }
        Self::from_metadata(folder, &output.stdout).map_err(refuse)
    }

    fn from_metadata(folder: PathBuf, json: &[u8]) -> Result<Self, String> {
        let metadata: Metadata = serde_json::from_slice(json)
            .map_err(|error| format!("`cargo metadata` is not understood, {error}"))?;
        let manifest = folder.join("Cargo.toml");
        let package = metadata
            .packages
            .into_iter()
            .find(|package| package.manifest_path == manifest)
            .ok_or("its Cargo.toml describes a workspace, not a package: give a member's folder")?;
        let is_library = |target: &Target| {
            let kinds = ["lib", "rlib", "cdylib", "dylib", "staticlib"];
            let mut types = target.crate_types.iter();
            types.any(|kind| kinds.contains(&kind.as_str()))
        };
        let library = package
            .targets
            .into_iter()
            .find(is_library)
            .ok_or("it has no library: put the kernels into src/lib.rs")?;
        Ok(Self {
            folder,
            library: library.name.replace('-', "_"),
            workspace: metadata.workspace_root,
            target_folder: metadata.target_directory,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn describe(targets: &str) -> Result<KernelCrate, String> {
        let json = format!(
            r#"{{"packages": [{{"manifest_path": "/w/other/Cargo.toml", "targets": []}},
                {{"manifest_path": "/w/demo/Cargo.toml", "targets": [{targets}]}}],
                "workspace_root": "/w", "target_directory": "/w/target"}}"#
        );
        KernelCrate::from_metadata("/w/demo".into(), json.as_bytes())
    }

    #[test]
    fn the_library_is_found_among_the_targets() {
        let targets = r#"{"name": "tool", "crate_types": ["bin"]}, {"name": "demo-kernels", "crate_types": ["lib"]}"#;
        assert_eq!(
            describe(targets),
            Ok(KernelCrate {
                folder: "/w/demo".into(),
                library: "demo_kernels".into(),
                workspace: "/w".into(),
                target_folder: "/w/target".into(),
            })
        );
    }

    #[test]
    fn a_crate_without_library_is_refused() {
        let error = describe(r#"{"name": "tool", "crate_types": ["bin"]}"#).unwrap_err();
        assert!(error.starts_with("it has no library"), "{error}");
    }

    #[test]
    fn a_workspace_root_is_refused() {
        let json = br#"{"packages": [], "workspace_root": "/w", "target_directory": "/w/target"}"#;
        let error = KernelCrate::from_metadata("/w".into(), json).unwrap_err();
        assert!(error.contains("a workspace, not a package"), "{error}");
    }
}
