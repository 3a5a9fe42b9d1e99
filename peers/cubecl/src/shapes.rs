//! CubeCL's reductions of the rows and columns of matrices, by the fastest of its routines for each.

use crate::clock::{Clock, Finds};
use crate::fastest::fastest;
use crate::memory::{self, Client, Shared, wait};
use crate::peer::{Done, Peer};
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::server::Handle;
use cubek_reduce::components::instructions::ReduceOperationConfig as Operation;
use cubek_reduce::launch::{RoutineStrategy, VectorizationStrategy};
use cubek_reduce::routines::BlueprintStrategy::Inferred;
use cubek_reduce::routines::cube::CubeStrategy;
use cubek_reduce::routines::plane::PlaneStrategy;
use cubek_reduce::routines::unit::UnitStrategy;
use cubek_reduce::{ReduceDtypes, ReduceStrategy, reduce, shared_sum};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What is to be known of it.
pub const NOTE: &str = "CubeCL leaves open which of its routines reduces a shape: of those that may be the fastest, up to four, each is \
    launched a few times before, and the fastest is taken";

const F32: ElemType = ElemType::Float(FloatKind::F32);
const I8: ElemType = ElemType::Int(IntKind::I8);
const I32: ElemType = ElemType::Int(IntKind::I32);
const U32: ElemType = ElemType::UInt(UIntKind::U32);

/// What is asked: see `peers/run/shapes/asked.rs`.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    Share {
        what: String,
        handle: Vec<u8>,
        bytes: usize,
    },
    Begin(Asked),
    Spoil {
        name: String,
    },
    Time {
        name: String,
    },
    Leave {
        name: String,
    },
    End {},
}

/// A problem as it is asked.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Asked {
    kind: String,
    operator: String,
    element_type: String,
    rows: usize,
    columns: usize,
    is_graph: bool,
}

/// What is answered.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Reply {
    Begun { contenders: Vec<&'static str> },
    Elapsed { ms: f64 },
    Left { of: &'static str, count: usize },
    Done(Done),
}

/// A problem that CubeCL solves.
#[derive(Clone, Copy)]
struct Problem {
    rows: usize,
    columns: usize,
    /// The axis that is reduced: 1 where each row becomes a result.
    axis: usize,
    operation: Operation,
    dtypes: ReduceDtypes,
}

/// One way to solve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `reduce` of an axis.
    Axis(Routine),
    /// `shared_sum` by this many blocks, which add to one result.
    Shared { cubes: u32 },
}

/// What makes one result of `reduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Routine {
    /// A thread, which makes as many as a vector of them has if they are `packed`.
    Unit { packed: bool },
    /// A warp.
    Plane,
    /// A block.
    Cube,
}

/// One who solves the problem, and the memory of its results.
struct Contender {
    way: Way,
    results: Handle,
    address: u64,
}

/// Who reduces matrices.
pub struct Shapes {
    client: Client,
    clock: Clock,
    multiprocessors: u32,
    values: HashMap<String, Handle>,
    /// Where results are left.
    results: Option<Shared>,
    problem: Option<(Problem, Vec<Contender>)>,
}

impl Asked {
    /// What is to be solved; `None` of what CubeCL does not have.
    fn problem(&self) -> Result<Option<Problem>, String> {
        let axis = match &self.kind[..] {
            "rows" => 1,
            "columns" => 0,
            _ => return Ok(None),
        };
        let operation = match &self.operator[..] {
            "sum" => Operation::Sum,
            "max" => Operation::Max,
            "argmax" => Operation::ArgMax,
            "mean" => Operation::Mean,
            _ => return Ok(None),
        };
        if self.is_graph {
            // It does not hand out the stream that a capture would be of.
            return Ok(None);
        }
        let values = memory::element(&self.element_type)?;
        let of = |results: ElemType, accumulation: ElemType| ReduceDtypes {
            input: values.into(),
            output: results.into(),
            accumulation: accumulation.into(),
        };
        let dtypes = match (operation, values) {
            // Left to itself, it leaves sums of `i8` in `i8`, which overflow, and means of them without their fractions.
            (Operation::Sum, I8) => of(I32, I32),
            (Operation::Mean, I8) => of(F32, F32),
            _ => operation.precision(values, Some(U32)),
        };
        Ok(Some(Problem {
            rows: self.rows,
            columns: self.columns,
            axis,
            operation,
            dtypes,
        }))
    }
}

