//! PTX ISA §9.7.18 "Video Instructions": any form on any operands, against the manual's pseudocode in plain Rust.

use proptest::prelude::*;
use proptest::sample::select;

use super::table::Values::Int32;
use super::table::{combinations, module, run};
use warpfold_emulator::{Memory, Module, Program};

/// An operand's selector or mask: its text, with the dot, and the elements that it names, lowest first.
#[derive(Clone, Debug)]
struct Selector {
    text: String,
    elements: Vec<usize>,
}

/// A form with its text and its meaning.
#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    /// Bits of an element: 32 for the scalar forms.
    width: u32,
    compare: &'static str,
    mode: &'static str,
    signed: [bool; 3],
    saturates: bool,
    second: &'static str,
    selectors: [Selector; 3],
}

fn ty(signed: bool) -> &'static str {
    if signed { ".s32" } else { ".u32" }
}

impl Case {
    fn text(&self) -> String {
        let count = match self.width {
            32 => "",
            16 => "2",
            _ => "4",
        };
        let [d, a, b] = self.signed.map(ty);
        let d = if self.name == "vset" { "" } else { d };
        let sat = if self.saturates { ".sat" } else { "" };
        let [to, of_a, of_b] = [0, 1, 2].map(|i| &self.selectors[i].text);
        format!(
            "{}{count}{d}{a}{b}{sat}{}{}{} d{to}, a{of_a}, b{of_b}, c;",
            self.name, self.compare, self.mode, self.second,
        )
    }

    fn meaning(&self, a: u32, b: u32, c: u32) -> u32 {
        match self.width {
            32 => self.scalar(a, b, c),
            _ => self.packed(a, b, c),
        }
    }

    fn operation(&self, a: i128, b: i128) -> i128 {
        let amount = match self.mode {
            ".wrap" => b % 32,
            _ => b.min(32),
        };
        match self.name {
            "vadd" => a + b,
            "vsub" => a - b,
            "vabsdiff" => (a - b).abs(),
            "vmin" => a.min(b),
            "vmax" => a.max(b),
            "vavrg" if a + b >= 0 => (a + b + 1).div_euclid(2),
            "vavrg" => (a + b).div_euclid(2),
            "vshl" => a * 2i128.pow(amount as u32),
            "vshr" => a.div_euclid(2i128.pow(amount as u32)),
            _ => i128::from(match self.compare {
                ".eq" => a == b,
                ".ne" => a != b,
                ".lt" => a < b,
                ".le" => a <= b,
                ".gt" => a > b,
                _ => a >= b,
            }),
        }
    }

    fn saturated(&self, value: i128, width: u32) -> i128 {
        match (self.saturates, self.signed[0]) {
            (false, _) => value,
            (true, false) => value.clamp(0, 2i128.pow(width) - 1),
            (true, true) => value.clamp(-(2i128.pow(width - 1)), 2i128.pow(width - 1) - 1),
        }
    }

    /// The part of a register that a selector of the scalar forms names: first byte and number of bytes.
    fn bytes(&self, operand: usize) -> (usize, usize) {
        match (
            &self.selectors[operand].text[..],
            self.selectors[operand].elements.first(),
        ) {
            (text, Some(&element)) if text.starts_with(".b") => (element, 1),
            (_, Some(&element)) => (2 * element, 2),
            _ => (0, 4),
        }
    }

    fn source(&self, operand: usize, register: u32) -> i128 {
        let (first, count) = self.bytes(operand);
        let bytes = &register.to_le_bytes()[first..first + count];
        number(bytes, self.signed[operand])
    }

    fn scalar(&self, a: u32, b: u32, c: u32) -> u32 {
        let (first, count) = self.bytes(0);
        let value = self.operation(self.source(1, a), self.source(2, b));
        match self.second {
            "" => {
                let mut result = c.to_le_bytes();
                result[first..first + count].copy_from_slice(&value.to_le_bytes()[..count]);
                u32::from_le_bytes(result)
            }
            _ => c.wrapping_add(value as u32),
        }
    }

