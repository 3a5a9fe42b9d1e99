//! What each collective instruction makes of the values that its lanes bring.

use super::atomic::combine;
use crate::alu::{canonical, extremum_of_singles};
use crate::code::{CollectiveKind, ShuffleMode};
use crate::registers::{LANES, Registers, blend, each_lane, for_lanes, gather};
use crate::row::Row;

/// Lanes that act together, and where their registers are.
pub(super) struct Together<'a, 'r> {
    /// The frames that the lanes stand in, each with its lanes.
    pub parts: &'a mut [(&'r mut Registers, u32)],
    /// The member mask of each lane.
    pub members: &'a [u32; LANES],
    /// All the lanes.
    pub lanes: u32,
}

impl Together<'_, '_> {
    /// Executes an instruction. Where lanes get values from registers of others, `exchanged` is told from which lanes, as a mask for
    /// each, and what every lane brings.
    pub fn execute(
        &mut self,
        kind: &CollectiveKind,
        mut exchanged: impl FnMut(&[u32; LANES], &[u32; LANES]),
    ) {
        let (members, lanes) = (self.members, self.lanes);
        match *kind {
            CollectiveKind::Barrier => {}
            CollectiveKind::Shuffle {
                mode,
                d,
                valid,
                a,
                b,
                c,
            } => {
                let values = self.narrow(a);
                let (results, sources) = self.shuffle(mode, &values, b, c);
                exchanged(&sources.lanes.map(|source| 1 << source), &values);
                self.set(d, &results);
                if let Some(valid) = valid {
                    self.set_predicate(valid, sources.in_range);
                }
            }
            CollectiveKind::VoteAll { d, predicate } => {
                let holds = self.predicate(predicate);
                let bits = self.by_lane(|lane| members[lane] & lanes & !holds == 0);
                self.set_predicate(d, bits);
            }
            CollectiveKind::VoteAny { d, predicate } => {
                let holds = self.predicate(predicate);
                let bits = self.by_lane(|lane| members[lane] & holds != 0);
                self.set_predicate(d, bits);
            }
            CollectiveKind::VoteUniform { d, predicate } => {
                let holds = self.predicate(predicate);
                let bits = self.by_lane(|lane| {
                    let voters = members[lane] & lanes;
                    voters & holds == 0 || voters & !holds == 0
                });
                self.set_predicate(d, bits);
            }
            CollectiveKind::Ballot { d, predicate } => {
                let holds = self.predicate(predicate);
                self.set(d, &members.map(|members| members & holds));
            }
            CollectiveKind::MatchAny { d, a } => {
                let same = self.same(a);
                self.set(d, &same);
            }
            CollectiveKind::MatchAll { d, valid, a } => {
                let same = self.same(a);
                let all = self.by_lane(|lane| same[lane] == members[lane] & lanes);
                let results =
                    core::array::from_fn(|lane| if all >> lane & 1 == 1 { same[lane] } else { 0 });
                self.set(d, &results);
                if let Some(valid) = valid {
                    self.set_predicate(valid, all);
                }
            }
            CollectiveKind::Reduce {
                operation,
                ty,
                d,
                a,
            } => {
                let values = self.narrow(a);
                exchanged(&members.map(|members| members & lanes), &values);
                let results = self.reduce(&values, |total, value| {
                    combine(operation, ty, u64::from(total), u64::from(value), 0) as u32
                });
                self.set(d, &results);
            }
            CollectiveKind::ReduceFloat {
                want_max,
                of_magnitudes,
                nan_propagates,
                d,
                a,
            } => {
                let values = self.narrow(a);
                exchanged(&members.map(|members| members & lanes), &values);
                let values = values.map(|bits| {
                    let value = f32::from_bits(bits);
                    canonical(if of_magnitudes { value.abs() } else { value }).to_bits()
                });
                let results = self.reduce(&values, |total, value| {
                    let [total, value] = [total, value].map(f32::from_bits);
                    extremum_of_singles(total, value, nan_propagates, want_max).to_bits()
                });
                self.set(d, &results);
            }
            CollectiveKind::Elect { d, elected } => {
                let leader = |lane: usize| (members[lane] & lanes).trailing_zeros();
                let bits = self.by_lane(|lane| leader(lane) == lane as u32);
                self.set_predicate(elected, bits);
                if let Some(d) = d {
                    self.set(d, &core::array::from_fn(leader));
                }
            }
        }
    }

    /// What each lane gets, and from where.
    fn shuffle(
        &self,
        mode: ShuffleMode,
        values: &[u32; LANES],
        b: u32,
        c: u32,
    ) -> ([u32; LANES], Sources) {
        let (offsets, controls) = (self.narrow(b), self.narrow(c));
        let sources = Sources::find(mode, &offsets, &controls);
        let results = sources
            .lanes
            .map(|source| values[source as usize & (LANES - 1)]);
        (results, sources)
    }

