//! What can go wrong between ranks.

use crate::device::DeviceError;
use crate::kernels::Error;

/// One sentence on what went wrong between the processes, on which rank, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// A system on which processes cannot meet.
    #[error(
        "ranks need sockets and a clock, which programs in WebAssembly do not have: reduce with one device"
    )]
    NoSockets,
    /// A variable of the environment that does not hold what it should.
    #[error(
        "{name} is '{value}', which is no {expected}: start the program by a launcher that sets it, or unset it"
    )]
    Variable {
        /// Its name.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A launcher's variable without another that the launcher sets too.
    #[error(
        "{present} is set, and {missing} is not, which the same launcher sets: set it, or unset {present}"
    )]
    Incomplete {
        /// The one that is set.
        present: &'static str,
        /// The one that is missing.
        missing: &'static str,
    },
    /// A rank that is no number below the number of ranks.
    #[error(
        "there is no rank {rank} of {size}: ranks are counted from 0, and there are 1 to {most} of them"
    )]
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// How many ranks there are to be.
        size: u32,
        /// The most ranks.
        most: u32,
    },
    /// Several ranks, and nothing says where the first of them is.
    #[error(
        "rank {rank} of {size} does not know the host of rank 0: set MASTER_ADDR to its name on every rank"
    )]
    NoAddress {
        /// The rank.
        rank: u32,
        /// How many ranks there are.
        size: u32,
    },
    /// Rank 0 cannot listen.
    #[error(
        "rank 0 cannot listen on {address} for the other ranks: {reason}; if another program uses the port, set {PORT_VARIABLE} to a free one on every rank"
    )]
    CannotListen {
        /// The host and the port.
        address: String,
        /// What the system says.
        reason: String,
    },
    /// Rank 0 has waited for ranks that did not come.
    #[error(
        "rank 0 waited {seconds} s at {address} for {}, which never came: start as many processes as there are ranks, or wait longer",
        ranks(missing)
    )]
    NeverCame {
        /// Where it waited.
        address: String,
        /// How long.
        seconds: u64,
        /// Who did not come.
        missing: Vec<u32>,
    },
    /// A rank has not found rank 0.
    #[error(
        "rank {rank} waited {seconds} s for rank 0, which cannot be reached at {address}: {reason}; start rank 0, or say where it is by MASTER_ADDR and {PORT_VARIABLE}"
    )]
    Unreachable {
        /// The rank.
        rank: u32,
        /// Where rank 0 should be.
        address: String,
        /// How long it was tried.
        seconds: u64,
        /// What the system says.
        reason: String,
    },
    /// A connection brought bytes that are no message of these ranks.
    #[error(
        "rank {rank} got bytes from {address} in '{operation}' that no rank of this version sends: see what else uses the port, or set {PORT_VARIABLE} to another on every rank"
    )]
    Stranger {
        /// The rank that waited.
        rank: u32,
        /// Whom it waited for.
        address: String,
        /// In what.
        operation: String,
    },
    /// Two processes with one rank.
    #[error("two processes say that they are rank {rank} of {size}: give each its own")]
    Twice {
        /// The rank.
        rank: u32,
        /// How many ranks there are.
        size: u32,
    },
    /// A process that counts the ranks differently.
    #[error(
        "rank {rank} counts {size} ranks, and rank {other} counts {theirs}: give all the same number"
    )]
    OtherSize {
        /// The rank.
        rank: u32,
        /// How many it counts.
        size: u32,
        /// Who counts differently.
        other: u32,
        /// How many that one counts.
        theirs: u32,
    },
    /// A rank of another job.
    #[error(
        "rank {rank} found a rank 0 of another job at {address}: set {PORT_VARIABLE} to another port on every rank of one of the jobs"
    )]
    OtherJob {
        /// The rank.
        rank: u32,
        /// Where.
        address: String,
    },
    /// A rank that has ended while another waits for it.
    #[error(
        "rank {rank} waited in '{operation}' for rank {missing}, which has ended: see what that one has written"
    )]
    Gone {
        /// The rank that waited.
        rank: u32,
        /// In what.
        operation: String,
        /// Who has ended.
        missing: u32,
    },
    /// Ranks that have not come to an operation in time.
    #[error(
        "rank {rank} waited {seconds} s in '{operation}' for {}: see whether all ranks still run and do the same, or wait longer",
        ranks(missing)
    )]
    Late {
        /// The rank that waited.
        rank: u32,
        /// In what.
        operation: String,
        /// How long.
        seconds: u64,
        /// For whom, where that is known.
        missing: Vec<u32>,
    },
    /// A rank that does something else.
    #[error(
        "rank {rank} is in '{operation}', and rank {other} in another operation or with other columns: let all ranks make the same calls in the same order"
    )]
    Different {
        /// The rank.
        rank: u32,
        /// What it does.
        operation: String,
        /// Who does something else.
        other: u32,
    },
    /// Something has failed before.
    #[error("the ranks no longer work together since an operation failed: start all of them again")]
    Broken,
    /// NCCL's library is not there, or too old.
    #[error("NCCL cannot be used: {0}")]
    NoNccl(String),
    /// NCCL was asked for, and a rank cannot use it.
    #[error(
        "rank {missing} has no GPU of its own or no NCCL, and NCCL was asked for: see what it has written, or ask for sockets"
    )]
    NotByNccl {
        /// Who cannot.
        missing: u32,
    },
    /// A call of NCCL failed.
    #[error("NCCL fails on rank {rank} in '{operation}': {call}: {reason}")]
    Nccl {
        /// The rank.
        rank: u32,
        /// What was done.
        operation: String,
        /// The function.
        call: &'static str,
        /// What NCCL says of it.
        reason: String,
    },
    /// A handle of other code that does not fit.
    #[error(
        "the communicator is of {found}, and the device of {expected}: give the device that the communicator was made for"
    )]
    OtherCommunicator {
        /// What the communicator is of.
        found: String,
        /// What it should be of.
        expected: String,
    },
    /// Values of another length than was prepared for.
    #[error(
        "rank {rank} has {given} values for '{operation}', which was prepared for {prepared}: call `prepare` again on all ranks when one has more or fewer values"
    )]
    OtherLength {
        /// The rank.
        rank: u32,
        /// What was to be done.
        operation: String,
        /// Values that were given.
        given: u64,
        /// Values that were prepared for.
        prepared: u64,
    },
    /// Nothing was prepared.
    #[error(
        "'{operation}' was queued before the ranks had told each other how many values they have: let all ranks call `prepare` before"
    )]
    Unprepared {
        /// What was to be done.
        operation: String,
    },
    /// Columns of which the ranks' results cannot be combined.
    #[error("the ranks' results of '{operation}' are not combined column by column{}", if *is_order { " in an order that is always the same: leave the deterministic mode" } else { ": sum, product, min, max, any, all and count_nonzero are" })]
    NoColumns {
        /// What was to be done.
        operation: String,
        /// Whether it is the order that they cannot be combined in.
        is_order: bool,
    },
    /// A capture of what goes through sockets.
    #[error(
        "results that go through sockets cannot be captured into a graph: let the ranks use NCCL"
    )]
    Captured,
    /// More than sockets are for.
    #[error(
        "'{operation}' would send {bytes} bytes through sockets, which are for up to {most}: let the ranks use NCCL"
    )]
    TooMuch {
        /// What was to be done.
        operation: String,
        /// Bytes of all ranks.
        bytes: u64,
        /// The most.
        most: u64,
    },
    /// A kernel, or a device.
    #[error(transparent)]
    Reduction(#[from] Error),
}

impl From<DeviceError> for RankError {
    fn from(error: DeviceError) -> Self {
        Self::Reduction(error.into())
    }
}

/// The variable that names the port at which rank 0 waits for the others.
pub const PORT_VARIABLE: &str = "WARPFOLD_RANKS_PORT";

/// The most ranks that are named in a sentence.
const NAMED: usize = 8;

/// `rank 1`, `ranks 1, 2 and 5`, or another rank where none is known.
fn ranks(ranks: &[u32]) -> String {
    let named: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    match (&named[..], ranks.len() - named.len()) {
        ([], _) => "another rank".to_owned(),
        ([one], _) => format!("rank {one}"),
        ([first @ .., last], 0) => format!("ranks {} and {last}", first.join(", ")),
        (some, more) => format!("ranks {} and {more} others", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_named_up_to_a_few() {
        assert_eq!(ranks(&[]), "another rank");
        assert_eq!(ranks(&[3]), "rank 3");
        assert_eq!(ranks(&[1, 2, 5]), "ranks 1, 2 and 5");
        let many: Vec<u32> = (1..100).collect();
        assert_eq!(ranks(&many), "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 91 others");
    }
}
