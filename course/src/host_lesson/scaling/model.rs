//! A model of what one sum costs on many GPUs. It is a model: nothing here was measured on that many.
//!
//! A step of a collective takes `latency + bytes / bandwidth` (the α–β model of R. Hockney, "The communication challenge for MPP", Parallel
//! Computing 20, 1994). How many steps an algorithm takes, and how many bytes each moves, is from R. Thakur, R. Rabenseifner and W. Gropp,
//! "Optimization of Collective Communication Operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).

/// What a step over a link costs.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Until the first byte has come, in microseconds.
    pub latency_us: f64,
    /// What comes after that, in gigabytes (10⁹ bytes) per second, in one direction.
    pub gigabytes_per_second: f64,
}

impl Link {
    /// The time of a step that moves this many bytes, in microseconds.
    pub fn step_us(self, bytes: f64) -> f64 {
        self.latency_us + bytes / (self.gigabytes_per_second * 1e3)
    }
}

/// GPUs in computers of several each.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// How many GPUs.
    pub gpus: u64,
    /// How many of them one computer has.
    pub per_host: u64,
    /// Between GPUs of one computer.
    pub inside: Link,
    /// Between computers.
    pub between: Link,
}

/// How the states of all GPUs become one that all know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Every GPU stores its state in a slot of the first, which takes them one by one: the design of `warpfold::Group`, across computers too.
    HandIn,
    /// A tree in each computer and one over the computers, up and down again.
    Tree,
    /// A ring through all GPUs, in which each step moves a part of the bytes: a reduce-scatter and an all-gather.
    Ring,
}

impl Collective {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::HandIn, Self::Tree, Self::Ring];

    /// How many steps follow one another inside computers and between them, and the bytes that each moves.
    fn steps(self, cluster: &Cluster, bytes: f64) -> ([f64; 2], f64) {
        let inside = cluster.per_host.min(cluster.gpus).max(1);
        let hosts = cluster.gpus.div_ceil(inside).max(1);
        let levels = |count: u64| f64::from(count.next_power_of_two().ilog2());
        match self {
            Self::HandIn => {
                let others = inside - 1;
                ([others as f64, (cluster.gpus - inside) as f64], bytes)
            }
            Self::Tree => ([2.0 * levels(inside), 2.0 * levels(hosts)], bytes),
            Self::Ring => {
                let steps = 2.0 * (cluster.gpus - 1) as f64;
                let part = bytes / cluster.gpus as f64;
                // Every step of a ring waits for its slowest link.
                match hosts {
                    1 => ([steps, 0.0], part),
                    _ => ([0.0, steps], part),
                }
            }
        }
    }

    /// The time after the last GPU has reduced its part, in microseconds.
    pub fn time_us(self, cluster: &Cluster, bytes: f64) -> f64 {
        let ([inside, between], bytes) = self.steps(cluster, bytes);
        inside * cluster.inside.step_us(bytes) + between * cluster.between.step_us(bytes)
    }
}

/// The speed-up of `gpus` GPUs if a part of the work cannot be shared (Amdahl).
pub fn amdahl(serial_fraction: f64, gpus: f64) -> f64 {
    1.0 / (serial_fraction + (1.0 - serial_fraction) / gpus)
}

