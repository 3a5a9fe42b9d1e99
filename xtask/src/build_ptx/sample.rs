//! Which texts `--check` builds again although the record says that none has changed: a sample, another for each commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::job::Job;
use super::record::sha256;

/// The files of the sample: of the lessons and exhibits what is built for one architecture, and of every other crate one text.
pub(super) fn files(jobs: &[Job], seed: &str) -> Vec<String> {
    // What is built together, by what it is chosen from. Each architecture costs the compilation of `core`.
    let mut choices: BTreeMap<&str, BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for job in jobs {
        let (of, together) = match job.entries {
            Some(_) => ("kernels", job.arch.target_cpu()),
            None => (job.package, job.file.clone()),
        };
        let choice = choices.entry(of).or_default();
        choice.entry(together).or_default().push(&job.file);
    }
    let chosen = choices.into_iter().flat_map(|(of, choice)| {
        let place = number(&format!("{seed} {of}")) % choice.len();
        choice.into_values().nth(place).unwrap_or_default()
    });
    chosen.map(str::to_owned).collect()
}

/// What is another for each commit; empty where there is no git or no commit.
pub(super) fn seed(repository: &Path) -> String {
    let output = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(repository)
        .output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => String::new(),
    }
}

/// A number that hardly two texts have in common.
fn number(text: &str) -> usize {
    let digits = &sha256(text)[..7];
    usize::from_str_radix(digits, 16).expect("these are hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cuda_builder::{DebugInfo, NvvmArch};
    use warpfold_kernels::catalogue::PtxText;

    use super::super::job::Entries;
    use super::*;

    fn jobs() -> Vec<Job> {
        let job = |package, name: &str, arch, entries| Job {
            file: format!("{name} {arch:?}"),
            package,
            module: None,
            arch,
            debug: DebugInfo::None,
            ptx_version: None,
            source_hash: String::new(),
            is_bare: false,
            entries,
        };
        let mut jobs = Vec::new();
        for arch in [
            NvvmArch::Compute70,
            NvvmArch::Compute80,
            NvvmArch::Compute90,
        ] {
            for module in PtxText::ALL {
                let entries = Some(Entries::Lessons(module));
                jobs.push(job("kernels", module.name(), arch, entries));
            }
        }
        for name in ["u32", "f32", "bool"] {
            jobs.push(job("reductions", name, NvvmArch::Compute70, None));
        }
        jobs
    }

    #[test]
    fn each_commit_has_its_own_sample_of_everything_and_in_time_all_are_built() {
        let jobs = jobs();
        let samples: Vec<_> = (0..40)
            .map(|commit| files(&jobs, &commit.to_string()))
            .collect();
        for sample in &samples {
            assert_eq!(sample.len(), PtxText::ALL.len() + 1, "{sample:?}");
            let archs: BTreeSet<_> = sample
                .iter()
                .filter(|file| {
                    PtxText::ALL
                        .iter()
                        .any(|module| file.starts_with(module.name()))
                })
                .map(|file| file.split(' ').next_back())
                .collect();
            assert_eq!(archs.len(), 1, "{sample:?}");
        }
        let built: BTreeSet<&String> = samples.iter().flatten().collect();
        assert_eq!(built.len(), jobs.len());
        assert_eq!(files(&jobs, "7"), samples[7]);
    }
}
