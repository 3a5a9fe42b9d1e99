//! Which job a worker takes next.

/// Jobs that nobody has begun. Each needs something of a kind, which every worker makes for itself before its first job of the kind.
pub struct Waiting<Kind, Job> {
    jobs: Vec<(Kind, Job)>,
    /// The kinds of which a worker has begun a job.
    begun: Vec<(usize, Kind)>,
}

impl<Kind: Copy + PartialEq, Job> Waiting<Kind, Job> {
    pub fn new(jobs: impl IntoIterator<Item = (Kind, Job)>) -> Self {
        Self {
            jobs: jobs.into_iter().collect(),
            begun: Vec::new(),
        }
    }

    /// The first job of a kind of which this worker has begun one; else of which nobody has; else the first.
    pub fn next(&mut self, worker: usize) -> Option<Job> {
        let is_own = |&(kind, _): &(Kind, Job)| self.begun.contains(&(worker, kind));
        let is_new = |&(kind, _): &(Kind, Job)| !self.begun.iter().any(|&(_, of)| of == kind);
        let place = self
            .jobs
            .iter()
            .position(is_own)
            .or_else(|| self.jobs.iter().position(is_new))
            .unwrap_or(0);
        if self.jobs.is_empty() {
            return None;
        }
        let (kind, job) = self.jobs.remove(place);
        self.begun.push((worker, kind));
        Some(job)
    }

    /// Leaves no job to anybody.
    pub fn give_up(&mut self) {
        self.jobs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_stays_with_a_kind_and_helps_when_all_are_begun() {
        let jobs = ["a1", "a2", "b1", "a3", "b2", "c1", "a4"];
        let kind = |job: &str| job.as_bytes()[0];
        let mut waiting = Waiting::new(jobs.map(|job| (kind(job), job)));
        let mut next = |worker| waiting.next(worker);
        assert_eq!(next(0), Some("a1"));
        assert_eq!([1, 1, 1].map(&mut next), ["b1", "b2", "c1"].map(Some));
        assert_eq!(next(1), Some("a2"));
        assert_eq!([0, 1, 0].map(&mut next), [Some("a3"), Some("a4"), None]);
    }

    #[test]
    fn nothing_is_left_where_all_is_given_up() {
        let mut waiting = Waiting::new([('a', 1), ('a', 2)]);
        assert_eq!(waiting.next(0), Some(1));
        waiting.give_up();
        assert_eq!(waiting.next(0), None);
    }
}
