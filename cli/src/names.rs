//! The names that users type: what each stands for, and which command takes it.

use super::suggest::{LIKE, likeness};
use std::path::Path;
use warpfold_course::host_lesson::HOST_LESSONS;
use warpfold_course::oracle::CPU_REFERENCES;
use warpfold_exercises::EXERCISES;
use warpfold_exhibits::catalogue::EXHIBITS;
use warpfold_kernels::catalogue::lessons;

/// What a name may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Lesson,
    CpuReference,
    HostLesson,
    Exhibit,
    Exercise,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Lesson,
        Self::CpuReference,
        Self::HostLesson,
        Self::Exhibit,
        Self::Exercise,
    ];

    fn noun(self) -> &'static str {
        match self {
            Self::Lesson => "lesson",
            Self::CpuReference => "CPU reference",
            Self::HostLesson => "host lesson",
            Self::Exhibit => "exhibit",
            Self::Exercise => "exercise",
        }
    }

    /// The command that is for names of this kind.
    fn command(self) -> &'static str {
        match self {
            Self::Lesson | Self::CpuReference => "run",
            Self::HostLesson => "host-lesson",
            Self::Exhibit => "check",
            Self::Exercise => "exercise",
        }
    }

    /// The command that lists them.
    fn list(self) -> &'static str {
        match self {
            Self::Lesson | Self::CpuReference | Self::HostLesson => "lessons",
            Self::Exhibit => "check --help",
            Self::Exercise => "exercise",
        }
    }

    fn names(self) -> Vec<&'static str> {
        match self {
            Self::Lesson => lessons().map(|lesson| lesson.id).collect(),
            Self::CpuReference => CPU_REFERENCES.iter().map(|cpu| cpu.id).collect(),
            Self::HostLesson => HOST_LESSONS.iter().map(|lesson| lesson.id).collect(),
            Self::Exhibit => EXHIBITS.iter().map(|exhibit| exhibit.id).collect(),
            Self::Exercise => EXERCISES.iter().map(|exercise| exercise.id).collect(),
        }
    }
}

/// What somebody may have meant.
struct Meant {
    name: &'static str,
    kind: Kind,
    likeness: f64,
}

impl Meant {
    /// Of all names the most like this one; among equals one of a kind that is wanted.
    fn by(name: &str, wanted: &[Kind]) -> Option<Self> {
        let name = name.to_lowercase().replace('-', "_");
        let of_kind = |kind: Kind| {
            let name = &name;
            kind.names().into_iter().map(move |known| Self {
                name: known,
                kind,
                likeness: likeness(name, known),
            })
        };
        let rank = |meant: &Self| (meant.likeness, wanted.contains(&meant.kind));
        Kind::ALL
            .into_iter()
            .flat_map(of_kind)
            .filter(|meant| meant.likeness > LIKE)
            // Of equals the first.
            .reduce(|best, next| {
                if rank(&next) > rank(&best) {
                    next
                } else {
                    best
                }
            })
    }

    fn command(&self) -> String {
        format!("warpfold {} {}", self.kind.command(), self.name)
    }
}

/// Why a command refuses a name that is none of the kinds it takes, and none of the `others` that it knows: with the command, or the
/// name, that was meant.
pub fn refusal(name: &str, wanted: &[Kind], others: &[&str]) -> String {
    let first = wanted[0];
    let no_such = format!("there is no {} `{name}`", first.noun());
    if let Some(command) = of_file(name) {
        return format!("{no_such}; for a file there is `warpfold {command} {name}`");
    }
    if let Some(other) = others.iter().find(|other| likeness(name, other) > LIKE) {
        return format!("{no_such}; did you mean `{other}`?");
    }
    match Meant::by(name, wanted) {
        Some(meant) if wanted.contains(&meant.kind) => {
            format!("{no_such}; did you mean `{}`?", meant.name)
        }
        Some(meant) if meant.likeness >= 1.0 => {
            let noun = meant.kind.noun();
            let article = if noun.starts_with('e') { "an" } else { "a" };
            format!("{no_such}, but {article} {noun}: `{}`", meant.command())
        }
        Some(meant) => format!("{no_such}; did you mean `{}`?", meant.command()),
        None => format!("{no_such}; `warpfold {}` lists them", first.list()),
    }
}

/// The command line that somebody may have meant who gave a name or a file in the place of a command: where the name is known, or else
/// is like a known one, as `exactly` asks.
pub fn command_line(name: &str, exactly: bool) -> Option<String> {
    if let Some(command) = of_file(name) {
        return Some(format!("warpfold {command} {name}"));
    }
    Meant::by(name, &[])
        .filter(|meant| !exactly || meant.likeness >= 1.0)
        .map(|meant| meant.command())
}

/// The command for files whose names end like this.
fn of_file(name: &str) -> Option<&'static str> {
    match Path::new(name).extension()?.to_str()? {
        "rs" => Some("try"),
        "ptx" => Some("emulate"),
        "npy" | "npz" | "csv" | "tsv" => Some("reduce"),
        "png" | "jpg" | "jpeg" | "bmp" => Some("histogram"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_kind_is_answered_with_its_command() {
        for (name, wanted, answer) in [
            ("roofline", Kind::Lesson, "`warpfold host-lesson roofline`"),
            (
                "two-stage",
                Kind::Lesson,
                "`warpfold host-lesson two_stage`",
            ),
            (
                "missing_barier",
                Kind::Lesson,
                "`warpfold check missing_barrier`",
            ),
            ("guard", Kind::Lesson, "`warpfold exercise guard`"),
            ("cpu_paralel", Kind::Lesson, "`warpfold run cpu_parallel`"),
            ("shuffle", Kind::HostLesson, "`warpfold run shuffle`"),
            ("shufle", Kind::Lesson, "did you mean `shuffle`?"),
            ("a/mine.rs", Kind::Lesson, "`warpfold try a/mine.rs`"),
            ("xyz", Kind::Exercise, "`warpfold exercise` lists them"),
        ] {
            let refusal = refusal(name, &[wanted], &[]);
            assert!(refusal.contains(answer), "{name}: {refusal}");
        }
    }

    #[test]
    fn every_command_takes_the_names_that_it_is_said_to_take() {
        for kind in Kind::ALL {
            assert!(!kind.names().is_empty(), "{kind:?}");
            for name in kind.names() {
                let meant = Meant::by(name, &[kind]).expect("it is known");
                assert_eq!((meant.name, meant.kind), (name, kind));
            }
        }
    }

    #[test]
    fn the_beginning_of_a_name_is_enough() {
        for (name, command) in [
            ("shuf", Some("warpfold run shuffle")),
            ("roof", Some("warpfold host-lesson roofline")),
            ("sum.ptx", Some("warpfold emulate sum.ptx")),
            ("climb", None),
        ] {
            assert_eq!(command_line(name, false).as_deref(), command, "{name}");
        }
    }
}