impl Problem {
    fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// The shape of the results.
    fn shape_of_results(&self) -> [usize; 2] {
        let mut shape = self.shape();
        shape[self.axis] = 1;
        shape
    }

    /// How many results there are, and of how many values each.
    fn count_and_length(&self) -> (usize, usize) {
        (self.shape()[1 - self.axis], self.shape()[self.axis])
    }

    /// The ways to solve it that are not hopeless: a thread takes too long for many values, a warp or a block has nothing to do with
    /// few. None may take much longer than the others, as each is launched to find that out.
    fn ways_by_axis(&self) -> Vec<Way> {
        let (_, length) = self.count_and_length();
        let (is_for_unit, is_for_plane, is_for_cube) = (
            length <= 1 << 16,
            (1 << 4..=1 << 20).contains(&length),
            length >= 1 << 8,
        );
        [
            (Routine::Cube, is_for_cube),
            (Routine::Plane, is_for_plane),
            (Routine::Unit { packed: false }, is_for_unit),
            // Of columns, neighbouring results are made together anyhow.
            (
                Routine::Unit { packed: true },
                is_for_unit && self.axis == 1,
            ),
        ]
        .into_iter()
        .filter_map(|(routine, fits)| fits.then_some(Way::Axis(routine)))
        .collect()
    }

    /// The ways to solve it by blocks that add to one result, which is there for sums of one row in the type of the values.
    fn ways_by_all(&self, multiprocessors: u32) -> Vec<Way> {
        let is_one_type = self.dtypes.input == self.dtypes.output
            && self.dtypes.input == self.dtypes.accumulation;
        if self.operation != Operation::Sum || self.axis != 1 || self.rows != 1 || !is_one_type {
            return Vec::new();
        }
        let of_each = [1, 4, 16];
        of_each
            .map(|cubes| Way::Shared {
                cubes: cubes * multiprocessors,
            })
            .to_vec()
    }
}

impl Way {
    /// What it is called.
    fn name(self) -> &'static str {
        match self {
            Self::Axis(_) => "cubek_reduce::reduce",
            Self::Shared { .. } => "cubek_reduce::shared_sum",
        }
    }
}

impl Routine {
    /// How `reduce` is told of it.
    fn strategy(self) -> ReduceStrategy {
        let routine = match self {
            Self::Unit { .. } => RoutineStrategy::Unit(Inferred(UnitStrategy)),
            Self::Plane => RoutineStrategy::Plane(Inferred(PlaneStrategy { independent: true })),
            Self::Cube => RoutineStrategy::Cube(Inferred(CubeStrategy { use_planes: true })),
        };
        ReduceStrategy {
            routine,
            vectorization: VectorizationStrategy {
                parallel_output_vectorization: self == Self::Unit { packed: true },
            },
        }
    }
}

impl Peer for Shapes {
    type Request = Request;
    type Reply = Reply;

    fn reply(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Share {
                what,
                handle,
                bytes,
            } => self.share(what, &handle, bytes),
            Request::Begin(asked) => self.begin(&asked),
            Request::Spoil { name } => {
                let (_, contender) = self.contender(&name)?;
                let bytes = contender.results.size_in_used() as usize;
                // SAFETY: it is the memory of the results, and everything that was launched has ended.
                unsafe { self.clock.fill(contender.address, 255, bytes) }
                    .map_err(|error| error.to_string())?;
                Ok(Reply::Done(Done {}))
            }
            Request::Time { name } => {
                let (problem, contender) = self.contender(&name)?;
                let ms = self.launch_ms(problem, contender.way, contender, Finds::Cold)?;
                Ok(Reply::Elapsed { ms })
            }
            Request::Leave { name } => {
                let (problem, contender) = self.contender(&name)?;
                let shared = self
                    .results
                    .as_ref()
                    .ok_or("there is no room for results")?;
                shared.copy_from(&self.client, &contender.results)?;
                let (count, _) = problem.count_and_length();
                let of = memory::name(problem.dtypes.output)?;
                Ok(Reply::Left { of, count })
            }
            Request::End {} => {
                self.problem = None;
                self.client.memory_cleanup();
                wait(&self.client)?;
                Ok(Reply::Done(Done {}))
            }
        }
    }
}

