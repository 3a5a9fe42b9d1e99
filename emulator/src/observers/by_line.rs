//! Tells an observer of each PTX line apart from those of the others.

use super::Counters;
use crate::observer::{AccessEvent, BarrierEvent, BranchEvent, InstructionEvent, Observer, Wants};

/// [`Counters`] for each PTX line.
#[derive(Clone, Debug, Default)]
pub struct ByLine {
    /// The number of the first line of `lines`; it has none yet where that is empty.
    first: u32,
    lines: Vec<Counters>,
}

impl ByLine {
    /// The lines that were executed, in their order, with what was counted at each.
    pub fn lines(&self) -> impl Iterator<Item = (u32, &Counters)> {
        (self.first..)
            .zip(&self.lines)
            .filter(|(_, counters)| counters.inst_executed != 0)
    }

    /// What was counted at all lines together.
    pub fn total(&self) -> Counters {
        let mut total = Counters::default();
        for counters in &self.lines {
            total += *counters;
        }
        total
    }

    #[inline(always)]
    fn at(&mut self, line: u32) -> &mut Counters {
        let index = line.wrapping_sub(self.first) as usize;
        if index >= self.lines.len() {
            self.grow(line);
        }
        &mut self.lines[(line - self.first) as usize]
    }

    /// Makes room for a line before the first or past the last.
    #[cold]
    fn grow(&mut self, line: u32) {
        if self.lines.is_empty() {
            self.first = line;
        }
        if line < self.first {
            let more = (self.first - line) as usize;
            self.lines
                .splice(0..0, std::iter::repeat_n(Counters::default(), more));
            self.first = line;
        }
        let length = (line - self.first) as usize + 1;
        if length > self.lines.len() {
            self.lines.resize(length, Counters::default());
        }
    }
}

impl Observer for ByLine {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        for (line, counters) in other.lines() {
            *self.at(line) += *counters;
        }
    }

    #[inline(always)]
    fn instruction(&mut self, event: InstructionEvent) {
        self.at(event.line).instruction(event);
    }

    #[inline(always)]
    fn branch(&mut self, event: BranchEvent) {
        self.at(event.line).branch(event);
    }

    #[inline(always)]
    fn jump(&mut self, event: InstructionEvent) {
        self.at(event.line).jump(event);
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        self.at(event.line).access(event);
    }

    #[inline(always)]
    fn barrier(&mut self, event: BarrierEvent) {
        self.at(event.line).barrier(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(line: u32) -> InstructionEvent {
        InstructionEvent {
            warp: 0,
            line,
            lanes: 0xff,
            active: 0xffff,
            live: u32::MAX,
        }
    }

    #[test]
    fn lines_come_in_any_order_and_leave_in_theirs() {
        let mut by_line = ByLine::default();
        for line in [70, 72, 70, 3, 90] {
            by_line.instruction(instruction(line));
        }
        let mut other = by_line.fork();
        other.instruction(instruction(2));
        other.instruction(instruction(72));
        by_line.merge(other);
        let executed: Vec<_> = by_line
            .lines()
            .map(|(line, counters)| (line, counters.inst_executed))
            .collect();
        assert_eq!(executed, [(2, 1), (3, 1), (70, 2), (72, 2), (90, 1)]);
        let total = by_line.total();
        assert_eq!(total.inst_executed, 7);
        assert_eq!(total.thread_inst_executed, 7 * 16);
        assert_eq!(total.thread_inst_executed_pred_on, 7 * 8);
    }
}
