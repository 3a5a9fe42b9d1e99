//! What threads of a warp, a block and a grid can do together.

use crate::lesson::{Cooperation, Demonstration, Entries, Lesson, Part, Question, Task, pages};

pages! { "cooperation":
    REDUCING_BARRIERS_PAGE "1" "Barriers that count" "c01_reducing_barriers";
    VOTES_PAGE "2" "Votes" "c02_votes";
    MATCHES_PAGE "3" "Who holds what I hold?" "c03_matches";
    ACTIVE_MASK_PAGE "4" "Who is here?" "c04_active_mask";
    FENCE_PUBLISH_PAGE "5" "Publishing with fences" "c05_fence_publish";
    CRITICAL_SECTION_PAGE "6" "One at a time" "c06_critical_section";
    ATOMICS_PAGE "7" "Atomics on integers" "c07_atomics";
}

const fn demonstration(cooperation: Cooperation) -> Task {
    Task::Demonstration(Demonstration::Cooperation(cooperation))
}

const fn question(question: Question) -> Task {
    demonstration(Cooperation::Question(question))
}

/// What the lessons of this part have in common; each row states the rest.
const COOPERATION: Lesson = Lesson {
    id: "",
    part: Part::Cooperation,
    step: "",
    title: "",
    change: "",
    needs: &[],
    file: "",
    entries: Entries::AnyBlock(""),
    least_block: 1,
    parameter: None,
    task: demonstration(Cooperation::Atomics),
    cooperative: false,
    least_sm: 70,
    exhibit: None,
    emulator_only: false,
};

/// The lessons of page 1: barriers that reduce one bit.
const BARRIERS: Lesson = Lesson {
    needs: &["neighbored"],
    ..COOPERATION.on(&REDUCING_BARRIERS_PAGE)
};

/// The lessons of page 2: votes.
const VOTES: Lesson = Lesson {
    needs: &["shuffle"],
    ..COOPERATION.on(&VOTES_PAGE)
};

/// The lessons of page 3: matches.
const MATCHES: Lesson = Lesson {
    needs: &["ballot"],
    ..COOPERATION.on(&MATCHES_PAGE)
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "barrier_count",
        title: "a barrier that counts",
        change: "every thread learns from a barrier for how many threads of the block a predicate holds",
        entries: Entries::AnyBlock("barrier_count"),
        task: question(Question::BlockCount),
        ..BARRIERS
    },
    Lesson {
        id: "barrier_and",
        title: "whether all agree",
        change: "the same for whether it holds for all",
        entries: Entries::AnyBlock("barrier_and"),
        task: question(Question::BlockAll),
        ..BARRIERS
    },
    Lesson {
        id: "barrier_or",
        title: "whether any does",
        change: "the same for whether it holds for any",
        entries: Entries::AnyBlock("barrier_or"),
        task: question(Question::BlockAny),
        ..BARRIERS
    },
    Lesson {
        id: "vote_all",
        title: "a warp votes: all?",
        change: "the lanes of a warp learn whether a predicate holds for all of them, without the rest of the block",
        entries: Entries::AnyBlock("vote_all"),
        task: question(Question::WarpAll),
        ..VOTES
    },
    Lesson {
        id: "vote_any",
        title: "any?",
        change: "the same for whether it holds for any",
        entries: Entries::AnyBlock("vote_any"),
        task: question(Question::WarpAny),
        ..VOTES
    },
    Lesson {
        id: "ballot",
        title: "who?",
        change: "the same for which lanes it holds in, one bit each, from which all other answers follow",
        entries: Entries::AnyBlock("ballot"),
        task: question(Question::WarpBallot),
        ..VOTES
    },
    Lesson {
        id: "match_any",
        title: "who holds what I hold?",
        change: "each lane learns which lanes hold the same value as itself",
        entries: Entries::AnyBlock("match_any"),
        task: question(Question::WarpEqual),
        ..MATCHES
    },
    Lesson {
        id: "match_all",
        title: "do all hold the same?",
        change: "the same for whether all do, which follows from it",
        entries: Entries::AnyBlock("match_all"),
        task: question(Question::WarpAllEqual),
        ..MATCHES
    },
    Lesson {
        id: "active_mask",
        title: "who is here?",
        change: "the hardware says which lanes execute an instruction together, which is less than it seems",
        needs: &["ballot"],
        entries: Entries::AnyBlock("active_mask"),
        task: demonstration(Cooperation::ActiveMask),
        least_sm: 80,
        ..COOPERATION.on(&ACTIVE_MASK_PAGE)
    },
    Lesson {
        id: "fence_publish",
        title: "publishing with fences",
        change: "fences order what one block writes for another that reads it",
        needs: &["barrier_count"],
        entries: Entries::AnyBlock("fence_publish"),
        task: demonstration(Cooperation::FencePublish),
        ..COOPERATION.on(&FENCE_PUBLISH_PAGE)
    },
    Lesson {
        id: "critical_section",
        title: "one at a time",
        change: "a lock of one atomic word and two fences lets threads change several words together",
        needs: &["fence_publish"],
        entries: Entries::AnyBlock("critical_section"),
        task: demonstration(Cooperation::CriticalSection),
        ..COOPERATION.on(&CRITICAL_SECTION_PAGE)
    },
    Lesson {
        id: "atomics",
        title: "every atomic there is",
        change: "eleven operations, three types, three scopes",
        needs: &["critical_section"],
        entries: Entries::AnyBlock("atomics"),
        task: demonstration(Cooperation::Atomics),
        ..COOPERATION.on(&ATOMICS_PAGE)
    },
];
