//! The catalogue against what it is a catalogue of: the generated PTX, both ways, and the source files.

use std::collections::BTreeSet;
use std::path::Path;
use warpfold::ptx::PtxSet;
use warpfold_emulator::Module;
use warpfold_kernels::catalogue::{self, Module as KernelModule, lessons};

#[test]
fn the_ptx_of_each_architecture_has_the_catalogue_s_entries_and_no_others() {
    let ptx = PtxSet::embedded();
    for kernels in KernelModule::ALL {
        for sm in ptx.architectures(kernels) {
            let name = format!("{} for sm_{sm}", kernels.name());
            let text = ptx
                .built_for(kernels, sm)
                .expect("there is a text for every architecture listed");
            let module = Module::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(module.target_sm(), sm, "{name} says what it is");
            let in_ptx: BTreeSet<&str> = module.entries().collect();
            let in_catalogue: BTreeSet<&str> = catalogue::entry_names(kernels, sm).collect();
            assert_eq!(
                in_ptx, in_catalogue,
                "left the PTX of {name}, right the catalogue"
            );
        }
    }
}

#[test]
fn every_lesson_names_a_source_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for lesson in lessons() {
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
    let references = warpfold_course::oracle::CPU_REFERENCES
        .iter()
        .map(|reference| reference.id);
    let ids: Vec<&str> = lessons()
        .map(|lesson| lesson.id)
        .chain(references)
        .collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
}
