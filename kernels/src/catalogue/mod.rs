//! The one list of kernels. The command line, the tests, the benches, the README and `cargo xtask build-ptx`
//! all read it; a test compares it with the `.entry` names in the generated PTX, both ways.
//!
//! Each part of the course has its rows in its folder, in `catalogue.rs`; [`lessons`] gives all of them in reading order, and
//! [`pages_of`] the files that they are in.

pub mod flagship;

pub use crate::lesson::{
    BLOCK_SIZES, Cooperation, Demonstration, Divergence, ElementType, Entries, Finish, Geometry,
    Half, Histogram, Lesson, Memory, Nested, Operator, Page, Parameter, Part, PtxText, Question,
    Reduction, Role, Scan, Shapes, Task, Variant, Worker,
};

use crate::{
    cooperation, divergence, histogram, ladder, memory, nested, operators, roads, scans, shapes,
};

/// The lessons of a part in reading order.
pub const fn lessons_of(part: Part) -> &'static [Lesson] {
    match part {
        Part::Ladder => ladder::catalogue::LESSONS,
        Part::Roads => roads::catalogue::LESSONS,
        Part::Nested => nested::catalogue::LESSONS,
        Part::Divergence => divergence::catalogue::LESSONS,
        Part::Memory => memory::catalogue::LESSONS,
        Part::Cooperation => cooperation::catalogue::LESSONS,
        Part::Scans => scans::catalogue::LESSONS,
        Part::Shapes => shapes::catalogue::LESSONS,
        Part::Histogram => histogram::catalogue::LESSONS,
        Part::Operators => operators::catalogue::LESSONS,
    }
}

/// The pages of a part in reading order: the files of its lessons, and those that a reader needs between them.
pub const fn pages_of(part: Part) -> &'static [Page] {
    match part {
        Part::Ladder => ladder::catalogue::PAGES,
        Part::Roads => roads::catalogue::PAGES,
        Part::Nested => nested::catalogue::PAGES,
        Part::Divergence => divergence::catalogue::PAGES,
        Part::Memory => memory::catalogue::PAGES,
        Part::Cooperation => cooperation::catalogue::PAGES,
        Part::Scans => scans::catalogue::PAGES,
        Part::Shapes => shapes::catalogue::PAGES,
        Part::Histogram => histogram::catalogue::PAGES,
        Part::Operators => operators::catalogue::PAGES,
    }
}

/// All lessons in reading order.
pub fn lessons() -> impl Iterator<Item = &'static Lesson> + Clone {
    Part::ALL.into_iter().flat_map(lessons_of)
}

/// The lesson of that id.
pub fn find(id: &str) -> Option<&'static Lesson> {
    lessons().find(|lesson| lesson.id == id)
}

/// The names of all entries that a PTX text exports for this compute capability, no more and no less: those of the lessons,
/// and those of the flagship that no lesson is about.
pub fn entry_names(module: PtxText, sm: u32) -> impl Iterator<Item = &'static str> {
    let of_lessons = lessons()
        .filter(move |lesson| lesson.module == module && lesson.least_sm <= sm)
        .flat_map(Lesson::entry_names);
    let has_flagship = module == flagship::MODULE && sm >= flagship::LEAST_SM;
    let of_flagship = flagship::entries().filter(move |_| has_flagship);
    of_lessons.chain(of_flagship.filter(|name| !is_of_a_lesson(name)))
}

