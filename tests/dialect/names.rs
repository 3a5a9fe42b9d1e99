//! The names that both `cuda_std`s have.

use std::collections::HashSet;

use crate::list::listed;

/// The whole paths of everything that `tests/api/rust-cuda.txt` lists as common.
pub struct CudaStdNames(HashSet<String>);

impl CudaStdNames {
    /// Reads the list.
    pub fn listed() -> Self {
        let common = listed().into_iter().filter(|line| !line.is_addition);
        let names = common.filter_map(|line| {
            let name = exported_name(&line.export.signature)?;
            Some(format!("{}::{name}", line.export.module))
        });
        Self(names.chain(["cuda_std".to_owned()]).collect())
    }

    /// Whether the path, or what it is a member of, is listed.
    pub fn contain(&self, path: &str) -> bool {
        let is_module = |prefix: &str| {
            let members = format!("{prefix}::");
            self.0.iter().any(|name| name.starts_with(&members))
        };
        let mut prefix = path;
        loop {
            // A module vouches only for itself, a type for its members too.
            if self.0.contains(prefix) && (prefix == path || !is_module(prefix)) {
                return true;
            }
            match prefix.rsplit_once("::") {
                Some((shorter, _)) => prefix = shorter,
                None => return false,
            }
        }
    }
}

/// The name that a line of the list introduces; `None` for a member of a type.
fn exported_name(signature: &str) -> Option<&str> {
    let mut words = signature.split(' ');
    (words.next() == Some("pub")).then_some(())?;
    words.find(|word| {
        ![
            "const", "enum", "fn", "mod", "struct", "trait", "unsafe", "use",
        ]
        .contains(word)
    })
}
