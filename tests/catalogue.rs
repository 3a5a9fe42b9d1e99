//! The catalogue against what it is a catalogue of: the generated PTX, both ways, and the source files.

use std::collections::BTreeSet;
use std::path::Path;
use warpfold::ptx::PtxSet;
use warpfold_emulator::Module;
use warpfold_kernels::catalogue::LESSONS;

#[test]
fn the_ptx_of_each_architecture_has_the_catalogue_s_entries_and_no_others() {
    let ptx = PtxSet::embedded();
    for sm in ptx.architectures() {
        let text = ptx
            .built_for(sm)
            .expect("there is a text for every architecture listed");
        let module = Module::parse(text).unwrap_or_else(|error| panic!("sm_{sm}: {error}"));
        assert_eq!(
            module.target_sm(),
            sm,
            "the text for sm_{sm} says what it is"
        );
        let in_ptx: BTreeSet<&str> = module.entries().collect();
        let in_catalogue: BTreeSet<&str> = LESSONS
            .iter()
            .filter(|lesson| lesson.least_sm <= sm)
            .flat_map(|lesson| lesson.entry_names())
            .collect();
        assert_eq!(
            in_ptx, in_catalogue,
            "left the PTX for sm_{sm}, right the catalogue"
        );
    }
}

#[test]
fn every_lesson_names_a_source_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for lesson in LESSONS {
        assert!(
            root.join(lesson.file).is_file(),
            "{}: there is no {}",
            lesson.id,
            lesson.file
        );
    }
}

#[test]
fn no_two_lessons_or_references_share_an_id() {
    let references = warpfold::oracle::CPU_REFERENCES
        .iter()
        .map(|reference| reference.id);
    let ids: Vec<&str> = LESSONS
        .iter()
        .map(|lesson| lesson.id)
        .chain(references)
        .collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
}
