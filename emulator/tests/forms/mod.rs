//! The forms of arithmetic instructions that were measured on a GPU, their operands, and a kernel for each.
//!
//! A form's operands come from the number of its row: new forms go to the end of the table, or all are to be measured again.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use warpfold_emulator::{Launch, Memory, Module, Nothing, Program, launch};

const TABLE: &str = include_str!("../data/arithmetic.h200.tsv");

/// Each form is executed by this many threads of one block, each with operands of its own.
pub const COUNT: usize = 1024;

/// A line of the table.
pub struct Form {
    number: usize,
    /// PTX, with `d` for the result and `a`, `b`, `c` for the operands.
    pub instruction: &'static str,
    result: &'static str,
    operands: Vec<&'static str>,
    /// Of all results, in 64 bits each.
    pub digest: &'static str,
}

impl Form {
    /// The lines of the table.
    pub fn all() -> Vec<Self> {
        let lines = TABLE.lines().skip(1).enumerate();
        lines
            .map(|(number, line)| {
                let cells: Vec<&str> = line.split('\t').collect();
                let &[instruction, result, operands, digest] = &cells[..] else {
                    panic!("{line}");
                };
                Self {
                    number,
                    instruction,
                    result,
                    operands: operands.split(' ').collect(),
                    digest,
                }
            })
            .collect()
    }

    /// The kernel's name.
    pub fn entry(&self) -> String {
        format!("form_{}", self.number)
    }

    /// The operands a of all threads, then b, then c: 64 bits each, of which the lowest count.
    pub fn operands(&self) -> Vec<u8> {
        let mut random = ChaCha8Rng::seed_from_u64(self.number as u64);
        let mut bytes = Vec::with_capacity(3 * 8 * COUNT);
        for operand in 0..3 {
            for _ in 0..COUNT {
                let ty = self.operands.get(operand);
                let value = ty.map_or(0, |ty| draw(ty, &mut random));
                bytes.extend(value.to_le_bytes());
            }
        }
        bytes
    }

    fn kernel(&self) -> String {
        let mut lines = vec![
            format!(
                ".visible .entry {}(.param .u64 operands, .param .u64 results)",
                self.entry()
            ),
            "{".to_owned(),
            ".reg .u32 %thread; .reg .u64 %offset, %operands, %results; .reg .b16 %bit;".to_owned(),
            "mov.u32 %thread, %tid.x; mul.wide.u32 %offset, %thread, 8;".to_owned(),
            "ld.param.u64 %operands, [operands]; add.u64 %operands, %operands, %offset;".to_owned(),
            "ld.param.u64 %results, [results]; add.u64 %results, %results, %offset;".to_owned(),
        ];
        for (operand, (name, ty)) in ["a", "b", "c"].iter().zip(&self.operands).enumerate() {
            let (bits, at) = (bits_of_register(ty), 8 * COUNT * operand);
            lines.push(format!(
                ".reg .b{bits} {name}; ld.global.b{bits} {name}, [%operands+{at}];"
            ));
        }
        if self.result == "pred" {
            lines.push(format!(".reg .pred d; {}", self.instruction));
            lines.push("selp.b16 %bit, 1, 0, d; st.global.b16 [%results], %bit;".to_owned());
        } else {
            let bits = bits_of_register(self.result);
            lines.push(format!(".reg .b{bits} d; {}", self.instruction));
            lines.push(format!("st.global.b{bits} [%results], d;"));
        }
        lines.push("ret;\n}\n".to_owned());
        lines.join("\n")
    }
}

/// A module with the kernel of each form.
pub fn module(forms: &[Form]) -> String {
    let kernels: String = forms.iter().map(Form::kernel).collect();
    format!(".version 8.7\n.target sm_90\n.address_size 64\n{kernels}")
}

/// What the emulator gives for the operands of each form, in 64 bits each.
pub fn emulate(forms: &[Form]) -> Vec<Vec<u8>> {
    let mut memory = Memory::new();
    let module = Module::parse(&module(forms)).unwrap();
    let program = Program::load(module, &mut memory).unwrap();
    let operands = memory.allocate(3 * 8 * COUNT).unwrap();
    let results = memory.allocate(8 * COUNT).unwrap();
    let arguments = [operands, results].map(|address| address.to_le_bytes().to_vec());
    let shape = Launch {
        grid: [1, 1, 1],
        block: [COUNT as u32, 1, 1],
        ..Launch::default()
    };
    let execute = |form: &Form| {
        let mut bytes = vec![0; 8 * COUNT];
        memory.write(operands, &form.operands()).unwrap();
        memory.write(results, &bytes).unwrap();
        let kernel = program.kernel(&form.entry()).unwrap();
        launch(&kernel, &memory, &shape, &arguments, &mut Nothing).unwrap();
        memory.read(results, &mut bytes).unwrap();
        bytes
    };
    forms.iter().map(execute).collect()
}