/// How much more work `gpus` GPUs do in the time of one, of whose time so much is serial (Gustafson).
pub fn gustafson(serial_fraction: f64, gpus: f64) -> f64 {
    gpus - serial_fraction * (gpus - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    const INSIDE: Link = Link {
        latency_us: 1.1,
        gigabytes_per_second: 450.0,
    };

    fn cluster(gpus: u64, between_us: f64) -> Cluster {
        Cluster {
            gpus,
            per_host: 8,
            inside: INSIDE,
            between: Link {
                latency_us: between_us,
                gigabytes_per_second: 50.0,
            },
        }
    }

    #[test]
    fn one_gpu_has_nobody_to_meet() {
        for collective in Collective::ALL {
            assert_eq!(collective.time_us(&cluster(1, 5.0), 8.0), 0.0);
        }
    }

    #[test]
    fn steps_are_those_of_the_algorithms() {
        let few = cluster(8, 5.0);
        assert_eq!(Collective::Tree.steps(&few, 8.0), ([6.0, 0.0], 8.0));
        assert_eq!(Collective::HandIn.steps(&few, 8.0), ([7.0, 0.0], 8.0));
        assert_eq!(Collective::Ring.steps(&few, 8.0), ([14.0, 0.0], 1.0));
        let many = cluster(4096, 5.0);
        assert_eq!(Collective::Tree.steps(&many, 8.0), ([6.0, 18.0], 8.0));
        assert_eq!(Collective::HandIn.steps(&many, 8.0), ([7.0, 4088.0], 8.0));
    }

    #[test]
    fn trees_are_for_few_bytes_and_rings_for_many() {
        let many = cluster(64, 5.0);
        let time = |collective: Collective, bytes| collective.time_us(&many, bytes);
        assert!(time(Collective::Tree, 8.0) < time(Collective::Ring, 8.0));
        assert!(time(Collective::Ring, 1e9) < time(Collective::Tree, 1e9));
        // A ring moves each byte twice, whatever the number of GPUs.
        let at_least = 2.0 * 1e9 * 63.0 / 64.0 / 50e3;
        assert!(time(Collective::Ring, 1e9) >= at_least);
    }

    #[test]
    fn the_laws_agree_at_their_ends() {
        assert_eq!((amdahl(0.0, 8.0), gustafson(0.0, 8.0)), (8.0, 8.0));
        assert_eq!((amdahl(1.0, 8.0), gustafson(1.0, 8.0)), (1.0, 1.0));
        assert!((amdahl(0.1, 1e9) - 10.0).abs() < 1e-6);
    }

    /// Microseconds of one GPU for 2^30 i32, measured on an H200: see the page.
    const LOCAL_US: f64 = 934.8;

    /// The tables of the page.
    fn tables() -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "| GPUs | between computers, assumed | hand-in | tree | ring | weak efficiency of the tree | strong speed-up of the tree |"
        );
        let _ = writeln!(text, "|--:|--:|--:|--:|--:|--:|--:|");
        for gpus in [8, 64, 4096] {
            for between_us in [2.0, 5.0, 10.0] {
                if gpus == 8 && between_us > 2.0 {
                    continue;
                }
                let cluster = cluster(gpus, between_us);
                let [hand_in, tree, ring] =
                    Collective::ALL.map(|collective| collective.time_us(&cluster, 8.0));
                let between = match gpus {
                    8 => "none".to_owned(),
                    _ => format!("{between_us} µs"),
                };
                let weak = 100.0 * LOCAL_US / (LOCAL_US + tree);
                let strong = LOCAL_US / (LOCAL_US / gpus as f64 + tree);
                let _ = writeln!(
                    text,
                    "| {gpus} | {between} | {hand_in:.1} µs | {tree:.1} µs | {ring:.1} µs | {weak:.1} % | {strong:.1} |"
                );
            }
        }
        text
    }

    #[test]
    fn the_page_has_what_the_model_gives() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clusters.md");
        let text = std::fs::read_to_string(page).expect("the page is there");
        let (begin, end) = ("<!-- model: begin -->\n", "<!-- model: end -->");
        let (before, rest) = text.split_once(begin).expect("the table has its place");
        let (found, after) = rest.split_once(end).expect("the table ends");
        let tables = tables();
        if std::env::var_os("WARPFOLD_BLESS").is_some() {
            let text = [before, begin, &tables, end, after].concat();
            std::fs::write(page, text).expect("the page can be written");
            return;
        }
        assert_eq!(
            found, tables,
            "docs/clusters.md is out of date: `WARPFOLD_BLESS=1 cargo test -p warpfold-course-tests model` writes it anew"
        );
    }
}
