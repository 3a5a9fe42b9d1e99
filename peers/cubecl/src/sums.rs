//! CubeCL's ways to add up everything, each with what it leaves open chosen by trying.

use crate::clock::{Clock, Finds};
use crate::fastest::fastest;
use crate::memory::{self, Client, Shared, wait};
use crate::peer::{Done, Peer};
use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::server::Handle;
use cubek_reduce::components::instructions::ReduceOperationConfig;
use cubek_reduce::launch::{RoutineStrategy, VectorizationStrategy};
use cubek_reduce::routines::{BlueprintStrategy, cube::CubeStrategy};
use cubek_reduce::{ReduceDtypes, ReduceStrategy, reduce, shared_sum};
use serde::{Deserialize, Serialize};

/// As in `peers/run/arena.rs`.
const LAUNCHES_BEFORE_IDLE: usize = 3;

/// What is asked: see `peers/run/process.rs`.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    Open {
        handle: Vec<u8>,
        n: usize,
        element_type: String,
    },
    Time {
        name: String,
        finds: Finds,
    },
    Answer {
        name: String,
    },
    Close {},
}

/// What is answered.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Reply {
    Opened { contenders: Vec<&'static str> },
    Elapsed { ms: f64 },
    Sum { sum: serde_json::Value },
    Closed(Done),
}

/// Who adds up whole arrays.
pub struct Sums {
    /// What is launched by.
    pub client: Client,
    /// What times it.
    pub clock: Clock,
    /// What is open.
    pub input: Option<Input>,
}

impl Peer for Sums {
    type Request = Request;
    type Reply = Reply;

    fn reply(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Open {
                handle,
                n,
                element_type,
            } => {
                let input = Input::new(&self.client, &self.clock, &handle, n, &element_type)?;
                let contenders = input.ways().iter().map(|way| way.name()).collect();
                self.input = Some(input);
                Ok(Reply::Opened { contenders })
            }
            Request::Time { name, finds } => {
                let (input, way) = self.contender(&name)?;
                let ms = input.time_ms(&self.clock, way, finds)?;
                Ok(Reply::Elapsed { ms })
            }
            Request::Answer { name } => {
                let (input, way) = self.contender(&name)?;
                let sum = input.sum(way)?;
                Ok(Reply::Sum { sum })
            }
            Request::Close {} => {
                self.input = None;
                self.client.memory_cleanup();
                wait(&self.client)?;
                Ok(Reply::Closed(Done {}))
            }
        }
    }
}

impl Sums {
    fn contender(&self, name: &str) -> Result<(&Input, Way), String> {
        let input = self.input.as_ref().ok_or("no input is open")?;
        let way = input.ways().iter().find(|way| way.name() == name);
        Ok((
            input,
            *way.ok_or_else(|| format!("there is no {name} here"))?,
        ))
    }
}

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
        let of = memory::element(element_type)?;
        let bytes = n * of.size();
        let values = client.empty(bytes);
        let total = || {
            let total = client.empty(of.size());
            let address = memory::address(client, &total)?;
            Ok::<_, String>((total, address))
        };
        let totals = [total()?, total()?];
        Shared::open(handle, bytes)?.copy_to(client, &values)?;
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
            let candidates: Vec<Way> = candidates
                .iter()
                .copied()
                .filter(|way| input.takes(*way))
                .collect();
            if let Ok(way) = fastest(&candidates, |way| input.launch(clock, way, Finds::Warm)) {
                input.ways.push(way);
            }
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
        unsafe { clock.fill(*address, 0, self.of.size()) }.map_err(|error| error.to_string())?;
        clock.time_ms(finds, || {
            match way {
                Way::Shared { cubes } => {
                    // SAFETY: there are n values and one total.
                    let (values, total) = unsafe {
                        (
                            memory::matrix(&self.values, [1, self.n]),
                            memory::matrix(total, [1, 1]),
                        )
                    };
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
        // SAFETY: the values and the partial sums have room for what the ways make of them.
        let (from, to) = unsafe {
            (
                memory::matrix(from, [rows, columns]),
                memory::matrix(to, [rows, 1]),
            )
        };
        reduce(
            &self.client,
            from,
            to,
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
}

/// The most partial sums.
const MOST_ROWS: usize = 4096;