    fn packed(&self, a: u32, b: u32, c: u32) -> u32 {
        let size = self.width as usize / 8;
        let both = [a.to_le_bytes(), b.to_le_bytes()].concat();
        let element = |operand: usize, place: usize| {
            let at = size * self.selectors[operand].elements[place];
            number(&both[at..at + size], self.signed[operand])
        };
        let mut bytes = c.to_le_bytes();
        let mut sum = i128::from(c);
        for &place in &self.selectors[0].elements {
            let value = self.operation(element(1, place), element(2, place));
            let value = self.saturated(value, self.width);
            sum += value;
            bytes[size * place..size * (place + 1)].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        match self.second {
            "" => u32::from_le_bytes(bytes),
            _ => sum as u32,
        }
    }
}

/// The value of bytes, the lowest first.
fn number(bytes: &[u8], signed: bool) -> i128 {
    let value = bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value * 256 + i128::from(byte));
    let range = 256i128.pow(bytes.len() as u32);
    if signed && value >= range / 2 {
        value - range
    } else {
        value
    }
}

fn whole() -> Selector {
    Selector {
        text: String::new(),
        elements: Vec::new(),
    }
}

/// `.b2`, `.h1` or none.
fn part() -> impl Strategy<Value = Selector> {
    select(vec!["", "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"]).prop_map(selector)
}

/// A part that a result goes into.
fn place() -> impl Strategy<Value = Selector> {
    select(vec!["", "", ".b0", ".b1", ".b2", ".b3", ".h0"]).prop_map(selector)
}

fn selector(text: &str) -> Selector {
    Selector {
        text: text.to_owned(),
        elements: text
            .chars()
            .filter_map(|c| c.to_digit(10))
            .map(|i| i as usize)
            .collect(),
    }
}

/// The text for elements of this many bits, lowest first.
fn spelt(width: u32, elements: Vec<usize>) -> Selector {
    let letter = if width == 16 { 'h' } else { 'b' };
    let digits: String = elements.iter().rev().map(usize::to_string).collect();
    Selector {
        text: format!(".{letter}{digits}"),
        elements,
    }
}

/// A selector of elements, or without text the one that is meant then.
fn elements(width: u32, operand: usize) -> BoxedStrategy<Selector> {
    let count = 32 / width as usize;
    let first = if operand == 2 { count } else { 0 };
    let plain = Selector {
        text: String::new(),
        elements: (first..first + count).collect(),
    };
    let chosen = match operand {
        0 => proptest::sample::subsequence((0..count).collect::<Vec<_>>(), 1..=count).boxed(),
        _ => prop::collection::vec(0..2 * count, count).boxed(),
    };
    prop_oneof![
        Just(plain),
        chosen.prop_map(move |elements| spelt(width, elements))
    ]
    .boxed()
}

const COMPARISONS: [&str; 6] = [".eq", ".ne", ".lt", ".le", ".gt", ".ge"];

fn scalar() -> impl Strategy<Value = Case> {
    let names = vec![
        "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset",
    ];
    let parts = (place(), part(), part());
    let choices = (
        select(COMPARISONS.to_vec()),
        select(vec![".clamp", ".wrap"]),
        select(vec!["", ".add"]),
    );
    (select(names), any::<[bool; 3]>(), parts, choices).prop_map(
        |(name, [d, a, b], (to, of_a, of_b), (compare, mode, second))| {
            let is_shift = matches!(name, "vshl" | "vshr");
            let is_set = name == "vset";
            Case {
                name,
                width: 32,
                compare: if is_set { compare } else { "" },
                mode: if is_shift { mode } else { "" },
                signed: [d && !is_set, a, b && !is_shift],
                saturates: false,
                second,
                selectors: [if second.is_empty() { to } else { whole() }, of_a, of_b],
            }
        },
    )
}

