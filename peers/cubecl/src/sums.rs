//! CubeCL's ways to add up everything, each with what it leaves open chosen by trying.

use crate::clock::{Clock, Finds, copy_shared};
use cubecl::cuda::CudaRuntime;
use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubek_reduce::components::instructions::ReduceOperationConfig;
use cubek_reduce::launch::{RoutineStrategy, VectorizationStrategy};
use cubek_reduce::routines::{BlueprintStrategy, cube::CubeStrategy};
use cubek_reduce::{ReduceDtypes, ReduceStrategy, reduce, shared_sum};

type Client = ComputeClient<CudaRuntime>;

/// Launches of each candidate, the shortest of which counts.
const TRIES: usize = 5;

/// As in `peers/run/arena.rs`.
const LAUNCHES_BEFORE_IDLE: usize = 3;

/// One way to launch: with a number of cubes, or by way of a number of partial sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `shared_sum`, whose cubes add their sums to the total.
    Shared { cubes: u32 },
    /// `reduce` of a matrix of this many rows, and again of its column of sums.
    Twice { rows: usize },
}

impl Way {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared { .. } => "cubek_reduce::shared_sum",
            Self::Twice { .. } => "cubek_reduce::reduce, twice",
        }
    }

    fn index(self) -> usize {
        match self {
            Self::Shared { .. } => 0,
            Self::Twice { .. } => 1,
        }
    }
}

/// An input in CubeCL's memory.
pub struct Input {
    client: Client,
    of: ElemType,
    n: usize,
    values: Handle,
    partials: Handle,
    /// Of either way, with its address.
    totals: [(Handle, u64); 2],
    /// The best of each.
    ways: Vec<Way>,
}

impl Input {
    /// Copies the values of another process, and tries what is fastest for them.
    pub fn new(
        client: &Client,
        clock: &Clock,
        handle: &[u8],
        n: usize,
        element_type: &str,
    ) -> Result<Self, String> {
        let of = match element_type {
            "i32" => ElemType::Int(IntKind::I32),
            "i64" => ElemType::Int(IntKind::I64),
            "f32" => ElemType::Float(FloatKind::F32),
            "f64" => ElemType::Float(FloatKind::F64),
            other => return Err(format!("there is no element type {other} here")),
        };
        let bytes = n * of.size();
        let values = client.empty(bytes);
        let address = |handle: &Handle| match client.get_resource(handle.clone()) {
            Ok(resource) => Ok(resource.resource().ptr),
            Err(error) => Err(format!("{error:?}")),
        };
        let to = address(&values)?;
        let total = || {
            let total = client.empty(of.size());
            let address = address(&total)?;
            Ok::<_, String>((total, address))
        };
        let totals = [total()?, total()?];
        wait(client)?;
        // SAFETY: the buffer has been made for as many bytes.
        unsafe { copy_shared(handle, bytes, to)? };
        let mut input = Self {
            client: client.clone(),
            of,
            n,
            values,
            partials: client.empty(MOST_ROWS * of.size()),
            totals,
            ways: Vec::new(),
        };
        let multiprocessors = clock.multiprocessors().map_err(|error| error.to_string())?;
        let shared = [1, 4, 16].map(|cubes| Way::Shared {
            cubes: cubes * multiprocessors,
        });
        let twice = [1, 256, 1024, MOST_ROWS].map(|rows| Way::Twice { rows });
        for candidates in [&shared[..], &twice[..]] {
            input.ways.extend(input.best(clock, candidates)?);
        }
        Ok(input)
    }

    /// How it is added up.
    pub fn ways(&self) -> &[Way] {
        &self.ways
    }

    /// The milliseconds of one launch, which follows others where it finds what they have left.
    pub fn time_ms(&self, clock: &Clock, way: Way, finds: Finds) -> Result<f64, String> {
        let before = match finds {
            Finds::Warm => 1,
            Finds::Cold => 0,
            Finds::Idle => LAUNCHES_BEFORE_IDLE,
        };
        for _ in 0..before {
            self.launch(clock, way, Finds::Warm)?;
        }
        self.launch(clock, way, finds)
    }

