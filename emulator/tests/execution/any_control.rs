//! Any program of branches, loops, tables, calls and returns gives each lane what it gives when that lane runs alone, whatever the
//! schedule.

use crate::common::{HEADER, Machine, block};
use proptest::prelude::*;
use std::fmt::Write;
use warpfold_emulator::{Nothing, launch_scheduled};

#[derive(Clone, Debug)]
enum Statement {
    Step(u32),
    If(u32, Vec<Statement>, Vec<Statement>),
    Loop(u32, Vec<Statement>),
    /// Leaves the loop, or goes on with its next round, if a bit is set.
    Break(u32),
    Continue(u32),
    Switch(u32, [Vec<Statement>; 3]),
    Return(u32),
    Exit(u32),
    Call(usize),
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let bit = || 0u32..20;
    let leaf = prop_oneof![
        4 => any::<u32>().prop_map(Statement::Step),
        1 => bit().prop_map(Statement::Break),
        1 => bit().prop_map(Statement::Continue),
        1 => bit().prop_map(Statement::Return),
        1 => bit().prop_map(Statement::Exit),
        2 => (0usize..2).prop_map(Statement::Call),
    ];
    let some = |inner: BoxedStrategy<Statement>| prop::collection::vec(inner, 0..4);
    let statement = leaf.prop_recursive(4, 40, 4, move |inner| {
        let inner = inner.boxed();
        prop_oneof![
            (bit(), some(inner.clone()), some(inner.clone()))
                .prop_map(|(bit, yes, no)| Statement::If(bit, yes, no)),
            (1u32..5, some(inner.clone())).prop_map(|(rounds, body)| Statement::Loop(rounds, body)),
            (
                bit(),
                [some(inner.clone()), some(inner.clone()), some(inner)]
            )
                .prop_map(|(bit, cases)| Statement::Switch(bit, cases)),
        ]
    });
    prop::collection::vec(statement, 1..6)
}

/// Writes statements as PTX on the value in `%r0`.
struct Writer {
    text: String,
    labels: u32,
    /// Labels after the loops around, and at their next round.
    loops: Vec<(u32, u32)>,
    /// Functions below this one may be called.
    callable: usize,
    leave: &'static str,
}

impl Writer {
    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn test(&mut self, bit: u32) {
        let _ = writeln!(
            self.text,
            "shr.u32 %r1, %r0, {bit}; and.b32 %r1, %r1, 1; setp.ne.u32 %p0, %r1, 0;"
        );
    }

