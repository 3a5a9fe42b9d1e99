//! `warpfold man`: the manual.

use super::failure::Failure;
use super::output::{print, write_file};
use clap::Command;
use clap_mangen::Man;
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  warpfold man | man -l -
  warpfold man ~/.local/share/man/man1      # then `man warpfold` and `man warpfold-check`";

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Write a page for each command to this folder [default: print the page of the program itself]
    folder: Option<PathBuf>,
}

/// Runs the command for the command line that `command` describes.
pub fn run(arguments: &Arguments, mut command: Command) -> Result<(), Failure> {
    // Gives every command its full name.
    command.build();
    match &arguments.folder {
        None => print(page(&command)?.trim_end()),
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| {
                Failure::Input(format!("cannot create {}: {error}", folder.display()))
            })?;
            write_pages(&command, folder)
        }
    }
}

/// Writes the pages of a command and of the commands below it.
fn write_pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    write_file(&folder.join(format!("{name}.1")), page(command)?.as_bytes())?;
    command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
        .try_for_each(|below| write_pages(below, folder))
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .render(&mut page)
        .map_err(Failure::input)?;
    String::from_utf8(page).map_err(Failure::input)
}
