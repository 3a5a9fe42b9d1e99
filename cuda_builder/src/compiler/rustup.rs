//! The compilers that rustup has installed.

use std::path::PathBuf;
use std::process::Command;

use crate::environment::{clean, first_line};
use crate::toolchain::{Refusal, Toolchain};

/// The rustc of the toolchain asked for, or of every installed nightly.
///
/// # Errors
/// [`Refusal::Rustup`] if rustup is missing, or has no such toolchain.
pub(super) fn compilers(toolchain: &Toolchain) -> Result<Vec<PathBuf>, Refusal> {
    if let Toolchain::Rustup(name) = toolchain {
        return Ok(vec![rustc_of(name)?]);
    }
    let nightlies = nightlies(&ask(&["toolchain", "list"])?);
    if nightlies.is_empty() {
        return Err(Refusal::Rustup("no nightly toolchain is installed".into()));
    }
    nightlies.iter().map(|name| rustc_of(name)).collect()
}

fn rustc_of(toolchain: &str) -> Result<PathBuf, Refusal> {
    let path = ask(&["which", "--toolchain", toolchain, "rustc"])?;
    Ok(path.trim().into())
}

fn ask(arguments: &[&str]) -> Result<String, Refusal> {
    let output = clean(Command::new("rustup").args(arguments))
        // Asking for a toolchain must not install it.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .output()
        .map_err(|error| Refusal::Rustup(format!("does not run, {error}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Refusal::Rustup(first_line(&output.stderr)))
    }
}

/// The nightlies in the output of `rustup toolchain list`, whose lines may end with `(active)` and the like.
fn nightlies(list: &str) -> Vec<String> {
    list.lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.starts_with("nightly"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nightlies_are_picked_from_the_list() {
        let list = "\
stable-x86_64-unknown-linux-gnu (active, default)
nightly-2026-04-02-x86_64-unknown-linux-gnu
nightly-x86_64-unknown-linux-gnu (override)
my-nightly
";
        assert_eq!(
            nightlies(list),
            [
                "nightly-2026-04-02-x86_64-unknown-linux-gnu",
                "nightly-x86_64-unknown-linux-gnu"
            ]
        );
        assert!(nightlies("no installed toolchains\n").is_empty());
    }
}