    /// What the last launch has left.
    pub fn sum(&self, way: Way) -> Result<serde_json::Value, String> {
        let bytes = self
            .client
            .read_one(self.totals[way.index()].0.clone())
            .map_err(|error| format!("{error:?}"))?;
        let bytes: &[u8] = &bytes;
        let of_4 = || bytes.try_into().map_err(|_| "no 4 bytes".to_owned());
        let of_8 = || bytes.try_into().map_err(|_| "no 8 bytes".to_owned());
        Ok(match self.of {
            ElemType::Int(IntKind::I32) => i32::from_le_bytes(of_4()?).into(),
            ElemType::Int(_) => i64::from_le_bytes(of_8()?).into(),
            ElemType::Float(FloatKind::F32) => f32::from_le_bytes(of_4()?).into(),
            _ => f64::from_le_bytes(of_8()?).into(),
        })
    }

    /// The fastest of those that take this input; none where none does.
    fn best(&self, clock: &Clock, candidates: &[Way]) -> Result<Option<Way>, String> {
        let mut best: Option<(f64, Way)> = None;
        for &way in candidates.iter().filter(|way| self.takes(**way)) {
            // The first launch compiles.
            if let Err(error) = self.launch(clock, way, Finds::Warm) {
                eprintln!("{way:?} is left out: {error}");
                continue;
            }
            let mut shortest = f64::INFINITY;
            for _ in 0..TRIES {
                shortest = shortest.min(self.launch(clock, way, Finds::Warm)?);
            }
            if best.is_none_or(|(ms, _)| shortest < ms) {
                best = Some((shortest, way));
            }
        }
        Ok(best.map(|(_, way)| way))
    }

    /// No more cubes than there is work for, and rows that are all of one length, and not short beside their number.
    fn takes(&self, way: Way) -> bool {
        match way {
            Way::Shared { cubes } => cubes as usize * 64 <= self.n || cubes < 1024,
            Way::Twice { rows } => {
                self.n.is_multiple_of(rows) && (rows == 1 || self.n / rows >= rows.min(256))
            }
        }
    }

    fn launch(&self, clock: &Clock, way: Way, finds: Finds) -> Result<f64, String> {
        let (total, address) = &self.totals[way.index()];
        // SAFETY: the total is there as long as this input, and everything that was launched has ended.
        unsafe { clock.zero(*address, self.of.size()) }.map_err(|error| error.to_string())?;
        clock.time_ms(finds, || {
            match way {
                Way::Shared { cubes } => {
                    let values = self.tensor(&self.values, [1, self.n]);
                    let total = self.tensor(total, [1, 1]);
                    shared_sum(&self.client, values, total, cubes, self.of)
                }
                Way::Twice { rows: 1 } => self.reduce(&self.values, [1, self.n], total),
                Way::Twice { rows } => self
                    .reduce(&self.values, [rows, self.n / rows], &self.partials)
                    .and_then(|()| self.reduce(&self.partials, [1, rows], total)),
            }
            .map_err(|error| format!("{error:?}"))?;
            self.client.flush().map_err(|error| format!("{error:?}"))
        })
    }

    /// The sums of rows.
    fn reduce(
        &self,
        from: &Handle,
        [rows, columns]: [usize; 2],
        to: &Handle,
    ) -> Result<(), cubek_reduce::ReduceError> {
        let of = self.of.into();
        reduce(
            &self.client,
            self.tensor(from, [rows, columns]),
            self.tensor(to, [rows, 1]),
            1,
            ReduceStrategy {
                routine: RoutineStrategy::Cube(BlueprintStrategy::Inferred(CubeStrategy {
                    use_planes: true,
                })),
                vectorization: VectorizationStrategy {
                    parallel_output_vectorization: false,
                },
            },
            ReduceOperationConfig::Sum,
            ReduceDtypes {
                input: of,
                output: of,
                accumulation: of,
            },
        )
    }

    /// A matrix, row by row, at the beginning of a buffer.
    fn tensor(&self, of: &Handle, [rows, columns]: [usize; 2]) -> TensorBinding<CudaRuntime> {
        // SAFETY: every buffer has room for what the ways make of it.
        unsafe {
            TensorBinding::from_raw_parts(of.clone(), [columns, 1].into(), [rows, columns].into())
        }
    }
}

/// The most partial sums.
const MOST_ROWS: usize = 4096;

/// Waits for all that CubeCL has queued.
pub fn wait(client: &Client) -> Result<(), String> {
    cubecl::future::block_on(client.sync()).map_err(|error| format!("{error:?}"))
}
