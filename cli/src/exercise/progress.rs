//! How far a learner has come: one file beside the solutions.

use crate::failure::Failure;
use crate::output::write_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The name of the file.
const NAME: &str = "progress.json";

/// What is known of the exercises that were tried, by their ids.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Progress(BTreeMap<String, Tried>);

/// What is known of one exercise.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tried {
    /// The most stars so far.
    pub stars: u32,
    /// How many hints were shown.
    #[serde(default)]
    pub hints: usize,
}

impl Progress {
    /// Of the solutions in a folder; none where there is no file yet.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Failure::Input(format!(
                    "cannot read {}: {error}",
                    path.display()
                )));
            }
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::Input(format!(
                "{} is not what `warpfold exercise` writes ({error}): remove it to begin anew",
                path.display()
            ))
        })
    }

    /// What is known of an exercise.
    pub fn of(&self, id: &str) -> Tried {
        self.0.get(id).copied().unwrap_or_default()
    }

    /// Changes what is known of an exercise, and writes all of it.
    pub fn change(
        &mut self,
        folder: &Path,
        id: &str,
        change: impl FnOnce(&mut Tried),
    ) -> Result<(), Failure> {
        change(self.0.entry(id.to_owned()).or_default());
        let text = serde_json::to_string_pretty(self).map_err(Failure::input)?;
        write_file(&folder.join(NAME), format!("{text}\n").as_bytes())
    }
}
