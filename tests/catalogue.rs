//! The catalogue against what it is a catalogue of: the generated PTX, both ways, and the source files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use warpfold::ptx::PtxSet;
use warpfold_emulator::{Memory, Module, Program};
use warpfold_kernels::catalogue::{
    self, Finish, Page, Part, PtxText, flagship, lessons, lessons_of, pages_of,
};

#[test]
fn the_ptx_of_each_architecture_has_the_catalogue_s_entries_and_no_others() {
    let ptx = PtxSet::embedded();
    for kernels in PtxText::ALL {
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
fn every_entry_says_which_lines_of_its_page_it_comes_from() {
    let ptx = PtxSet::embedded();
    for kernels in PtxText::ALL {
        let text = ptx.newest_for(kernels, 90).expect("there is PTX for sm_90");
        let target = text.lines().find(|line| line.starts_with(".target"));
        assert_eq!(
            target.map(|line| line.contains("debug")),
            Some(false),
            "no debugger is asked for"
        );
        let program = Program::load(
            Module::parse(text).expect("the PTX is right"),
            &mut Memory::new(),
        );
        let program = program.expect("the PTX can be loaded");
        let of_module = lessons().filter(|lesson| lesson.module == kernels);
        for lesson in of_module {
            for name in lesson.entry_names() {
                let kernel = program.kernel(name).expect("the entry can be run");
                let lines = program.module().function_lines(name).unwrap_or_default();
                let origins = lines.iter().filter_map(|&(line, _)| kernel.origin(line));
                let own = origins.filter(|origin| origin.own.file == lesson.file);
                assert!(own.count() > 0, "{name} names {}", lesson.file);
            }
        }
    }
}

#[test]
fn the_kernels_of_a_reduction_have_the_parameters_of_its_finish() {
    let ptx = PtxSet::embedded();
    let modules = PtxText::ALL.map(|kernels| {
        let text = ptx.newest_for(kernels, 90).expect("there is PTX for sm_90");
        (kernels, Module::parse(text).expect("the PTX is right"))
    });
    let bytes = |kernels, entry: &str| -> Vec<usize> {
        let (_, module) = modules
            .iter()
            .find(|(other, _)| *other == kernels)
            .expect("each module is parsed");
        let parameters = module.parameters(entry).expect("the entry is in the PTX");
        parameters.iter().map(|parameter| parameter.bytes).collect()
    };
    let expected =
        |finish: Finish| -> Vec<usize> { finish.roles().iter().map(|role| role.bytes()).collect() };
    for lesson in lessons() {
        let Some(reduction) = lesson.reduction() else {
            continue;
        };
        for entry in lesson.entry_names() {
            let found = bytes(lesson.module, entry);
            assert_eq!(found, expected(reduction.finish), "{entry}");
        }
    }
    for choice in flagship::CHOICES {
        for &addend in choice.addends {
            let launch = choice.launch(addend, 1);
            let found = bytes(flagship::MODULE, launch.entry);
            assert_eq!(found, expected(launch.finish), "{}", launch.entry);
        }
    }
}

#[test]
fn the_pages_are_the_files_in_reading_order_under_their_numbers_with_the_seven_headings() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut complaints = Vec::new();
    for part in Part::ALL {
        let folder = format!("kernels/src/{}", part.folder());
        let files = files_of(&repository, &folder);
        let pages: Vec<PageOf<'_>> = pages_of(part).iter().map(PageOf::from).collect();
        let lessons: Vec<(&str, &str)> = lessons_of(part)
            .iter()
            .map(|lesson| (lesson.file, lesson.step))
            .collect();
        complaints.extend(compare(part, &pages, &lessons, &files));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What the catalogue says of a page.
#[derive(Clone, Copy)]
struct PageOf<'a> {
    step: &'a str,
    title: &'a str,
    file: &'a str,
}

impl From<&'static Page> for PageOf<'static> {
    fn from(page: &'static Page) -> Self {
        let Page {
            step, title, file, ..
        } = *page;
        Self { step, title, file }
    }
}

/// The files of a folder that are pages, by name, with their texts: those whose names begin with the folder's letter and a number.
fn files_of(repository: &Path, folder: &str) -> BTreeMap<String, String> {
    let letter = folder
        .rsplit('/')
        .next()
        .and_then(|name| name.chars().next());
    let entries = std::fs::read_dir(repository.join(folder)).expect("a part has a folder");
    entries
        .map(|entry| entry.expect("the folder can be listed"))
        .filter_map(|entry| {
            let name = entry.file_name().into_string().expect("a name in Unicode");
            let mut characters = name.chars();
            let is_page = characters.next() == letter
                && characters
                    .next()
                    .is_some_and(|digit| digit.is_ascii_digit());
            let text = || std::fs::read_to_string(entry.path()).expect("a source can be read");
            is_page.then(|| (format!("{folder}/{name}"), text()))
        })
        .collect()
}

const HEADINGS: [&str; 7] = [
    "Before", "Idea", "Picture", "Cost", "Observe", "Break it", "Source",
];

/// What is wrong with a part: its pages and its lessons against its files, both ways.
fn compare(
    part: Part,
    pages: &[PageOf<'_>],
    lessons: &[(&str, &str)],
    files: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut complaints = Vec::new();
    let in_catalogue: Vec<&str> = pages.iter().map(|page| page.file).collect();
    let in_folder: Vec<&str> = files.keys().map(String::as_str).collect();
    if in_catalogue != in_folder {
        complaints.push(format!(
            "{part:?} has the pages {in_catalogue:?} and the files {in_folder:?}"
        ));
    }
    for page in pages {
        let PageOf { step, title, file } = *page;
        let digits = step.trim_end_matches(char::is_alphabetic);
        let letters = &step[digits.len()..];
        let number = format!("{:0>2}{letters}_", digits);
        let name = file.rsplit('/').next().unwrap_or_default();
        if name.get(1..1 + number.len()) != Some(&number) {
            complaints.push(format!("page {step} is in {file}"));
        }
        let Some(text) = files.get(file) else {
            continue;
        };
        let heading = format!("//! # {} {step} · {title}", part.heading());
        let first = text.lines().next().unwrap_or_default();
        if first != heading {
            complaints.push(format!("{file} begins with {first:?} and not {heading:?}"));
        }
        let headings: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("//! ## "))
            .collect();
        if headings != HEADINGS {
            complaints.push(format!("{file} has the headings {headings:?}"));
        }
    }
    let mut place = 0;
    for &(file, step) in lessons {
        match pages
            .iter()
            .position(|page| (page.file, page.step) == (file, step))
        {
            Some(at) if at >= place => place = at,
            Some(_) => complaints.push(format!(
                "a lesson of {file} comes after one of a later page"
            )),
            None => complaints.push(format!(
                "a lesson is number {step} in {file}, which is no page"
            )),
        }
    }
    complaints
}

#[test]
fn every_planted_difference_between_pages_files_and_lessons_is_found() {
    let text = |heading: &str| {
        let headings: String = HEADINGS
            .iter()
            .map(|name| format!("//! ## {name}\n"))
            .collect();
        format!("//! # {heading}\n{headings}")
    };
    let page = |step, title, file| PageOf { step, title, file };
    let pages = [
        page("1", "One", "d/d01_one.rs"),
        page("1b", "Two", "d/d01b_two.rs"),
    ];
    let lessons = [("d/d01_one.rs", "1"), ("d/d01b_two.rs", "1b")];
    let files = BTreeMap::from([
        ("d/d01_one.rs".to_owned(), text("Divergence 1 · One")),
        ("d/d01b_two.rs".to_owned(), text("Divergence 1b · Two")),
    ]);
    let part = Part::Divergence;
    #[track_caller]
    fn one(complaints: Vec<String>, words: &str) {
        assert!(
            matches!(&complaints[..], [complaint] if complaint.contains(words)),
            "{complaints:?}"
        );
    }
    assert_eq!(compare(part, &pages, &lessons, &files), [""; 0]);

    let mut changed = files.clone();
    changed.insert("d/d03_more.rs".to_owned(), String::new());
    one(compare(part, &pages, &lessons, &changed), "d03_more.rs");
    let mut changed = files.clone();
    changed.remove("d/d01b_two.rs");
    one(compare(part, &pages, &lessons, &changed), "d01b_two.rs");
    let exchanged = [pages[1], pages[0]];
    one(
        compare(part, &exchanged, &lessons[..1], &files),
        "has the pages",
    );
    for heading in ["Divergence 2 · One", "Step 1 · One", "Divergence 1 · Two"] {
        let mut changed = files.clone();
        changed.insert("d/d01_one.rs".to_owned(), text(heading));
        one(compare(part, &pages, &lessons, &changed), "begins with");
    }
    let mut changed = files.clone();
    changed.insert(
        "d/d01_one.rs".to_owned(),
        text("Divergence 1 · One").replace("//! ## Cost\n", ""),
    );
    one(
        compare(part, &pages, &lessons, &changed),
        "has the headings",
    );
    let renumbered = [page("2", "One", "d/d01_one.rs"), pages[1]];
    let complaints = compare(part, &renumbered, &lessons, &files);
    assert!(
        complaints
            .iter()
            .any(|line| line == "page 2 is in d/d01_one.rs"),
        "{complaints:?}"
    );
    one(
        compare(part, &pages, &[lessons[1], lessons[0]], &files),
        "later page",
    );
    one(
        compare(part, &pages, &[("d/d01_one.rs", "3")], &files),
        "which is no page",
    );
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
