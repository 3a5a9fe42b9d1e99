//! Ranks that end, are late, are there twice, or are no ranks.

use super::super::{RankError, RankReduction, Ranks};
use super::processes::{self, End, FAILED, Process, command, free_port, impatient, torchrun};
use super::{SIZES, agree, alone, few_results};
use crate::operator::{Max, Sum};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Longer than anything here waits, and than a rank takes to find another one gone.
pub(super) const LONG: Duration = Duration::from_secs(20);

pub(super) fn task(name: &str, ranks: &Ranks<'_>) -> Result<(), RankError> {
    let values = ranks.device().upload(&[1.0_f32; 100])?;
    let mut sum = RankReduction::new(ranks, Sum)?;
    println!("first: {}", sum.of(&values)?);
    match (name, ranks.rank()) {
        // As a signal would end it.
        ("ends", 1) => std::process::abort(),
        ("first ends", 0) => std::process::abort(),
        ("is late", 1) => {
            std::thread::sleep(Duration::from_secs(6));
            sum.of(&values)?;
        }
        ("differs", 1) => drop(RankReduction::new(ranks, Max)?.of(&values)?),
        _ => drop(sum.of(&values)?),
    }
    println!("second");
    Ok(())
}

/// How all have ended, each with its own time.
pub(super) fn ends(processes: Vec<Process>) -> Vec<End> {
    let processes = processes.into_iter();
    let waiting: Vec<_> = processes
        .map(|process| std::thread::spawn(|| process.end()))
        .collect();
    let ends = waiting.into_iter().map(|waiting| waiting.join());
    ends.map(|end| end.expect("it waits")).collect()
}

/// Each rank ends with this sentence, and soon.
#[track_caller]
fn stopped(end: &End, sentence: &str) {
    says(end, sentence);
    assert!(end.elapsed < LONG, "{:?}", end.elapsed);
}

/// A rank has ended with this sentence.
#[track_caller]
pub(super) fn says(end: &End, sentence: &str) {
    let said = end
        .text
        .lines()
        .find_map(|line| line.strip_prefix("stopped: "));
    assert_eq!(said, Some(sentence), "{}", end.text);
    assert_eq!(end.status, Some(FAILED));
}

#[test]
fn a_rank_that_ends_midway_ends_all_with_a_sentence() {
    let three = |task| {
        ends(impatient(
            task,
            free_port(),
            30_000,
            &[(0, 3), (1, 3), (2, 3)],
        ))
    };
    let all = three("ends");
    for (rank, end) in [(0, &all[0]), (2, &all[2])] {
        let sentence = format!(
            "rank {rank} waited in 'sum of f32' for rank 1, which has ended: see what that one has written"
        );
        stopped(end, &sentence);
        assert!(end.text.contains("first: 300"), "{}", end.text);
    }
    assert_eq!(all[1].status, None);
    let all = three("first ends");
    for rank in [1, 2] {
        let sentence = format!(
            "rank {rank} waited in 'sum of f32' for rank 0, which has ended: see what that one has written"
        );
        stopped(&all[rank], &sentence);
    }
}

#[test]
fn a_late_rank_is_named_by_all() {
    let all = ends(impatient(
        "is late",
        free_port(),
        3000,
        &[(0, 3), (1, 3), (2, 3)],
    ));
    for rank in [0, 2] {
        let sentence = format!(
            "rank {rank} waited 3 s in 'sum of f32' for rank 1: see whether all ranks still run and do the same, or wait longer"
        );
        stopped(&all[rank], &sentence);
    }
    // It finds the others gone.
    stopped(
        &all[1],
        "rank 1 waited in 'sum of f32' for rank 0, which has ended: see what that one has written",
    );
}

#[test]
fn a_rank_that_never_comes_is_named_by_all() {
    let port = free_port();
    let all = ends(impatient("", port, 3000, &[(0, 4), (2, 4)]));
    let sentence = format!(
        "rank 0 waited 3 s at 127.0.0.1:{port} for ranks 1 and 3, which never came: start as many processes as there are ranks, or wait longer"
    );
    stopped(&all[0], &sentence);
    stopped(
        &all[1],
        "rank 2 waited 3 s in 'the start' for rank 1: see whether all ranks still run and do the same, or wait longer",
    );
    let alone = ends(impatient("", port, 1000, &[(1, 2)]));
    let said = alone[0]
        .text
        .lines()
        .find(|line| line.starts_with("stopped"));
    let begin = format!(
        "stopped: rank 1 waited 1 s for rank 0, which cannot be reached at 127.0.0.1:{port}: Connection refused"
    );
    assert!(
        said.is_some_and(|said| said.starts_with(&begin)),
        "{said:?}"
    );
    assert_eq!(alone[0].status, Some(FAILED));
}

