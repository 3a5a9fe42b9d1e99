//! The files that the arguments name.

use crate::failure::Failure;
use std::path::PathBuf;

/// The files that the arguments name: a pattern stands for those that match it, in the order of their names.
pub(super) fn expand(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for path in given {
        let pattern = path.to_str();
        let pattern = pattern.filter(|text| text.contains(['*', '?', '[']) && !path.exists());
        let Some(pattern) = pattern else {
            paths.push(path.clone());
            continue;
        };
        let wrong = |reason: &dyn std::fmt::Display| {
            Failure::Input(format!("cannot look for files like {pattern}: {reason}"))
        };
        let before = paths.len();
        for found in glob::glob(pattern).map_err(|error| wrong(&error))? {
            paths.push(found.map_err(|error| wrong(&error))?);
        }
        if paths.len() == before {
            return Err(Failure::Input(format!("no file is named like {pattern}")));
        }
    }
    Ok(paths)
}
