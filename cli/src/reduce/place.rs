//! Whether this process is one of several, and how these find each other: the arguments.

use crate::failure::Failure;
use std::str::FromStr;
use std::time::Duration;
use warpfold::ranks::{By, Options, PORT, Place, RankError};

/// How processes share out the work.
#[derive(Clone, clap::Args, Debug)]
pub(super) struct RanksArguments {
    /// Whether this process is one of several that reduce the files together, each on a device: auto (as torchrun, mpirun or srun have
    /// started it), off (by itself), or its number and theirs, like 0/2. Each takes a part of the values of the same files; where a FILE has
    /// {rank} in its name, each rank has its own file
    #[arg(long, value_name = "auto|off|R/N", default_value = "auto")]
    ranks: Which,
    /// Rank 0's host and port [default: the launcher's host and port 29617, or WARPFOLD_RANKS_PORT]
    #[arg(long, value_name = "HOST[:PORT]")]
    ranks_address: Option<Address>,
    /// How the ranks hand each other their results: nccl, sockets (through the hosts' memory), or best, which is NCCL where each rank has it
    /// and a GPU of its own. Rank 0's choice counts for all
    #[arg(long, value_name = "BY", default_value = "best")]
    ranks_by: By,
    /// How long a rank waits for others, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    ranks_timeout: u64,
}

/// What `--ranks` says.
#[derive(Clone, Debug)]
enum Which {
    Auto,
    Off,
    Given(Place),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::Auto),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        let numbers = text.split_once('/');
        let numbers =
            numbers.and_then(|(rank, size)| Some((rank.parse().ok()?, size.parse().ok()?)));
        let Some((rank, size)) = numbers else {
            return Err(format!(
                "'{text}' is none of auto, off and R/N, such as 0/2 for the first of two ranks"
            ));
        };
        Place::new(rank, size)
            .map(Self::Given)
            .map_err(|error| error.to_string())
    }
}

/// What `--ranks-address` says.
#[derive(Clone, Debug)]
struct Address(String, u16);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (host, port) = match bracketed {
            Some((host, port)) => (
                host,
                port.strip_prefix(':').or(port.is_empty().then_some("")),
            ),
            // Several colons without a bracket are those of an address of IPv6.
            None => match text.split_once(':') {
                Some((host, port)) if !port.contains(':') => (host, Some(port)),
                _ => (text, Some("")),
            },
        };
        let port = match port {
            Some("") if !text.ends_with(':') => Some(PORT),
            port => port
                .and_then(|port| port.parse().ok())
                .filter(|&port| port != 0),
        };
        let is_of_host =
            |it: char| it.is_alphanumeric() || matches!(it, '.' | '-' | '_' | ':' | '%');
        match port {
            Some(port) if !host.is_empty() && host.chars().all(is_of_host) => {
                Ok(Self(host.to_owned(), port))
            }
            _ => Err(format!(
                "'{text}' is no host with a port from 1 to 65535, such as node1:29617"
            )),
        }
    }
}

impl From<RankError> for Failure {
    fn from(error: RankError) -> Self {
        match error {
            RankError::Reduction(error) => error.into(),
            error => Self::input(error),
        }
    }
}

impl RanksArguments {
    /// How the ranks find each other and wait.
    pub(super) fn options(&self) -> Options {
        Options {
            by: self.ranks_by,
            patience: Duration::from_secs(self.ranks_timeout),
        }
    }

    /// Which rank this process is; `None` where it reduces by itself.
    pub(super) fn place(&self) -> Result<Option<Place>, Failure> {
        let place = match &self.ranks {
            Which::Off => None,
            // One process alone is no reason to go other ways than without a launcher.
            Which::Auto => Place::from_environment()?.filter(|place| place.size() > 1),
            Which::Given(place) => Some(place.clone().with_environment()?),
        };
        Ok(place.map(|place| match &self.ranks_address {
            Some(Address(host, port)) => place.at(host, *port),
            None => place,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, host, port) in [
            ("node1", "node1", PORT),
            ("node1:5000", "node1", 5000),
            ("10.0.0.1:1", "10.0.0.1", 1),
            ("[fd00::1]:5000", "fd00::1", 5000),
            ("[fd00::1]", "fd00::1", PORT),
            ("fd00::1", "fd00::1", PORT),
        ] {
            let address: Address = text.parse().expect("it is one");
            assert_eq!((address.0.as_str(), address.1), (host, port), "{text}");
        }
        for text in [
            "",
            ":",
            "node1:",
            "node1:0",
            "node1:70000",
            ":5000",
            "[]:5000",
            "[a]5",
            "[a",
        ] {
            let error = text.parse::<Address>();
            assert!(error.is_err(), "{text}: {error:?}");
        }
    }

    #[test]
    fn ranks_are_read() {
        assert!(matches!("auto".parse(), Ok(Which::Auto)));
        assert!(matches!("off".parse(), Ok(Which::Off)));
        let Ok(Which::Given(place)) = "3/4".parse() else {
            panic!("it is one");
        };
        assert_eq!((place.rank(), place.size()), (3, 4));
        for text in ["", "on", "1", "/", "a/b", "-1/2", "4/4", "0/0"] {
            assert!(text.parse::<Which>().is_err(), "{text}");
        }
    }
}
