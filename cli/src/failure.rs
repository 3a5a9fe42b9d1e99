//! How a command fails, and the exit status that follows.

use super::names;
use super::sources;
use clap::error::{ContextKind, ContextValue};
use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command stopped. The text is one sentence: what was wrong, where, and what to do.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or bad input: status 2.
    Input(String),
    /// A wrong result or a fault of a kernel: status 1.
    Finding(String),
    /// The reader of our output has closed it (`warpfold lessons | head -1`): silent success.
    OutputClosed,
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Input(message) | Self::Finding(message) => message,
            Self::OutputClosed => "the output was closed",
        })
    }
}

impl Failure {
    /// Bad usage or bad input.
    pub fn input(message: impl Display) -> Self {
        Self::Input(message.to_string())
    }

    /// A wrong result or a fault of a kernel.
    pub fn finding(message: impl Display) -> Self {
        Self::Finding(message.to_string())
    }

    /// Reports the failure as one line on standard error, with the line of source that it names, and gives the exit status.
    pub fn report(self) -> ExitCode {
        let (message, status) = match self {
            Self::Input(message) => (message, 2),
            Self::Finding(message) => (message, 1),
            Self::OutputClosed => return ExitCode::SUCCESS,
        };
        say(format_args!(
            "warpfold: {}",
            sources::quoted(&one_line(&message))
        ));
        ExitCode::from(status)
    }
}

/// Writes a line on standard error. Where that is closed or full there is nobody to tell.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The message on one line: file names and drivers' messages may contain line breaks.
fn one_line(message: &str) -> String {
    message
        .split(|character: char| character.is_control())
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What clap found wrong with the command line, as one sentence. Requests for help and the version come back as `None`.
pub fn usage_failure(error: &clap::Error) -> Option<Failure> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => {
            let text = error.to_string();
            // The first paragraph says what is wrong; a `tip:` may follow; the rest repeats the usage.
            let mut paragraphs = text.split("\n\n");
            let sentence = one_line(paragraphs.next().unwrap_or_default());
            let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
            let tip = paragraphs
                .map(one_line)
                .find(|paragraph| paragraph.starts_with("tip: "))
                .map(|tip| format!(" ({tip})"));
            // Somebody may have left out the command. What is known is not a slip, which clap's tip is for.
            let meant = match error.get(ContextKind::InvalidSubcommand) {
                Some(ContextValue::String(name)) => names::command_line(name, tip.is_some()),
                _ => None,
            };
            let tip = tip.filter(|_| meant.is_none());
            let advice = match meant {
                Some(command) => format!("did you mean `{command}`?"),
                None => "see --help".to_owned(),
            };
            let tip = tip.unwrap_or_default();
            Some(Failure::Input(format!("{sentence}{tip}; {advice}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_one_line() {
        assert_eq!(
            one_line("ptxas:\n  line 3\r\n\n  line 4\t!"),
            "ptxas: line 3 line 4 !"
        );
    }
}