impl Shapes {
    /// With nothing open.
    pub fn new(client: Client, clock: Clock) -> Result<Self, String> {
        let multiprocessors = clock.multiprocessors().map_err(|error| error.to_string())?;
        Ok(Self {
            client,
            clock,
            multiprocessors,
            values: HashMap::new(),
            results: None,
            problem: None,
        })
    }

    /// Copies values of another process, or opens its memory for results.
    fn share(&mut self, what: String, handle: &[u8], bytes: usize) -> Result<Reply, String> {
        let shared = Shared::open(handle, bytes)?;
        if what == "results" {
            self.results = Some(shared);
        } else {
            let values = self.client.empty(bytes);
            shared.copy_to(&self.client, &values)?;
            self.values.insert(what, values);
        }
        Ok(Reply::Done(Done {}))
    }

    /// Finds out how the problem is solved the fastest.
    fn begin(&mut self, asked: &Asked) -> Result<Reply, String> {
        let problem = asked.problem()?;
        let mut contenders = Vec::new();
        if let Some(problem) = problem {
            let by_all = problem.ways_by_all(self.multiprocessors);
            for ways in [problem.ways_by_axis(), by_all] {
                if !ways.is_empty() {
                    contenders.push(self.contender_of(&problem, &ways)?);
                }
            }
        }
        let names = contenders.iter().map(|one| one.way.name()).collect();
        self.problem = problem.map(|problem| (problem, contenders));
        Ok(Reply::Begun { contenders: names })
    }

    /// The fastest of these ways, with memory for its results.
    fn contender_of(&self, problem: &Problem, ways: &[Way]) -> Result<Contender, String> {
        let (count, _) = problem.count_and_length();
        let results = self.client.empty(count * problem.dtypes.output.size());
        let address = memory::address(&self.client, &results)?;
        let mut contender = Contender {
            way: ways[0],
            results,
            address,
        };
        contender.way = fastest(ways, |way| {
            self.launch_ms(problem, way, &contender, Finds::Warm)
        })?;
        Ok(contender)
    }

    fn contender(&self, name: &str) -> Result<(&Problem, &Contender), String> {
        let (problem, contenders) = self.problem.as_ref().ok_or("no problem is begun")?;
        let contender = contenders.iter().find(|one| one.way.name() == name);
        let contender = contender.ok_or_else(|| format!("there is no {name} here"))?;
        Ok((problem, contender))
    }