fn packed() -> impl Strategy<Value = Case> {
    let names = vec!["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vset"];
    select(vec![8, 16]).prop_flat_map(move |width| {
        let selectors = [0, 1, 2].map(|operand| elements(width, operand));
        let choices = (select(COMPARISONS.to_vec()), select(vec!["", ".add"]));
        (
            select(names.clone()),
            any::<([bool; 3], bool)>(),
            selectors,
            choices,
        )
            .prop_map(
                move |(name, ([d, a, b], saturates), selectors, (compare, second))| {
                    let is_set = name == "vset";
                    Case {
                        name,
                        width,
                        compare: if is_set { compare } else { "" },
                        mode: "",
                        signed: [d && !is_set, a, b],
                        saturates: saturates && !is_set && second.is_empty(),
                        second,
                        selectors,
                    }
                },
            )
    })
}

#[track_caller]
fn agrees(case: &Case, operands: &[[u32; 3]]) {
    let mut cases = combinations(&[Int32; 3]);
    cases.truncate(300);
    cases.extend(operands.iter().map(|triple| triple.map(u64::from)));
    let text = case.text();
    for (operands, result) in cases.iter().zip(run(&text, [32; 4], &cases)) {
        let [a, b, c] = operands.map(|bits| bits as u32);
        let wanted = case.meaning(a, b, c);
        assert_eq!(
            result.u32(),
            wanted,
            "`{text}` of {a:#x}, {b:#x}, {c:#x} gives {:#x}, not {wanted:#x}",
            result.0
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn forms_on_parts(case in scalar(), operands in prop::collection::vec(any::<[u32; 3]>(), 100)) {
        agrees(&case, &operands);
    }

    #[test]
    fn forms_on_several_elements(case in packed(), operands in prop::collection::vec(any::<[u32; 3]>(), 100)) {
        agrees(&case, &operands);
    }

}

/// Written out by hand, so that the pseudocode above is no mirror of the emulator's.
#[test]
fn examples() {
    for (text, a, b, c, wanted) in [
        ("vshl.s32.u32.u32.clamp d, a, b;", 1, 40, 0, 0),
        (
            "vshr.s32.s32.u32.clamp d, a.b3, b;",
            0x8000_0000,
            3,
            0,
            0xffff_fff0,
        ),
        (
            "vshr.u32.u32.u32.wrap d, a, b.h1;",
            0x100,
            0x0024_0000,
            0,
            0x10,
        ),
        ("vset.s32.u32.lt d, a, b;", 0xffff_ffff, 0, 0, 1),
        ("vset.u32.u32.ne.add d, a, b.h1, c;", 5, 0x0005_0000, 41, 41),
        (
            "vadd2.u32.u32.u32 d, a, b, c;",
            0x0001_ffff,
            0x0002_0003,
            0,
            0x0003_0002,
        ),
        (
            "vsub2.s32.s32.s32.sat d.h1, a, b, c;",
            0x8000_0000,
            0x0001_0000,
            0x1111_2222,
            0x8000_2222,
        ),
        (
            "vavrg4.s32.s32.s32 d, a, b, c;",
            0xfd02_0105,
            0xfe03_0206,
            0,
            0xfd03_0206,
        ),
        (
            "vabsdiff4.u32.u32.u32.add d, a, b, c;",
            0x0102_0304,
            0x0403_0201,
            100,
            108,
        ),
        (
            "vmin4.s32.u32.u32 d.b20, a.b0000, b.b7777, c;",
            0x09,
            0x1100_0000,
            0xaabb_ccdd,
            0xaa09_cc09,
        ),
        (
            "vmax2.u32.u32.u32 d, a.h01, b.h23, c;",
            0x0001_0002,
            0x0004_0003,
            0,
            0x0003_0004,
        ),
        (
            "vset4.u32.u32.ge d, a, b, c;",
            0x0510_0000,
            0x0411_0001,
            0,
            0x0100_0100,
        ),
        (
            "vset2.s32.s32.lt.add d, a, b, c;",
            0xffff_0001,
            0x0000_0001,
            7,
            8,
        ),
    ] {
        let [result] = run(text, [32; 4], &[[a, b, c]])[..] else {
            panic!("one case has one result")
        };
        assert_eq!(result.0, wanted, "`{text}` gives {:#x}", result.0);
    }
}

#[test]
fn numbers_are_sources_of_the_scalar_forms() {
    let of = |text: &str| run(text, [32; 4], &[[10, 20, 30]])[0].0;
    assert_eq!(of("vadd.s32.s32.s32 d, a, -3;"), 7);
    assert_eq!(of("vset.u32.u32.eq.add d, 10, a, c;"), 31);
    // Without a selector the third source plays no part.
    assert_eq!(of("vadd.u32.u32.u32 d, a, b, c;"), 30);
}

/// What ptxas refuses, and what it makes something else of than the manual says, is an error with its line.
#[test]
fn forms_that_there_are_not() {
    let refused = |text: &str, part: &str| {
        let message = match Module::parse(&module(text, [32; 4])) {
            Err(error) => error.to_string(),
            // What is not supported shows when it is compiled.
            Ok(module) => {
                let program =
                    Program::load(module, &mut Memory::new()).expect("it has no variables");
                program.kernel("test").unwrap_err().to_string()
            }
        };
        assert!(message.contains(part), "{text}: {message}");
    };
    for text in [
        "vadd.u32.u32.u32.mul d, a, b, c;",
        "vadd.u32.u32 d, a, b;",
        "vadd.b32.u32.u32 d, a, b;",
        "vshl.u32.u32.u32 d, a, b;",
        "vshl.u32.u32.s32.clamp d, a, b;",
        "vshl2.u32.u32.u32.clamp d, a, b, c;",
        "vset.u32.u32.lt.sat d, a, b;",
        "vset.u32.u32.u32.lt d, a, b;",
        "vset.u32.s32.ls d, a, b;",
        "vadd2.u32.s32.u32.sat.add d, a, b, c;",
        "vadd2.u32.s32.u32.min d, a, b, c;",
        "vavrg.s32.u32.u32 d, a, b;",
        "vmad2.u32.u32.u32 d, a, b, c;",
        "vmad.u32.u32.u32 d, a, b, c;",
        "vadd.s32.s32.s32.sat d, a, b;",
        "vadd.s32.s32.s32.min d, a, b, c;",
    ] {
        refused(text, "is not supported");
    }
    for text in [
        "vadd.u32.u32.u32 d, a.b4, b;",
        "vadd.u32.u32.u32 d, a.h10, b;",
        "vadd.u32.u32.u32.add d.b0, a, b, c;",
        "vadd.u32.u32.u32 d.h1, a, b, c;",
        "vadd2.u32.s32.u32 d.h01, a, b, c;",
        "vadd2.u32.s32.u32 d, a.h4, b, c;",
        "vadd2.u32.s32.u32 d, a.h0, b, c;",
        "vadd4.u32.s32.u32 d.b00, a, b, c;",
        "vadd4.u32.s32.u32 d, a.b01, b, c;",
        "vadd4.u32.s32.u32 d, a, b, c.b0;",
        "vadd2.u32.s32.u32 d, a.b10, b, c;",
    ] {
        refused(text, "selects nothing in operand");
    }
    for text in [
        "vadd.u32.u32.u32 d.b0, a, b;",
        "vadd.u32.u32.u32.add d, a, b;",
        "vadd2.u32.u32.u32 d, a, b;",
        "vadd.u32.u32.u32 d, a;",
        "vadd.u32.u32.u32 d, a, b, c, c;",
    ] {
        refused(text, "takes 4 operands, not");
    }
    for source in ["3", "1.5", "0f3f800000", "WARP_SZ", "nothing"] {
        let text = format!("vadd2.u32.u32.u32 d, a, {source}, c;");
        refused(&text, "are registers");
    }
    refused("vadd.u32.u32.u32 d, a.b0, nothing.b0;", "nothing");
}
