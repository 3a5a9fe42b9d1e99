//! `warpfold completions`: what a shell needs to complete commands and options.

use super::failure::Failure;
use super::output::print;
use clap_complete::{Shell, generate};

const EXAMPLES: &str = "\
Examples:
  source <(warpfold completions bash)                                        # this shell alone
  warpfold completions bash > ~/.local/share/bash-completion/completions/warpfold
  warpfold completions zsh > ~/.zfunc/_warpfold                              # in a folder of $fpath
  warpfold completions fish > ~/.config/fish/completions/warpfold.fish";

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Runs the command for the command line that `command` describes.
pub fn run(arguments: &Arguments, mut command: clap::Command) -> Result<(), Failure> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, name, &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}