    /// The milliseconds of one launch.
    fn launch_ms(
        &self,
        problem: &Problem,
        way: Way,
        contender: &Contender,
        finds: Finds,
    ) -> Result<f64, String> {
        let values = memory::name(problem.dtypes.input)?;
        let values = self
            .values
            .get(values)
            .ok_or_else(|| format!("there are no values of {values}"))?;
        if problem.rows * problem.columns * problem.dtypes.input.size()
            > values.size_in_used() as usize
        {
            return Err("there are not so many values".to_owned());
        }
        if let Way::Shared { .. } = way {
            // SAFETY: it is the memory of the results, and everything that was launched has ended.
            unsafe {
                let bytes = contender.results.size_in_used() as usize;
                self.clock.fill(contender.address, 0, bytes)
            }
            .map_err(|error| error.to_string())?;
        }
        let ms = self.clock.time_ms(finds, || {
            // SAFETY: there are as many values, and the memory of the results was made for as many.
            let (values, results) = unsafe {
                (
                    memory::matrix(values, problem.shape()),
                    memory::matrix(&contender.results, problem.shape_of_results()),
                )
            };
            match way {
                Way::Axis(routine) => reduce(
                    &self.client,
                    values,
                    results,
                    problem.axis,
                    routine.strategy(),
                    problem.operation,
                    problem.dtypes,
                ),
                Way::Shared { cubes } => {
                    let of = problem.dtypes.input.elem_type();
                    shared_sum(&self.client, values, results, cubes, of)
                }
            }
            .map_err(|error| format!("{error:?}"))?;
            self.client.flush().map_err(|error| format!("{error:?}"))
        })?;
        // What has failed without a word is told here.
        wait(&self.client)?;
        Ok(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(
        kind: &str,
        operator: &str,
        element_type: &str,
        [rows, columns]: [usize; 2],
    ) -> Problem {
        let asked = Asked {
            kind: kind.to_owned(),
            operator: operator.to_owned(),
            element_type: element_type.to_owned(),
            rows,
            columns,
            is_graph: false,
        };
        asked
            .problem()
            .expect("the type is known")
            .expect("CubeCL has it")
    }

    /// As `peers/run/shapes/asked.rs` asks.
    #[test]
    fn questions_are_understood() {
        let line = r#"{"begin":{"kind":"scan","operator":"sum","element_type":"f32","rows":4,"columns":8,"is_graph":false}}"#;
        let Request::Begin(asked) = serde_json::from_str(line).expect("it is a question") else {
            panic!("another question was asked");
        };
        assert!(matches!(asked.problem(), Ok(None)), "there are no scans");
        let end = serde_json::from_str(r#"{"end":{}}"#).expect("it is a question");
        assert_eq!(Request::End {}, end);
    }

    #[test]
    fn what_is_captured_and_what_cubek_does_not_have_is_left_to_others() {
        let asked = |operator: &str, is_graph| Asked {
            kind: "rows".to_owned(),
            operator: operator.to_owned(),
            element_type: "f32".to_owned(),
            rows: 1,
            columns: 4096,
            is_graph,
        };
        assert!(matches!(asked("argmax", false).problem(), Ok(Some(_))));
        assert!(matches!(asked("argmax", true).problem(), Ok(None)));
        assert!(matches!(asked("variance", false).problem(), Ok(None)));
    }

    #[test]
    fn results_are_of_types_that_hold_them() {
        let types = |operator, element_type| {
            let dtypes = problem("rows", operator, element_type, [4, 8]).dtypes;
            [dtypes.output, dtypes.accumulation].map(|of| memory::name(of).expect("it is known"))
        };
        assert_eq!(types("sum", "f32"), ["f32", "f32"]);
        assert_eq!(types("sum", "bf16"), ["bf16", "f32"]);
        assert_eq!(types("mean", "bf16"), ["bf16", "f32"]);
        assert_eq!(types("sum", "i8"), ["i32", "i32"]);
        assert_eq!(types("mean", "i8"), ["f32", "f32"]);
        assert_eq!(types("max", "i8"), ["i8", "i8"]);
        assert_eq!(types("argmax", "i8"), ["u32", "i8"]);
    }

    #[test]
    fn results_have_the_shape_of_the_values_but_for_the_axis() {
        let rows = problem("rows", "max", "f32", [4, 8]);
        assert_eq!(
            (rows.shape_of_results(), rows.count_and_length()),
            ([4, 1], (4, 8))
        );
        let columns = problem("columns", "max", "f32", [4, 8]);
        assert_eq!(
            (columns.shape_of_results(), columns.count_and_length()),
            ([1, 8], (8, 4))
        );
    }

    /// Whoever has nothing to do or too much is not tried, and somebody always is.
    #[test]
    fn every_shape_has_ways() {
        for bits in 0..=28 {
            let shape = [1 << bits, 1 << (28 - bits)];
            for kind in ["rows", "columns"] {
                let ways = problem(kind, "sum", "f32", shape).ways_by_axis();
                assert!(
                    (1..=4).contains(&ways.len()),
                    "{kind} of {shape:?}: {ways:?}"
                );
            }
        }
        let one_row = problem("rows", "sum", "f32", [1, 1 << 28]);
        assert_eq!(one_row.ways_by_axis(), [Way::Axis(Routine::Cube)]);
        let short = problem("columns", "sum", "f32", [4, 1 << 26]);
        assert_eq!(
            short.ways_by_axis(),
            [Way::Axis(Routine::Unit { packed: false })]
        );
    }

    #[test]
    fn blocks_add_to_one_result_where_there_is_one_sum_in_one_type() {
        let cubes = |operator, element_type, shape| {
            problem("rows", operator, element_type, shape).ways_by_all(10)
        };
        let ways = [10, 40, 160].map(|cubes| Way::Shared { cubes });
        assert_eq!(cubes("sum", "f32", [1, 4096]), ways);
        for none in [
            cubes("sum", "bf16", [1, 4096]),
            cubes("mean", "f32", [1, 4096]),
            cubes("sum", "f32", [2, 2048]),
        ] {
            assert_eq!(none, []);
        }
    }
}