#[test]
fn a_rank_that_is_there_twice_or_counts_otherwise_ends_all() {
    let all = ends(impatient("", free_port(), 8000, &[(0, 3), (1, 3), (1, 3)]));
    for end in &all {
        stopped(
            end,
            "two processes say that they are rank 1 of 3: give each its own",
        );
    }
    let all = ends(impatient("", free_port(), 8000, &[(0, 3), (1, 2)]));
    stopped(
        &all[0],
        "rank 0 counts 3 ranks, and rank 1 counts 2: give all the same number",
    );
    stopped(
        &all[1],
        "rank 1 counts 2 ranks, and rank 0 counts 3: give all the same number",
    );
}

#[test]
fn another_job_s_rank_is_turned_away() {
    let port = free_port();
    let of_job = |rank, job: &str| {
        let mut variables = torchrun(rank, 2);
        variables.push(("TORCHELASTIC_RUN_ID", job.to_owned()));
        Process::start(&mut command("", port, &variables))
    };
    let first = of_job(0, "a");
    let other = of_job(1, "b").end();
    stopped(
        &other,
        &format!(
            "rank 1 found a rank 0 of another job at 127.0.0.1:{port}: set WARPFOLD_RANKS_PORT to another port on every rank of one of the jobs"
        ),
    );
    // It was no reason to end for those who belong together.
    for end in [of_job(1, "a").end(), first.end()] {
        assert_eq!(end.status, Some(0), "{}", end.text);
    }
}

#[test]
fn ranks_that_do_not_do_the_same_are_told_so() {
    let all = ends(impatient("differs", free_port(), 8000, &[(0, 2), (1, 2)]));
    let sentence = |rank: u32, operation: &str| {
        let other = 1 - rank;
        format!(
            "rank {rank} is in '{operation}', and rank {other} in another operation or with other columns: let all ranks make the same calls in the same order"
        )
    };
    stopped(&all[0], &sentence(0, "sum of f32"));
    stopped(&all[1], &sentence(1, "max of f32"));
}

#[test]
fn ranks_without_nccl_say_so() {
    let all = ends(processes::by_nccl(2));
    for end in &all {
        let said = end.text.lines().find(|line| line.starts_with("stopped"));
        let is_told = said.is_some_and(|said| {
            said.starts_with("stopped: NCCL cannot be used: ")
                || said == "stopped: rank 0 has no GPU of its own or no NCCL, and NCCL was asked for: see what it has written, or ask for sockets"
        });
        assert!(is_told, "{}", end.text);
        assert_eq!(end.status, Some(FAILED));
    }
}

/// Until rank 0 listens.
fn connect(port: u16) -> TcpStream {
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(connection) => return connection,
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[test]
fn strangers_do_not_disturb_the_ranks() {
    let port = free_port();
    let first = Process::start(&mut command("few", port, &torchrun(0, 2)));
    let mut strangers = Vec::new();
    let mut almost = [0; 80];
    almost[..8].copy_from_slice(b"warpfolD");
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 500], &almost, b""] {
        let mut stranger = connect(port);
        let _ = stranger.write_all(bytes);
        strangers.push(stranger);
    }
    let second = Process::start(&mut command("few", port, &torchrun(1, 2)));
    agree(vec![first, second], &few_results(&alone(), SIZES[1]));
}

#[test]
fn a_port_in_use_is_told_by_all() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let port = listener.local_addr().expect("it has one").port();
    let mut all = impatient("", port, 8000, &[(0, 2), (1, 2)]);
    // Another program's server answers rank 1.
    let (mut connection, _) = listener.accept().expect("rank 1 comes");
    let mut hello = [0; 80];
    connection
        .read_exact(&mut hello)
        .expect("it says who it is");
    connection.write_all(&[b'?'; 100]).expect("it listens");
    let second = all.pop().map(Process::end).expect("there are two");
    stopped(
        &second,
        &format!(
            "rank 1 got bytes from 127.0.0.1:{port} in 'the start' that no rank of this version sends: see what else uses the port, or set WARPFOLD_RANKS_PORT to another on every rank"
        ),
    );
    let first = all.pop().map(Process::end).expect("there are two");
    let said = first.text.lines().find(|line| line.starts_with("stopped"));
    let begin = format!(
        "stopped: rank 0 cannot listen on 127.0.0.1:{port} for the other ranks: Address already in use"
    );
    assert!(
        said.is_some_and(|said| said.starts_with(&begin)),
        "{}",
        first.text
    );
    assert_eq!(first.status, Some(FAILED));
}
