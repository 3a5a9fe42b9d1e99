//! Which rank a process is, of how many, and where rank 0 is: what launchers say in the environment.

use super::error::{PORT_VARIABLE, RankError};
use super::hash::hash;
use super::nodes::first_host;
use std::fmt;

/// The most ranks.
pub const MOST_RANKS: u32 = 1 << 16;

/// The port at which rank 0 waits for the others, unless a variable names another.
pub const PORT: u16 = 29617;

/// Who has started the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `torchrun`, or anything that sets `RANK`, `WORLD_SIZE` and `MASTER_ADDR` as it does.
    Torchrun,
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `srun` of Slurm.
    Slurm,
    /// No launcher: the program gives the rank, as to [`Place::new`].
    Given,
}

impl fmt::Display for Launcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Torchrun => "torchrun",
            Self::OpenMpi => "Open MPI",
            Self::Slurm => "Slurm",
            Self::Given => "no launcher",
        })
    }
}

/// Which rank a process is.
///
/// | launcher | rank, of, on its host | rank 0's host |
/// |---|---|---|
/// | torchrun | `RANK`, `WORLD_SIZE`, `LOCAL_RANK` | `MASTER_ADDR` |
/// | Open MPI | `OMPI_COMM_WORLD_RANK`, `…_SIZE`, `…_LOCAL_RANK` | the loopback, if `OMPI_COMM_WORLD_LOCAL_SIZE` says that all are on one host |
/// | Slurm | `SLURM_PROCID`, `SLURM_NTASKS`, `SLURM_LOCALID` | the first of `SLURM_STEP_NODELIST` or `SLURM_JOB_NODELIST` |
///
/// They are looked for in this order, since the inner launcher is the one that counts: `torchrun` and `mpirun` are started by `srun`, and never
/// the other way round. Where `MASTER_ADDR` is set, it is rank 0's host with every launcher; else the host of `NCCL_COMM_ID`, where that is set.
///
/// The port is [`PORT`], or what `WARPFOLD_RANKS_PORT` says. It is neither that of `MASTER_PORT`, which torchrun's own store uses, nor that of
/// `NCCL_COMM_ID`, which NCCL uses itself; where `MASTER_PORT` is [`PORT`], it is the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) rank: u32,
    pub(super) size: u32,
    pub(super) local_rank: u32,
    pub(super) launcher: Launcher,
    /// Rank 0's host, if it is known.
    pub(super) host: Option<String>,
    pub(super) port: u16,
    /// A number that the ranks of one job share.
    pub(super) job: u64,
}

impl Place {
    /// What the launcher of this process says; `None` if no launcher has started it.
    ///
    /// # Errors
    /// A launcher's variable that holds no number, or one without the others that the launcher sets.
    pub fn from_environment() -> Result<Option<Self>, RankError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// As [`Self::from_environment`], from other variables.
    ///
    /// # Errors
    /// As there.
    pub fn from_variables(
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Option<Self>, RankError> {
        let number = |name: &'static str| {
            let text = variable(name).filter(|text| !text.is_empty());
            text.map(|text| {
                text.trim().parse().map_err(|_| RankError::Variable {
                    name,
                    value: text.clone(),
                    expected: "number of a rank or of ranks",
                })
            })
            .transpose()
        };
        let both = |present: &'static str, missing: &'static str| {
            Ok::<(u32, u32), RankError>(match (number(present)?, number(missing)?) {
                (Some(rank), Some(size)) => (rank, size),
                _ => return Err(RankError::Incomplete { present, missing }),
            })
        };
        let is_set = |name| variable(name).is_some_and(|text| !text.is_empty());
        let (launcher, (rank, size), local) = if is_set("RANK") && is_set("WORLD_SIZE") {
            (
                Launcher::Torchrun,
                both("RANK", "WORLD_SIZE")?,
                "LOCAL_RANK",
            )
        } else if is_set("OMPI_COMM_WORLD_RANK") {
            let both = both("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")?;
            (Launcher::OpenMpi, both, "OMPI_COMM_WORLD_LOCAL_RANK")
        } else if is_set("SLURM_PROCID") {
            let both = both("SLURM_PROCID", "SLURM_NTASKS")?;
            (Launcher::Slurm, both, "SLURM_LOCALID")
        } else {
            return Ok(None);
        };
        let launchers_host = || match launcher {
            Launcher::OpenMpi if number("OMPI_COMM_WORLD_LOCAL_SIZE").ok()? == Some(size) => {
                Some("127.0.0.1".to_owned())
            }
            Launcher::Slurm => {
                let nodes = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"];
                let nodes = nodes.into_iter().find_map(&variable)?;
                first_host(&nodes)
            }
            _ => None,
        };
        let place = Self {
            local_rank: number(local)?.unwrap_or(0),
            launcher,
            job: job(&variable),
            ..Self::new(rank, size)?
        };
        let place = place.with_variables(&variable)?;
        let host = place.host.clone().or_else(launchers_host);
        Ok(Some(Self { host, ..place }))
    }

