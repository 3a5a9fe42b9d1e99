//! What threads of a warp, a block and a grid can do together.

use crate::lesson::{
    Cooperation, Demonstration, Entries, Half, Lesson, Part, PtxText, Question, Task, pages,
};

pages! { "cooperation":
    REDUCING_BARRIERS_PAGE "1" "Barriers that count" "c01_reducing_barriers";
    VOTES_PAGE "2" "Votes" "c02_votes";
    MATCHES_PAGE "3" "Who holds what I hold?" "c03_matches";
    ACTIVE_MASK_PAGE "4" "Who is here?" "c04_active_mask";
    FENCE_PUBLISH_PAGE "5" "Publishing with fences" "c05_fence_publish";
    FENCE_SCOPES_PAGE "5b" "Fences of three scopes" "c05b_fence_scopes";
    CRITICAL_SECTION_PAGE "6" "One at a time" "c06_critical_section";
    PETERSON_PAGE "6b" "A lock of loads and stores" "c06b_peterson";
    ATOMICS_PAGE "7" "Atomics on integers" "c07_atomics";
    ATOMICS_ON_FLOATS_PAGE "8" "Atomics on floats" "c08_atomics_on_floats";
    NARROW_ATOMICS_PAGE "9" "Atomics on half a word" "c09_narrow_atomics";
    WIDE_SWAP_PAGE "10" "Sixteen bytes at once" "c10_wide_swap";
    COALESCED_GROUP_PAGE "11" "The lanes that are here, as a group" "c11_coalesced_group";
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
    module: Part::Cooperation.module(),
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
        id: "fence_scopes",
        title: "fences of three scopes",
        change: "a fence counts for the block, the device or the system, and what one thread passes on to the next may go further than its own fence",
        needs: &["fence_publish"],
        entries: Entries::AnyBlock("fence_scopes"),
        task: demonstration(Cooperation::FenceScopes),
        ..COOPERATION.on(&FENCE_SCOPES_PAGE)
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
        id: "peterson",
        title: "a lock of loads and stores",
        change: "two threads keep each other out without any atomic operation, by three words and three fences",
        needs: &["critical_section", "fence_scopes"],
        entries: Entries::AnyBlock("peterson"),
        task: demonstration(Cooperation::Peterson),
        ..COOPERATION.on(&PETERSON_PAGE)
    },
    Lesson {
        id: "atomics",
        title: "the atomic operations on integers",
        change: "ten operations, three types, three scopes",
        needs: &["critical_section"],
        entries: Entries::AnyBlock("atomics"),
        task: demonstration(Cooperation::Atomics),
        ..COOPERATION.on(&ATOMICS_PAGE)
    },
    Lesson {
        id: "atomics_on_floats",
        title: "atomics on floats",
        change: "floats are added atomically, and any other operation is built from compare-and-swap, such as their maximum",
        needs: &["atomics"],
        entries: Entries::AnyBlock("atomics_on_floats"),
        task: demonstration(Cooperation::AtomicsOnFloats),
        ..COOPERATION.on(&ATOMICS_ON_FLOATS_PAGE)
    },
    Lesson {
        id: "atomics_on_f16",
        title: "atomics on f16",
        change: "half a word is changed atomically, and what lies beside it is left alone",
        needs: &["atomics_on_floats"],
        entries: Entries::AnyBlock("atomics_on_f16"),
        module: PtxText::Recent,
        task: demonstration(Cooperation::NarrowAtomics(Half::F16)),
        ..COOPERATION.on(&NARROW_ATOMICS_PAGE)
    },
    Lesson {
        id: "atomics_on_bf16",
        title: "the same for bf16",
        change: "the other format of 16 bits, with the range of f32 and 8 bits of precision",
        needs: &["atomics_on_f16"],
        entries: Entries::AnyBlock("atomics_on_bf16"),
        module: PtxText::Recent,
        task: demonstration(Cooperation::NarrowAtomics(Half::Bf16)),
        least_sm: 90,
        ..COOPERATION.on(&NARROW_ATOMICS_PAGE)
    },
    Lesson {
        id: "wide_swap",
        title: "sixteen bytes at once",
        change: "two words that belong together change together, by one compare-and-swap of 128 bits and without a lock",
        needs: &["atomics_on_floats", "critical_section"],
        entries: Entries::AnyBlock("wide_swap"),
        module: PtxText::Recent,
        task: demonstration(Cooperation::WideSwap),
        least_sm: 90,
        ..COOPERATION.on(&WIDE_SWAP_PAGE)
    },
    Lesson {
        id: "coalesced_group",
        title: "the lanes that are here, as a group",
        change: "the lanes that come together have ranks, a size and a sum, so that one atomic serves all of them",
        needs: &["active_mask", "atomics"],
        entries: Entries::AnyBlock("coalesced_group"),
        task: demonstration(Cooperation::CoalescedGroup),
        least_sm: 80,
        ..COOPERATION.on(&COALESCED_GROUP_PAGE)
    },
];
