//! `cargo xtask ci`: what has to pass before a change lands.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::error::XtaskError;

/// One command line of cargo.
struct Step {
    arguments: &'static [&'static str],
    /// A variable to set, and its value.
    variable: Option<(&'static str, &'static str)>,
}

/// The tests first: they say most.
const TESTS: [Step; 2] = [step(&["test"]), step(&["test", "-p", "xtask"])];

const CHECKS: [Step; 4] = [
    step(&["fmt", "--all", "--check"]),
    step(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]),
    Step {
        arguments: &["doc", "--workspace", "--no-deps", "--all-features"],
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
    step(&["xtask", "build-ptx", "--check"]),
];

const fn step(arguments: &'static [&'static str]) -> Step {
    Step {
        arguments,
        variable: None,
    }
}

/// Runs the steps in order, each announced by its command line and followed by its time.
///
/// # Errors
/// The first step that fails.
pub fn run(repository: &Path, skip_tests: bool) -> Result<(), XtaskError> {
    let start = Instant::now();
    let tests = if skip_tests { &[][..] } else { &TESTS };
    for step in tests.iter().chain(&CHECKS) {
        step.run(repository)?;
    }
    println!(
        "all {} steps passed in {:.1} s",
        tests.len() + CHECKS.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

impl Step {
    /// The command line, as one would type it.
    fn command_line(&self) -> String {
        let variable = self
            .variable
            .map(|(name, value)| format!("{name}=\"{value}\" "));
        format!(
            "{}cargo {}",
            variable.unwrap_or_default(),
            self.arguments.join(" ")
        )
    }

    fn run(&self, repository: &Path) -> Result<(), XtaskError> {
        let command_line = self.command_line();
        println!("$ {command_line}");
        let start = Instant::now();
        let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(self.arguments)
            .envs(self.variable)
            .current_dir(repository)
            .status()
            .map_err(XtaskError::io(format!("run `{command_line}`")))?;
        let elapsed = start.elapsed();
        if !status.success() {
            return Err(XtaskError::Step {
                command: command_line,
                elapsed,
            });
        }
        println!("  passed in {:.1} s", elapsed.as_secs_f64());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_announced_as_it_would_be_typed() {
        assert_eq!(
            CHECKS[2].command_line(),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps --all-features"
        );
        assert_eq!(TESTS[0].command_line(), "cargo test");
    }
}