    /// Rank `rank` of `size`, for processes that no launcher has started; its number on its host is taken to be
    /// the same. `MASTER_ADDR`, `NCCL_COMM_ID` and
    /// `WARPFOLD_RANKS_PORT` are read by [`Self::with_environment`].
    ///
    /// # Errors
    /// [`RankError::NoSuchRank`]
    pub fn new(rank: u32, size: u32) -> Result<Self, RankError> {
        if rank >= size || size > MOST_RANKS {
            let most = MOST_RANKS;
            return Err(RankError::NoSuchRank { rank, size, most });
        }
        Ok(Self {
            rank,
            size,
            local_rank: rank,
            launcher: Launcher::Given,
            host: None,
            port: PORT,
            job: 0,
        })
    }

    /// The same place, with what the environment says of rank 0's host and port.
    ///
    /// # Errors
    /// A variable that holds neither.
    pub fn with_environment(self) -> Result<Self, RankError> {
        self.with_variables(&|name| std::env::var(name).ok())
    }

    fn with_variables(
        self,
        variable: &impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, RankError> {
        let of_port = |name: &'static str| {
            let text = variable(name).filter(|text| !text.is_empty());
            text.map(|text| {
                let port = text.trim().parse().ok().filter(|&port| port != 0);
                port.ok_or(RankError::Variable {
                    name,
                    value: text,
                    expected: "port from 1 to 65535",
                })
            })
            .transpose()
        };
        let master = variable("MASTER_ADDR").filter(|host| !host.trim().is_empty());
        let host = match (master, variable("NCCL_COMM_ID")) {
            (Some(host), _) => Some(host.trim().to_owned()),
            (None, Some(address)) => Some(host_of(&address)?),
            (None, None) => self.host,
        };
        let port = match of_port(PORT_VARIABLE)? {
            Some(port) => port,
            // The port is then that of torchrun's own store, so the ranks take the next one.
            None if variable("MASTER_PORT").is_some_and(|text| text.trim() == PORT.to_string()) => {
                PORT + 1
            }
            None => self.port,
        };
        Ok(Self { host, port, ..self })
    }

    /// The same place, where rank 0 is to be found at this host, and at this port.
    #[must_use]
    pub fn at(self, host: impl Into<String>, port: u16) -> Self {
        let host = Some(host.into());
        Self { host, port, ..self }
    }

    /// The rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The number of the process among those on its host.
    pub fn local_rank(&self) -> u32 {
        self.local_rank
    }

    /// Who has started the processes.
    pub fn launcher(&self) -> Launcher {
        self.launcher
    }

    /// Rank 0's host and port, as [`ToSocketAddrs`](std::net::ToSocketAddrs) takes them.
    ///
    /// # Errors
    /// [`RankError::NoAddress`]
    pub(super) fn address(&self) -> Result<(&str, u16), RankError> {
        let (rank, size) = (self.rank, self.size);
        let host = self.host.as_deref();
        Ok((host.ok_or(RankError::NoAddress { rank, size })?, self.port))
    }
}

/// The host in `host:port` or `[address]:port`.
fn host_of(address: &str) -> Result<String, RankError> {
    let wrong = || RankError::Variable {
        name: "NCCL_COMM_ID",
        value: address.to_owned(),
        expected: "host:port",
    };
    let (host, port) = address.trim().rsplit_once(':').ok_or_else(wrong)?;
    let host = host
        .strip_prefix('[')
        .map_or(Some(host), |host| host.strip_suffix(']'));
    match (host, port.parse::<u16>()) {
        (Some(host), Ok(_)) if !host.is_empty() => Ok(host.to_owned()),
        _ => Err(wrong()),
    }
}

