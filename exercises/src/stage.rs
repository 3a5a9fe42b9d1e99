//! The stages of a judgement, each of which may convict a solution.

use std::fmt;

use serde::{Serialize, Serializer};
use warpfold_emulator::Tool;

macro_rules! stages {
    ($($(#[doc = $text:literal])* $variant:ident $name:literal;)*) => {
        /// A stage of a judgement. A solution is convicted by the first that it fails.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Stage {
            $($(#[doc = $text])* $variant,)*
        }

        impl Stage {
            /// All of them, in their order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name, as files and messages write it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

stages! {
    /// It does not compile, or has no kernel of this name and with these parameters.
    Build "build";
    /// It contains an instruction that is forbidden.
    Forbidden "forbidden";
    /// It accesses memory that it must not.
    Memory "memory";
    /// The wrong threads reach a barrier or a shuffle.
    Barriers "barriers";
    /// Nothing orders two accesses of which one is a write.
    Races "races";
    /// It reads memory that nothing has written.
    Initialisation "initialisation";
    /// It does not end.
    Steps "steps";
    /// The result is wrong.
    Result "result";
    /// The result is right in the usual order of threads and wrong in another.
    Schedules "schedules";
    /// The counter that gives stars is more than 1.02 times the reference's.
    Counter "counter";
    /// What was gained is paid elsewhere.
    Gate "gate";
}

impl Stage {
    /// The stage of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stage| stage.name() == name)
    }
}

impl From<Tool> for Stage {
    fn from(tool: Tool) -> Self {
        match tool {
            Tool::Memcheck => Self::Memory,
            Tool::Initcheck => Self::Initialisation,
            Tool::Synccheck => Self::Barriers,
            Tool::Racecheck => Self::Races,
            Tool::Schedules => Self::Schedules,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Stage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
