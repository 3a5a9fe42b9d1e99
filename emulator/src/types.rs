//! Scalar types and state spaces, spelt as the PTX ISA spells them (PTX ISA §5.1 "State Spaces", §5.2 "Types").

/// A fundamental type of the PTX ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl Scalar {
    /// Reads the spelling without its dot: `u32`.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "pred" => Self::Pred,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    /// Size in bytes; a predicate has none in memory and counts as 1.
    pub fn bytes(self) -> usize {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }
}

/// Where a variable or an address lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Any address; windows of it map shared, local and parameter memory.
    Generic,
    /// Device memory, seen by all blocks.
    Global,
    /// The block's scratchpad.
    Shared,
    /// A thread's own memory.
    Local,
    /// Read-only device memory of the module.
    Const,
    /// Kernel and function parameters.
    Param,
}

impl Space {
    /// Reads the spelling without its dot: `shared`. `shared::cta` is the same space for a cluster of one block.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "global" => Self::Global,
            "shared" | "shared::cta" | "shared::cluster" => Self::Shared,
            "local" => Self::Local,
            "const" => Self::Const,
            "param" | "param::entry" | "param::func" => Self::Param,
            _ => return None,
        })
    }

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
        }
    }
}