/// A number that differs from job to job, from what launchers call theirs.
fn job(variable: &impl Fn(&'static str) -> Option<String>) -> u64 {
    const NAMES: [&str; 6] = [
        "TORCHELASTIC_RUN_ID",
        "MASTER_PORT",
        "OMPI_MCA_ess_base_jobid",
        "PMIX_NAMESPACE",
        "SLURM_JOB_ID",
        "SLURM_STEP_ID",
    ];
    let names = NAMES.map(|name| format!("{name}={}\n", variable(name).unwrap_or_default()));
    hash(names.concat().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Result<Option<Place>, RankError> {
        Place::from_variables(|name| {
            let mut variables = variables.iter();
            let found = variables.find(|(other, _)| *other == name)?;
            Some(found.1.to_owned())
        })
    }

    fn told(variables: &[(&str, &str)]) -> (Launcher, [u32; 3], Option<String>, u16) {
        let place = place(variables).expect("it is right").expect("it is there");
        let numbers = [place.rank(), place.size(), place.local_rank()];
        (place.launcher(), numbers, place.host, place.port)
    }

    const TORCHRUN: [(&str, &str); 5] = [
        ("RANK", "5"),
        ("WORLD_SIZE", "8"),
        ("LOCAL_RANK", "1"),
        ("MASTER_ADDR", "node3"),
        ("MASTER_PORT", "29500"),
    ];
    const OPEN_MPI: [(&str, &str); 4] = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ];
    const SLURM: [(&str, &str); 4] = [
        ("SLURM_PROCID", "3"),
        ("SLURM_NTASKS", "4"),
        ("SLURM_LOCALID", "0"),
        ("SLURM_JOB_NODELIST", "gpu[07-09,12],login"),
    ];

    #[test]
    fn torchrun_open_mpi_and_slurm_say_who_and_where() {
        let host = |host: &str| Some(host.to_owned());
        assert_eq!(
            told(&TORCHRUN),
            (Launcher::Torchrun, [5, 8, 1], host("node3"), PORT)
        );
        assert_eq!(
            told(&OPEN_MPI),
            (Launcher::OpenMpi, [1, 2, 1], host("127.0.0.1"), PORT)
        );
        assert_eq!(
            told(&SLURM),
            (Launcher::Slurm, [3, 4, 0], host("gpu07"), PORT)
        );
        // A step on some of the job's nodes; and the inner launcher counts.
        let step = [&SLURM[..], &[("SLURM_STEP_NODELIST", "gpu12")]].concat();
        assert_eq!(told(&step).2, host("gpu12"));
        let inner = [&SLURM[..], &OPEN_MPI[..], &TORCHRUN[..]].concat();
        assert_eq!(told(&inner).0, Launcher::Torchrun);
        assert_eq!(
            told(&[&SLURM[..], &OPEN_MPI[..]].concat()).0,
            Launcher::OpenMpi
        );
    }

    #[test]
    fn the_host_is_given_where_open_mpi_does_not_say_it() {
        let mut variables = OPEN_MPI;
        variables[3].1 = "1";
        assert_eq!(told(&variables).2, None);
        let of = |more: &[(&'static str, &'static str)]| told(&[&variables[..], more].concat());
        let host = |host: &str| Some(host.to_owned());
        assert_eq!(of(&[("MASTER_ADDR", "a")]).2, host("a"));
        let by_nccl = ("NCCL_COMM_ID", "10.0.0.7:5000");
        assert_eq!(of(&[by_nccl]).2, host("10.0.0.7"));
        assert_eq!(of(&[("NCCL_COMM_ID", "[fd00::7]:5000")]).2, host("fd00::7"));
        assert_eq!(of(&[by_nccl, ("MASTER_ADDR", "a")]).2, host("a"));
        let alone = Place::new(0, 2).expect("there is such a rank");
        let no_address = alone.address().expect_err("nothing says it");
        assert_eq!(
            no_address.to_string(),
            "rank 0 of 2 does not know the host of rank 0: set MASTER_ADDR to its name on every rank"
        );
    }

    #[test]
    fn the_port_is_one_of_its_own() {
        let of = |more: &[(&'static str, &'static str)]| told(&[&SLURM[..], more].concat()).3;
        assert_eq!(of(&[("WARPFOLD_RANKS_PORT", "4711")]), 4711);
        assert_eq!(of(&[("MASTER_PORT", "29617")]), 29618);
        assert_eq!(of(&[("NCCL_COMM_ID", "a:29617")]), PORT);
    }

    #[test]
    fn what_is_no_number_is_refused_and_no_launcher_is_none() {
        assert_eq!(place(&[]), Ok(None));
        // A variable of this name alone is somebody else's.
        assert_eq!(place(&[("RANK", "admiral")]), Ok(None));
        let sentence = |variables: &[(&str, &str)]| {
            let error = place(variables).expect_err("it is wrong");
            error.to_string()
        };
        assert_eq!(
            sentence(&[("RANK", "-1"), ("WORLD_SIZE", "2")]),
            "RANK is '-1', which is no number of a rank or of ranks: start the program by a launcher that sets it, or unset it"
        );
        assert_eq!(
            sentence(&[("SLURM_PROCID", "0")]),
            "SLURM_PROCID is set, and SLURM_NTASKS is not, which the same launcher sets: set it, or unset SLURM_PROCID"
        );
        assert_eq!(
            sentence(&[("RANK", "2"), ("WORLD_SIZE", "2")]),
            "there is no rank 2 of 2: ranks are counted from 0, and there are 1 to 65536 of them"
        );
        assert!(sentence(&[("RANK", "0"), ("WORLD_SIZE", "70000")]).contains("1 to 65536"));
        for address in ["", "host", "host:port", ":1", "[fd00::1:1", "host:70000"] {
            let mut variables = OPEN_MPI.to_vec();
            variables.push(("NCCL_COMM_ID", address));
            assert!(
                sentence(&variables).starts_with("NCCL_COMM_ID is '"),
                "{address}"
            );
        }
        for port in ["0", "65536", "http"] {
            let mut variables = TORCHRUN.to_vec();
            variables.push(("WARPFOLD_RANKS_PORT", port));
            assert!(
                sentence(&variables).contains("no port from 1 to 65535"),
                "{port}"
            );
        }
    }

    #[test]
    fn jobs_differ() {
        let job = |variables: &[(&str, &str)]| place(variables).map(|place| place.map(|it| it.job));
        let with = |id| [&SLURM[..], &[("SLURM_JOB_ID", id)]].concat();
        assert_ne!(job(&with("1")), job(&with("2")));
        assert_eq!(job(&with("1")), job(&with("1")));
    }
}
