//! The texts that the crate carries, gathered by its build script.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The file of this path in the folder of the exercises.
pub(crate) fn file(path: &str) -> Option<&'static str> {
    let index = FILES.binary_search_by_key(&path, |(name, _)| name);
    index.ok().map(|index| FILES[index].1)
}