fn is_of_a_lesson(entry: &str) -> bool {
    lessons().any(|lesson| lesson.entry_names().any(|name| name == entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_entries_are_unique() {
        for (i, lesson) in lessons().enumerate() {
            assert_eq!(
                lessons().position(|other| other.id == lesson.id),
                Some(i),
                "{}",
                lesson.id
            );
        }
        let names = || lessons().flat_map(Lesson::entry_names);
        for (i, name) in names().enumerate() {
            assert_eq!(names().position(|other| other == name), Some(i), "{name}");
        }
    }

    #[test]
    fn every_lesson_takes_every_block_size_and_no_other() {
        for lesson in lessons() {
            for variant in lesson.variants() {
                assert!(
                    lesson.entry(variant).is_some(),
                    "{} as {variant:?}",
                    lesson.id
                );
            }
            for block in [0, 1, 32, 63, 100, 2048] {
                let variant = lesson.usual(block);
                assert_eq!(lesson.entry(variant), None, "{} at {block}", lesson.id);
            }
        }
    }

    #[test]
    fn a_parameter_has_its_usual_value_among_its_values_and_an_entry_for_each() {
        for lesson in lessons() {
            if let Some(parameter) = lesson.parameter {
                assert!(parameter.values.contains(&parameter.usual), "{}", lesson.id);
                assert!(parameter.values.is_sorted(), "{}", lesson.id);
            }
            let per_parameter = matches!(lesson.entries, Entries::PerParameter(_));
            assert!(
                !per_parameter || lesson.parameter.is_some(),
                "{}",
                lesson.id
            );
        }
    }

    #[test]
    fn lessons_come_in_their_part_after_what_they_need() {
        for part in Part::ALL {
            for lesson in lessons_of(part) {
                assert_eq!(lesson.part, part, "{}", lesson.id);
            }
            assert!(
                part.needs().iter().all(|&needed| needed != part),
                "{part:?}"
            );
        }
        for (i, lesson) in lessons().enumerate() {
            for needed in lesson.needs {
                let place = lessons().position(|other| other.id == *needed);
                assert!(
                    place.is_some_and(|place| place < i),
                    "{} needs {needed}",
                    lesson.id
                );
            }
        }
    }

    #[test]
    fn the_ladder_is_the_sum_of_i32() {
        for lesson in lessons_of(Part::Ladder) {
            let reduction = lesson.reduction().expect("a step of the ladder reduces");
            let sum_of_i32 = (Operator::Sum, ElementType::I32);
            assert_eq!((reduction.operator, reduction.element_type), sum_of_i32);
        }
    }

    #[test]
    fn an_entry_per_block_size_names_its_size() {
        let shuffle = find("shuffle").unwrap();
        assert_eq!(shuffle.entry(shuffle.usual(512)), Some("shuffle_512"));
        let unroll2 = find("unroll2").unwrap();
        assert_eq!(unroll2.entry(unroll2.usual(512)), Some("unroll2"));
        assert_eq!(find("shuffle_512"), None);
    }

    #[test]
    fn the_grid_covers_every_element_and_has_no_block_without_one() {
        let blocks = |id: &str, n, block| {
            let lesson = find(id).unwrap();
            let reduction = lesson.reduction().unwrap();
            reduction.blocks(n, lesson.usual(block), 132)
        };
        assert_eq!(blocks("unroll8", 0, 512), 0);
        assert_eq!(blocks("unroll8", 1, 512), 1);
        assert_eq!(blocks("unroll8", 4096, 512), 1);
        assert_eq!(blocks("unroll8", 4097, 512), 2);
        assert_eq!(blocks("neighbored", 1 << 32, 64), 1 << 26);
    }

    #[test]
    fn a_geometry_may_have_a_limit() {
        let sum = *find("unroll8").unwrap().reduction().unwrap();
        let variant = |parameter| Variant {
            block: 512,
            parameter,
        };
        let one_block = Reduction {
            geometry: Geometry::OneBlock {
                elements_per_thread: 2,
            },
            ..sum
        };
        assert_eq!(one_block.most_elements(variant(None)), Some(1024));
        assert_eq!(one_block.blocks(1000, variant(None), 132), 1);
        assert_eq!(one_block.blocks(0, variant(None), 132), 0);
        let resident = Reduction {
            geometry: Geometry::Resident {
                elements_per_thread: 16,
                threads_per_multiprocessor: 2048,
            },
            ..sum
        };
        assert_eq!(resident.blocks(1 << 30, variant(None), 132), 4 * 132);
        assert_eq!(resident.blocks(16 * 512 + 1, variant(None), 132), 2);
        let coarse = Reduction {
            geometry: Geometry::TilesTimesParameter {
                elements_per_thread: 2,
            },
            ..sum
        };
        assert_eq!(coarse.blocks(8192, variant(Some(4)), 132), 2);
    }
}
