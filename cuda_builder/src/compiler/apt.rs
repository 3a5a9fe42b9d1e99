//! Debian's package tools, run without root: lists and cache are private, and nothing is installed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::debian_error::DebianError;
use crate::environment::first_line;

/// apt with its state in a folder of its own.
pub(super) struct Apt {
    /// Holds the package lists and the cache.
    state: PathBuf,
}

impl Apt {
    /// Makes the folder `state` ready for [`update`](Self::update).
    pub(super) fn new(state: PathBuf) -> Result<Self, DebianError> {
        for folder in ["lists/partial", "cache/archives/partial"] {
            let folder = state.join(folder);
            fs::create_dir_all(&folder).map_err(DebianError::io(&folder))?;
        }
        Ok(Self { state })
    }

    /// Fetches the package lists of the system's sources. Some of a machine's sources may be out of reach and the rest
    /// still do, so that a complaint of apt's is no error but returned, for when a package is not found.
    pub(super) fn update(&self) -> Result<Option<String>, DebianError> {
        let output = self
            .command("apt-get")
            .args(["--quiet", "update"])
            .output()
            .map_err(DebianError::io("apt-get"))?;
        Ok(complaint(&String::from_utf8_lossy(&output.stderr)))
    }

    /// The packages that `package` depends on, itself included, down to the last.
    pub(super) fn closure(&self, package: &str) -> Result<Vec<String>, DebianError> {
        let mut command = self.command("apt-cache");
        command.args(["depends", "--recurse", "--important", package]);
        Ok(recursed_packages(&output(command)?))
    }

    /// The packages that `package` itself names as dependencies.
    pub(super) fn dependencies(&self, package: &str) -> Result<Vec<String>, DebianError> {
        let mut command = self.command("apt-cache");
        command.args(["depends", "--important", package]);
        Ok(direct_dependencies(&output(command)?))
    }

    /// Downloads packages into `folder`, as `.deb` files.
    pub(super) fn download(&self, packages: &[String], folder: &Path) -> Result<(), DebianError> {
        let mut command = self.command("apt-get");
        command
            .args(["--quiet", "download"])
            .args(packages)
            .current_dir(folder);
        output(command).map(drop)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let lists = format!("Dir::State::lists={}", self.state.join("lists").display());
        let cache = format!("Dir::Cache={}", self.state.join("cache").display());
        let options = [
            lists.as_str(),
            cache.as_str(),
            // As root, apt would otherwise hand the download to a user who cannot write here.
            "APT::Sandbox::User=root",
            "Acquire::Languages=none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
        ];
        for option in options {
            command.args(["-o", option]);
        }
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command
    }
}

/// The packages that are installed on this system.
pub(super) fn installed_packages() -> Result<HashSet<String>, DebianError> {
    let mut command = Command::new("dpkg-query");
    command.args(["--show", "--showformat", "${db:Status-Abbrev} ${Package}\n"]);
    Ok(installed(&output(command)?))
}

fn output(mut command: Command) -> Result<String, DebianError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(DebianError::io(&program))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(DebianError::Failed {
            program,
            message: first_line(&output.stderr),
        })
    }
}

/// The first error or warning that apt printed.
fn complaint(stderr: &str) -> Option<String> {
    stderr
        .lines()
        .find_map(|line| {
            line.strip_prefix("E: ")
                .or_else(|| line.strip_prefix("W: "))
        })
        .map(|message| message.trim().to_owned())
}

/// `apt-cache depends --recurse`: each package starts a line, its dependencies are indented below it. Virtual packages
/// stand in angle brackets.
fn recursed_packages(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.starts_with([' ', '<']) && !line.trim().is_empty())
        .map(|line| without_architecture(line).to_owned())
        .collect()
}

/// `apt-cache depends`: `  Depends: name`, ` |Depends: name` for the alternatives of one dependency.
fn direct_dependencies(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim_start_matches([' ', '|']).split_once(": "))
        .filter(|(kind, name)| matches!(*kind, "Depends" | "PreDepends") && !name.starts_with('<'))
        .map(|(_, name)| without_architecture(name).to_owned())
        .collect()
}

/// `dpkg-query` lines such as `ii  libedit2`.
fn installed(text: &str) -> HashSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("ii"))
        .map(|name| name.trim().to_owned())
        .collect()
}

/// `libc6:amd64` is `libc6`.
fn without_architecture(name: &str) -> &str {
    name.trim().split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECURSED: &str = "\
libstd-rust-web-1.96
  Depends: libc6
  Depends: libllvm22
 |Depends: debconf
  Depends: <debconf-2.0>
    debconf
libc6
  Depends: libgcc-s1
<debconf-2.0>
libllvm22:amd64
  Depends: libedit2
";

    #[test]
    fn a_closure_lists_every_package_that_starts_a_line() {
        assert_eq!(
            recursed_packages(RECURSED),
            ["libstd-rust-web-1.96", "libc6", "libllvm22"]
        );
    }

    #[test]
    fn direct_dependencies_leave_out_other_relations_and_virtual_packages() {
        let text = "\
rustc-web
  PreDepends: dpkg
  Depends: libstd-rust-web-dev
 |Depends: gcc
  Depends: <libc-dev>
    libc6-dev
  Conflicts: rustc
  Recommends: cargo-web
";
        assert_eq!(
            direct_dependencies(text),
            ["dpkg", "libstd-rust-web-dev", "gcc"]
        );
    }

    #[test]
    fn the_first_complaint_is_quoted() {
        let stderr = "rm: cannot remove it\nW: Failed to fetch A  Could not connect\nE: Some index files failed\n";
        assert_eq!(
            complaint(stderr).unwrap(),
            "Failed to fetch A  Could not connect"
        );
        assert_eq!(complaint("rm: cannot remove it\n"), None);
    }

    #[test]
    fn only_fully_installed_packages_count() {
        let text = "ii  libedit2\nrc  libz3-4\nii  libc6\n";
        assert_eq!(
            installed(text),
            HashSet::from(["libedit2".to_owned(), "libc6".to_owned()])
        );
    }
}
