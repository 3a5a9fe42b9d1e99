//! The command's arguments, and where they have it reduce.

use super::place::RanksArguments;
use crate::device::{self, KernelsArguments};
use crate::failure::Failure;
use crate::output::JsonArguments;
use crate::size::parse_count;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use warpfold::{Device, DeviceChoice};
use warpfold_course::operator::Operator;
use warpfold_dynamic::{Named, TypeName};
use warpfold_input::found::Asked;
use warpfold_input::{comes_in_pieces, is_table};

/// The command's arguments.
#[derive(Clone, clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The numbers: .npy and .npz (any shape), .csv and .tsv, raw little-endian values (.bin, or anything with --type), each of them also
    /// as .gz; .parquet, in a build with the feature parquet; or - for a table or a .npy file on standard input. Several files, also as a
    /// pattern like 'data/*.npy', are read as one array
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    #[arg(
        long = "op",
        value_name = "OPERATOR,…",
        value_delimiter = ',',
        default_value = "sum",
        help = format!("How the values are combined, one or several: {}", Named::NAMES)
    )]
    pub(super) operators: Vec<Named>,
    /// Reduce along this axis of an array, with a result for each place on the others: 0 of a matrix for its columns, 1 or -1 for its
    /// rows [default: all values]
    #[arg(long, allow_negative_numbers = true)]
    pub(super) axis: Option<i64>,
    #[arg(
        long = "type",
        value_name = "TYPE",
        help = format!(
            "Type of the values: {} [default: the file's own; of the cells of a table f64]",
            TypeName::NAMES
        )
    )]
    pub(super) element_type: Option<TypeName>,
    /// What stands between the cells of a table: one character [default: a comma, in .tsv a tab]
    #[arg(long, value_parser = parse_delimiter)]
    pub(super) delimiter: Option<u8>,
    /// Column of a table: its name in the first row, or its number from 0; of a .parquet file likewise; of a .npz file, the name of the array
    #[arg(long)]
    pub(super) column: Option<String>,
    /// Values of a piece: 2^24, 16M. This computer's memory holds some pieces at once, on the cores one for each thread, and each device holds three
    /// [default: as many as take 1 MiB, or 8 MiB on GPUs; for a result that is verified as many as take an eighth of a GPU's memory, at most
    /// 256 MiB, or 64 MiB on the emulator]
    #[arg(long, value_name = "N", value_parser = parse_chunk)]
    pub(super) chunk: Option<usize>,
    /// Where to reduce: cpu (this computer's cores), gpu, gpu:1, emulator, auto; or on several devices together: all (every GPU), gpu:0,2,
    /// emulator:4 [default: auto, a GPU, where there is one, for one sum,
    /// product, min, max or mean of all values of a .npy or raw file; otherwise the cores]
    #[arg(
        long = "device",
        value_name = "DEVICE",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(super) place: Place,
    /// Do not have the cores verify the result of one file on one device: they take longer than the device
    #[arg(long)]
    pub(super) unverified: bool,
    /// Measure reading alone also where there are less than 256 MiB, and say how close the reduction came to that
    #[arg(long)]
    pub(super) compare_read: bool,
    #[command(flatten)]
    pub(super) ranks: RanksArguments,
    #[command(flatten)]
    pub(super) kernels: KernelsArguments,
    #[command(flatten)]
    pub(super) json: JsonArguments,
}

const EXAMPLES: &str = "\
Examples:
  warpfold reduce measurements.npy --op min,max,mean,std
  warpfold reduce matrix.npy --op argmax --axis 1
  warpfold reduce model.npz --column weights --op norm2 --device gpu
  zcat flows.tsv.gz | warpfold reduce - --delimiter tab --column volume
  warpfold reduce flow.csv --column volume --op mean --device emulator
  warpfold reduce raw.bin --type f64 --op max --chunk 2^26 --json -
  warpfold reduce 'shards/*.npy' --op mean,std --device all
  warpfold reduce measurements.npy --op sum,std --device emulator:4
  torchrun --no-python --nproc-per-node 4 warpfold reduce 'shards/*.npy' --op mean,std
  srun warpfold reduce '/local/part{rank}.npy' --op argmax