    /// For each lane, the members that bring the same value.
    fn same(&self, a: Row) -> [u32; LANES] {
        let values = self.any(a);
        let mut same = [0; LANES];
        each_lane(self.lanes, |lane| {
            each_lane(self.members[lane] & self.lanes, |other| {
                same[lane] |= u32::from(values[other] == values[lane]) << other;
            });
        });
        same
    }

    /// What each lane's members bring, combined in the order of the lanes: once for all lanes that have the same members.
    fn reduce(&self, values: &[u32; LANES], combine: impl Fn(u32, u32) -> u32) -> [u32; LANES] {
        let mut results = [0; LANES];
        let mut left = self.lanes;
        while left != 0 {
            let members = self.members[left.trailing_zeros() as usize] & self.lanes;
            let mut total = None;
            each_lane(members, |other| {
                let value = values[other];
                total = Some(total.map_or(value, |total| combine(total, value)));
            });
            let mut done = 0;
            each_lane(left, |lane| {
                if self.members[lane] & self.lanes == members {
                    results[lane] = total.unwrap_or(0);
                    done |= 1 << lane;
                }
            });
            left &= !done;
        }
        results
    }

    /// What the lanes have in a row; 0 for every other lane.
    fn narrow(&self, row: u32) -> [u32; LANES] {
        let mut values = [0; LANES];
        for (registers, own) in self.parts.iter() {
            let row = &registers.narrow[row as usize];
            for_lanes(*own, |lane| values[lane] = row[lane]);
        }
        values
    }

    fn any(&self, row: Row) -> [u64; LANES] {
        let mut values = [0; LANES];
        for (registers, own) in self.parts.iter() {
            each_lane(*own, |lane| values[lane] = registers.get(row, lane));
        }
        values
    }

    fn predicate(&self, code: u32) -> u32 {
        self.parts.iter().fold(0, |bits, (registers, own)| {
            bits | own & registers.predicate(code)
        })
    }

    fn set(&mut self, d: u32, values: &[u32; LANES]) {
        for (registers, own) in self.parts.iter_mut() {
            let row = &mut registers.narrow[d as usize];
            for_lanes(*own, |lane| row[lane] = values[lane]);
        }
    }

    fn set_predicate(&mut self, d: u32, bits: u32) {
        for (registers, own) in self.parts.iter_mut() {
            let d = &mut registers.predicates[d as usize];
            *d = blend(*d, bits, *own);
        }
    }

    /// The lanes for which a test holds.
    fn by_lane(&self, test: impl Fn(usize) -> bool) -> u32 {
        gather(test) & self.lanes
    }
}

/// Where each of the 32 lanes of a shuffle takes its value from: from itself where the lane it asks for is out of range.
struct Sources {
    lanes: [u32; LANES],
    in_range: u32,
}

impl Sources {
    /// By each lane's operands `b` and `c` (PTX ISA §9.7.9.6 `shfl.sync`).
    fn find(mode: ShuffleMode, b: &[u32; LANES], c: &[u32; LANES]) -> Self {
        // One loop for each mode, none with a branch, so that the compiler makes them loops over vectors.
        match mode {
            ShuffleMode::Up => Self::by(b, c, |lane, b, _, bound| {
                let source = lane.wrapping_sub(b);
                (source, source as i32 >= bound as i32)
            }),
            ShuffleMode::Down => Self::by(b, c, |lane, b, _, bound| (lane + b, lane + b <= bound)),
            ShuffleMode::Butterfly => {
                Self::by(b, c, |lane, b, _, bound| (lane ^ b, lane ^ b <= bound))
            }
            ShuffleMode::Index => Self::by(b, c, |lane, b, segment, bound| {
                let source = (lane & segment) | (b & !segment);
                (source, source <= bound)
            }),
        }
    }

    /// `source` tells of a lane, its `b`, its segment mask and its bound which lane it asks for, and whether that one is in range.
    #[inline(always)]
    fn by(
        b: &[u32; LANES],
        c: &[u32; LANES],
        source: impl Fn(u32, u32, u32, u32) -> (u32, bool),
    ) -> Self {
        let asked = |lane: usize| {
            let (b, clamp, segment) = (b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31);
            let bound = (lane as u32 & segment) | (clamp & !segment);
            source(lane as u32, b, segment, bound)
        };
        Self {
            lanes: core::array::from_fn(|lane| match asked(lane) {
                (source, true) => source,
                (_, false) => lane as u32,
            }),
            in_range: gather(|lane| asked(lane).1),
        }
    }
}
