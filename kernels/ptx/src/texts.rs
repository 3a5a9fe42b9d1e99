//! The texts. A program is linked with those that it uses.

/// A module's texts: the compute capability that each is built for (80 for `sm_80`), and its PTX.
pub type Texts = [(u32, &'static str); 3];

macro_rules! texts {
    ($module:literal) => {
        [
            (70, include_str!(concat!("../", $module, ".sm_70.ptx"))),
            (80, include_str!(concat!("../", $module, ".sm_80.ptx"))),
            (90, include_str!(concat!("../", $module, ".sm_90.ptx"))),
        ]
    };
}

/// All kernels that need nothing special.
pub static KERNELS: Texts = texts!("kernels");

/// Kernels that launch kernels: a GPU's driver has to link them with the device runtime.
pub static NESTED: Texts = texts!("nested");

/// What takes a later version of PTX than the others, and so a newer driver.
pub static RECENT: Texts = texts!("recent");

/// The generic bodies, with an entry for each operator and type.
pub static OPERATORS: Texts = texts!("operators");

/// The registers of the kernels in the texts above: see [`registers`](crate::registers).
pub static REGISTERS: &str = include_str!("../registers.txt");

/// The exhibits, which are wrong on purpose, with line tables. Any architecture would show the same mistakes.
pub static EXHIBITS: &str = include_str!("../exhibits.sm_80.ptx");