Several operators read the file once. Files may be larger than memory, and several files of one type are one after another; argmin and argmax \
count through all of them. Several threads read them. What is not in the system's cache is read past it, by O_DIRECT, if a measurement before the \
run finds that faster. The last lines say what limited the run, and how close it came to reading alone. If a file cannot be read to its end, \
the error has the results of the values before. On the cores sums of integers are exact. Products of integers wrap around at 32 bits, \
those of 64-bit integers at 64, and so do sums on a GPU and on the emulator; where that happens there to a single sum or product of all values, the true value is \
shown as well. The mean of integers is in f64. Variances are divided by the number of \
values, those of samples by one less. With floats, one NaN makes every sum and extreme NaN, and -0.0 is less than 0.0; argmin and argmax \
give the first of equal values, or of NaNs.

Where torchrun, Open MPI's mpirun or srun have started several processes, each is a rank: it takes a part of the values, and the GPU with \
its number on the host or else the emulator. Rank 0 prints the result. Its bits are those of one device, whatever the number of ranks. \
In a batch script without srun, or with mpirun over several hosts, see --ranks and --ranks-address.";

/// What `--device` says.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// `cpu`: the cores of this computer.
    Cpu,
    /// One device or several.
    On(device::Place),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "cpu" {
            return Ok(Self::Cpu);
        }
        text.parse().map(Self::On).map_err(|_| {
            let more = device::Place::MORE_FORMS;
            format!("'{text}' names no device: give auto, cpu, gpu, {more}")
        })
    }
}

impl Arguments {
    /// The file, where there is one.
    pub(super) fn file(&self) -> &Path {
        &self.files[0]
    }

    /// What the cells of tables are read as.
    pub(super) fn type_of_tables(&self) -> TypeName {
        self.element_type
            .unwrap_or_else(|| "f64".parse().expect("it is one of the types"))
    }

    /// How files are to be read.
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            element_type: self.element_type,
            type_of_tables: self.type_of_tables(),
            column: self.column.as_deref(),
            delimiter: self.delimiter,
        }
    }

    /// The devices to reduce on together; `None` for one, or the cores.
    pub(super) fn group(&self) -> Option<Vec<DeviceChoice>> {
        match &self.place {
            Place::Cpu | Place::On(device::Place::One(_)) => None,
            Place::On(several) => Some(several.choices()),
        }
    }

    /// The devices to reduce on; none for the cores.
    pub(super) fn choices(&self) -> Result<Vec<DeviceChoice>, Failure> {
        match self.group() {
            Some(choices) if choices.is_empty() => Err(Failure::Input(
                "there is no GPU; name another --device".to_owned(),
            )),
            Some(choices) => Ok(choices),
            None => Ok(self.device().into_iter().collect()),
        }
    }

    /// The device to reduce on; `None` for the cores, or several devices.
    fn device(&self) -> Option<DeviceChoice> {
        let Place::On(device::Place::One(choice)) = self.place else {
            return None;
        };
        match choice {
            // The work of a table is to read its text, and the emulator is there to be learnt from.
            DeviceChoice::Auto => {
                let is_one = self.files.len() == 1 && !is_table(self.file());
                let is_for_kernels = is_one && self.of_kernels().is_some();
                let has_gpu = || {
                    let device = Device::open(&DeviceChoice::Auto);
                    device.is_ok_and(|device| device.gpu_information().is_some())
                };
                (is_for_kernels && has_gpu()).then_some(DeviceChoice::Auto)
            }
            choice => Some(choice),
        }
    }

    /// The operator that a kernel of the course may be asked for, whose result is verified; `None` where there is none.
    pub(super) fn of_kernels(&self) -> Option<Operator> {
        let [operator] = self.operators[..] else {
            return None;
        };
        let is_plain = self.axis.is_none() && self.delimiter.is_none();
        if self.unverified || !is_plain || !comes_in_pieces(self.file()) {
            return None;
        }
        operator.name().parse().ok()
    }
}

/// Reads what stands between cells.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        &[byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(byte),
        _ => Err("a delimiter is one ASCII character, \\t or tab, and no quote".to_owned()),
    }
}

/// Reads how many values are on the device at once.
fn parse_chunk(text: &str) -> Result<usize, String> {
    match parse_count(text)? {
        0 => Err("a chunk has one value or more".to_owned()),
        chunk => Ok(chunk),
    }
}
