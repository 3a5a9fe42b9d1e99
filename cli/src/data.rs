//! `--data`: what lessons reduce.

use crate::failure::Failure;
use clap::ValueEnum;
use warpfold_course::data::Data;

/// The options for the data.
#[derive(clap::Args, Debug)]
pub struct DataArguments {
    /// The values of a reduction [default: random]
    #[arg(long, value_enum, value_name = "DATA")]
    data: Option<Kind>,
    /// Seed of the data [default: 42; of bytes 1, as in a program that does not call srand]
    #[arg(long)]
    seed: Option<u64>,
}

/// The kinds of [`Data`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Over the whole range of the type, so that sums of integers wrap; for products, factors about 1
    Random,
    /// 1, 1, 1 …
    Ones,
    /// 0, 1, 2 …
    Iota,
    /// Random whole numbers from 0 to 9
    Small,
    /// rand() & 255, with the rand of the GNU C library
    Bytes,
}

impl DataArguments {
    /// Whether anything was said about the data.
    pub fn is_given(&self) -> bool {
        self.data.is_some() || self.seed.is_some()
    }

    /// The data.
    ///
    /// # Errors
    /// A seed for data that have none, or one that `srand` does not take.
    pub fn data(&self) -> Result<Data, Failure> {
        let seed = self.seed.unwrap_or(42);
        Ok(match self.data.unwrap_or(Kind::Random) {
            Kind::Random => Data::Random { seed },
            Kind::Small => Data::Small { seed },
            Kind::Ones | Kind::Iota if self.seed.is_some() => {
                return Err(Failure::input(
                    "these --data are always the same; leave --seed out",
                ));
            }
            Kind::Ones => Data::Ones,
            Kind::Iota => Data::Iota,
            Kind::Bytes => Data::Bytes {
                seed: u32::try_from(self.seed.unwrap_or(1)).map_err(|_| {
                    Failure::input("the --seed of bytes has 32 bits; use one below 2^32")
                })?,
            },
        })
    }
}