    fn all(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.one(statement);
        }
    }

    fn one(&mut self, statement: &Statement) {
        match statement {
            Statement::Step(seed) => {
                let _ = writeln!(
                    self.text,
                    "mad.lo.u32 %r0, %r0, 1664525, {seed}; shr.u32 %r1, %r0, 13; xor.b32 %r0, %r0, %r1;"
                );
            }
            Statement::If(bit, yes, no) => {
                let (other, end) = (self.label(), self.label());
                self.test(*bit);
                let _ = writeln!(self.text, "@!%p0 bra L{other};");
                self.all(yes);
                let _ = writeln!(self.text, "bra L{end}; L{other}:");
                self.all(no);
                let _ = writeln!(self.text, "L{end}:");
            }
            Statement::Loop(rounds, body) => {
                let (next, end) = (self.label(), self.label());
                let counter = 10 + self.loops.len();
                let _ = writeln!(
                    self.text,
                    "and.b32 %r{counter}, %r0, 3; add.u32 %r{counter}, %r{counter}, {rounds};"
                );
                let _ = writeln!(
                    self.text,
                    "L{next}: setp.eq.u32 %p1, %r{counter}, 0; @%p1 bra L{end}; sub.u32 %r{counter}, %r{counter}, 1;"
                );
                self.loops.push((end, next));
                self.all(body);
                self.loops.pop();
                let _ = writeln!(self.text, "bra L{next}; L{end}:");
            }
            Statement::Break(bit) | Statement::Continue(bit) => {
                if let Some(&(end, next)) = self.loops.last() {
                    self.test(*bit);
                    let target = if matches!(statement, Statement::Break(_)) {
                        end
                    } else {
                        next
                    };
                    let _ = writeln!(self.text, "@%p0 bra L{target};");
                }
            }
            Statement::Switch(bit, cases) => {
                let labels = [self.label(), self.label(), self.label()];
                let (table, end) = (self.label(), self.label());
                let [a, b, c] = labels;
                let _ = writeln!(
                    self.text,
                    "shr.u32 %r1, %r0, {bit}; and.b32 %r1, %r1, 3; T{table}: .branchtargets L{a}, L{b}, L{c}, L{b}; brx.idx %r1, T{table};"
                );
                for (label, case) in labels.iter().zip(cases) {
                    let _ = writeln!(self.text, "L{label}:");
                    self.all(case);
                    // The first case falls through to the second.
                    if *label != a {
                        let _ = writeln!(self.text, "bra L{end};");
                    }
                }
                let _ = writeln!(self.text, "L{end}:");
            }
            Statement::Return(bit) => {
                let on = self.label();
                self.test(*bit);
                let _ = writeln!(self.text, "@!%p0 bra L{on}; {} L{on}:", self.leave);
            }
            Statement::Exit(bit) => {
                self.test(*bit);
                let _ = writeln!(self.text, "@%p0 exit;");
            }
            Statement::Call(function) if *function < self.callable => {
                let _ = writeln!(
                    self.text,
                    "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), f{function}, (a); ld.param.b32 %r0, [b]; }}"
                );
            }
            Statement::Call(_) => self.text.push_str("add.u32 %r0, %r0, 77;\n"),
        }
    }
}

fn write(statements: &[Statement], callable: usize, leave: &'static str) -> String {
    let mut writer = Writer {
        text: String::new(),
        labels: 0,
        loops: Vec::new(),
        callable,
        leave,
    };
    writer.all(statements);
    writer.text + leave
}

fn module(functions: &[Vec<Statement>; 2], entry: &[Statement]) -> String {
    let registers = ".reg .b32 %r<20>; .reg .b64 %d<4>; .reg .pred %p<4>;";
    let mut text = HEADER.to_owned();
    for (number, body) in functions.iter().enumerate() {
        let body = write(body, number, "st.param.b32 [result], %r0; ret;\n");
        let _ = writeln!(
            text,
            ".func (.param .b32 result) f{number}(.param .b32 x) {{ {registers} ld.param.b32 %r0, [x];\n{body} }}"
        );
    }
    let body = write(entry, 2, "st.global.u32 [%d0], %r0; ret;\n");
    let _ = writeln!(
        text,
        ".visible .entry test(.param .u64 out, .param .u64 first) {{ {registers}
        ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; ld.param.u64 %d1, [first]; cvt.u32.u64 %r1, %d1; add.u32 %r0, %r0, %r1;
        mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; mul.lo.u32 %r0, %r0, 40503;\n{body} }}"
    );
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn lanes_do_not_disturb_each_other(f in statements(), g in statements(), entry in statements(), seed in any::<u64>()) {
        let mut machine = Machine::new(&module(&[f, g], &entry));
        let alone = machine.buffer(&[0u32; 40]);
        for lane in 0..40 {
            machine.launch("test", &block(1), &[alone.address, lane]).unwrap();
        }
        let expected: Vec<u32> = machine.read(alone);
        let together = machine.buffer(&[0u32; 40]);
        machine.launch("test", &block(40), &[together.address, 0]).unwrap();
        prop_assert_eq!(machine.read::<u32>(together), expected.clone());
        let scheduled = machine.buffer(&[0u32; 40]);
        let kernel = machine.program.kernel("test").unwrap();
        let arguments = [scheduled.address.to_le_bytes().to_vec(), vec![0; 8]];
        launch_scheduled(&kernel, &machine.memory, &block(40), &arguments, seed, &mut Nothing).unwrap();
        prop_assert_eq!(machine.read::<u32>(scheduled), expected);
    }
}