/// What the table keeps of the results.
pub fn digest(results: &[u8]) -> String {
    let digest = Sha256::digest(results);
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn bits_of_register(ty: &str) -> u32 {
    bits_of(ty).max(16)
}

fn bits_of(ty: &str) -> u32 {
    match ty {
        "u8" | "s8" => 8,
        "u16" | "s16" | "b16" | "f16" | "bf16" => 16,
        "u64" | "s64" | "b64" | "f64" => 64,
        _ => 32,
    }
}

/// Half of the values are from a list of those where rounding, saturation and the like change what they do; a quarter differ from
/// one of these in some low bits; the others are any.
fn draw(ty: &str, random: &mut ChaCha8Rng) -> u64 {
    if let Some(half) = ty.strip_suffix("x2").filter(|half| half.ends_with("f16")) {
        return draw(half, random) | draw(half, random) << 16;
    }
    let bits = bits_of(ty);
    let list: &[u64] = match ty {
        "f16" => &F16,
        "bf16" => &BF16,
        "f32" => &F32,
        "f64" => &F64,
        // What is beyond the lanes of a warp, in both directions, is undefined, but not far beyond.
        "lane" => return random.next_u64() % 40,
        "distance" => return (random.next_u64() % 80).wrapping_sub(40),
        _ => &INTEGERS,
    };
    let [choice, low, any] = [(); 3].map(|()| random.next_u64());
    let chosen = list[(choice >> 8) as usize % list.len()];
    let value = match choice % 4 {
        0 | 1 => chosen,
        2 => chosen ^ low & ((1 << (any % u64::from(bits))) - 1),
        _ => any,
    };
    value & (u64::MAX >> (64 - bits))
}

/// Cut off to the type.
const INTEGERS: [u64; 32] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x00ff_ffff,
    0x0100_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x5555_5555_5555_5555,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];
const F16: [u64; 26] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3bff, 0x3c00, 0xbc00, 0x7bff,
    0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0xfd55, 0x7fff, 0x3800, 0x37ff, 0x4100, 0x4300,
    0x5bf8, 0x7800,
];
const BF16: [u64; 26] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x0080, 0x8080, 0x3f7f, 0x3f80, 0xbf80, 0x7f7f,
    0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0xffaa, 0x7fff, 0x3f00, 0x3eff, 0x4020, 0x4060,
    0x437f, 0x4f00,
];
/// Zeros, the least, subnormal, normal and greatest values, NaNs, halves, the limits of integers and of narrower floats.
const F32: [u64; 48] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0000,
    0x7f80_0001,
    0xff81_2345,
    0x7fff_ffff,
    0x3eff_ffff,
    0x3f00_0000,
    0x4020_0000,
    0x4060_0000,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x5f00_0000,
    0x437f_0000,
    0x437f_8000,
    0x43ff_8000,
    0xc300_0000,
    0xc300_8000,
    0x477f_e000,
    0x477f_f000,
    0x4780_0000,
    0x3300_0000,
    0x3380_0000,
    0x387f_c000,
    0x3880_0000,
    0x43e0_0000,
    0x43e8_0000,
    0x43f0_0000,
    0x4760_0000,
    0x3c80_0000,
    0x3b00_0000,
    0x3a80_0000,
    0x0d80_0000,
];
const F64: [u64; 44] = [
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0xfff1_2345_6789_abcd,
    0x7fff_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000,
    0x3fdf_ffff_ffff_ffff,
    0xbfe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0xbff8_0000_0000_0000,
    0x406f_f000_0000_0000,
    0xc060_1000_0000_0000,
    0x40ef_fc00_0000_0000,
    0x40ef_fdff_ffff_ffff,
    0x40ef_fe00_0000_0000,
    0x40f0_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x41e0_0000_0000_0000,
    0xc1e0_0000_0010_0000,
    0x41f0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0xc3e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x47ef_ffff_e000_0000,
    0x47ef_ffff_f000_0000,
    0x380f_ffff_ffff_ffff,
    0x3810_0000_0000_0000,
    0x36a0_0000_0000_0000,
    0x3690_0000_0000_0000,
];
