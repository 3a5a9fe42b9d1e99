//! A process that answers a line of JSON for each line that it reads.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, Write};

/// What is said first.
#[derive(Serialize)]
pub struct Greeting {
    /// Of the libraries.
    pub versions: Vec<String>,
    /// In what they are treated otherwise than the rest.
    pub notes: Vec<String>,
}

/// Who answers.
pub trait Peer {
    /// What it is asked.
    type Request: DeserializeOwned;
    /// What it answers.
    type Reply: Serialize;

    /// The answer.
    fn reply(&mut self, request: Self::Request) -> Result<Self::Reply, String>;
}

/// Nothing to tell.
#[derive(Serialize)]
pub struct Done {}

/// What is answered instead.
#[derive(Serialize)]
struct Failed {
    failed: String,
}

/// The most characters of what is told of a failure: the compiler's messages have the whole source in them.
const MOST: usize = 400;

/// Greets, and answers until there are no more questions.
pub fn answer_all(greeting: &Greeting, mut peer: impl Peer) -> Result<(), String> {
    say(greeting)?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let reply = serde_json::from_str(&line)
            .map_err(|error| format!("{error} in {line}"))
            .and_then(|request| peer.reply(request));
        match reply {
            Ok(reply) => say(&reply),
            Err(error) => say(&Failed {
                failed: in_a_line(&error),
            }),
        }?;
    }
    Ok(())
}

fn say(what: &impl Serialize) -> Result<(), String> {
    let line = serde_json::to_string(what).map_err(|error| error.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}

/// What went wrong, in a line.
fn in_a_line(error: &str) -> String {
    let words: Vec<&str> = error.split_whitespace().collect();
    words.join(" ").chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_in_a_line() {
        assert_eq!(in_a_line("no\n  such thing "), "no such thing");
        assert_eq!(in_a_line(&"é".repeat(2 * MOST)), "é".repeat(MOST));
    }
}
