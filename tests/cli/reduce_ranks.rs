//! `warpfold reduce` as several processes that a launcher has started, on the loopback.

use super::reduce_any::npy;
use super::*;
use std::net::TcpListener;
use std::process::{Child, Command as Process, Output, Stdio};

/// The variables of a launcher's rank, of this many.
type Variables = fn(u32, u32) -> Vec<(&'static str, String)>;

fn torchrun(rank: u32, size: u32) -> Vec<(&'static str, String)> {
    vec![
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", size.to_string()),
        ("LOCAL_RANK", rank.to_string()),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", "29500".to_owned()),
    ]
}

fn slurm(rank: u32, size: u32) -> Vec<(&'static str, String)> {
    vec![
        ("SLURM_PROCID", rank.to_string()),
        ("SLURM_NTASKS", size.to_string()),
        ("SLURM_LOCALID", rank.to_string()),
        ("SLURM_JOB_NODELIST", "localhost".to_owned()),
    ]
}

fn open_mpi(rank: u32, size: u32) -> Vec<(&'static str, String)> {
    vec![
        ("OMPI_COMM_WORLD_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", size.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", size.to_string()),
    ]
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has one").port()
}

fn start(arguments: &[&str], port: u16, variables: &[(&str, String)]) -> Child {
    Process::new(env!("CARGO_BIN_EXE_warpfold"))
        .arg("reduce")
        .args(arguments)
        .args(["--device", "emulator"])
        .env("WARPFOLD_RANKS_PORT", port.to_string())
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command is there")
}

/// What all ranks write.
fn outputs(arguments: &[&str], size: u32, launcher: Variables) -> Vec<Output> {
    let port = free_port();
    let ranks: Vec<Child> = (0..size)
        .map(|rank| start(arguments, port, &launcher(rank, size)))
        .collect();
    let wait = |rank: Child| rank.wait_with_output().expect("it ends");
    ranks.into_iter().map(wait).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The JSON of rank 0; the others print nothing.
#[track_caller]
fn json_of_ranks(arguments: &[&str], size: u32, launcher: Variables) -> Value {
    let arguments = [arguments, &["--json", "-"]].concat();
    let outputs = outputs(&arguments, size, launcher);
    for (rank, output) in outputs.iter().enumerate() {
        assert!(
            output.status.success(),
            "rank {rank}: {}",
            text(&output.stderr)
        );
        assert_eq!(
            rank > 0,
            output.stdout.is_empty(),
            "{}",
            text(&output.stdout)
        );
    }
    serde_json::from_slice(&outputs[0].stdout).expect("it is JSON")
}

/// Floats in files of these lengths, and in one.
fn files(scratch: &Scratch, lengths: &[u32]) -> String {
    let floats = |from: u32, to: u32| {
        let values = (from..to).flat_map(|place| {
            let value = (place.wrapping_mul(2_654_435_761) >> 9) as f32 / 1e5 - 11.0;
            value.to_le_bytes()
        });
        let values: Vec<u8> = values.collect();
        npy("<f4", false, &format!("({},)", to - from), &values)
    };
    let mut from = 0;
    for (number, length) in lengths.iter().enumerate() {
        scratch.file(&format!("part{number}.npy"), &floats(from, from + length));
        from += length;
    }
    scratch.file("all.npy", &floats(0, from))
}

const OPERATORS: &str = "sum,mean,std,product,min,max,minmax,argmax,logsumexp,count_nonzero";

#[test]
fn any_number_of_ranks_gives_the_bits_of_one_device() {
    let scratch = Scratch::new();
    let all = files(&scratch, &[20_011]);
    let one = json_of(&["reduce", &all, "--op", OPERATORS, "--device", "emulator:1"]);
    for (size, launcher) in [(2, torchrun as Variables), (3, slurm), (4, open_mpi)] {
        let json = json_of_ranks(&[&all, "--op", OPERATORS], size, launcher);
        assert_eq!(json["results"], one["results"]);
        assert_eq!((&json["n"], &json["ranks"]), (&20_011.into(), &size.into()));
        assert_eq!(json["by"], "sockets");
    }
}

#[test]
fn files_are_one_after_another_or_each_rank_s_own() {
    let scratch = Scratch::new();
    let all = files(&scratch, &[5000, 0, 9001]);
    let one = json_of(&["reduce", &all, "--op", OPERATORS, "--device", "emulator:1"]);
    let parts = scratch.name("part*.npy");
    let json = json_of_ranks(&[&parts, "--op", OPERATORS], 2, torchrun);
    assert_eq!(json["results"], one["results"]);
    // One rank has none.
    let own = scratch.name("part{rank}.npy");
    let json = json_of_ranks(&[&own, "--op", OPERATORS], 3, torchrun);
    assert_eq!(json["n"], 14_001);
    assert_eq!(json["results"], one["results"]);
}

#[test]
fn tables_are_shared_out_too() {
    let scratch = Scratch::new();
    let lines: String = (0..9000)
        .map(|line| format!("{line},{}\n", line % 10))
        .collect();
    let file = scratch.file("table.csv", format!("place,value\n{lines}").as_bytes());
    let arguments = [&file, "--column", "value", "--op", "sum,max"];
    let json = json_of_ranks(&arguments, 2, open_mpi);
    assert_eq!(json["results"]["sum"], 40_500.0);
    assert_eq!(json["results"]["max"], 9.0);
}

#[test]
fn a_rank_that_cannot_go_on_ends_all() {
    let scratch = Scratch::new();
    files(&scratch, &[10]);
    let own = scratch.name("part{rank}.npy");
    let ends = outputs(&[&own], 3, torchrun);
    for (rank, end) in ends.iter().enumerate() {
        assert_eq!(end.status.code(), Some(2), "rank {rank}");
        assert!(end.stdout.is_empty());
    }
    let of_first = text(&ends[0].stderr);
    let is_told = of_first.contains("rank 0 waited in 'sum of f32' for rank ")
        && of_first.contains(", which has ended: see what that one has written");
    assert!(is_told, "{of_first}");
    assert!(text(&ends[1].stderr).contains("part1.npy"));
}

#[test]
fn a_rank_waits_no_longer_than_it_is_told_to() {
    let scratch = Scratch::new();
    let all = files(&scratch, &[10]);
    let port = free_port();
    let arguments = [all.as_str(), "--ranks-timeout", "3"];
    let first = start(&arguments, port, &torchrun(0, 3));
    let third = start(&arguments, port, &torchrun(2, 3));
    let ends = [first, third].map(|rank| rank.wait_with_output().expect("it ends"));
    let said = ends.each_ref().map(|end| text(&end.stderr));
    assert_eq!(ends.map(|end| end.status.code()), [Some(2); 2]);
    assert!(
        said[0].contains("rank 0 waited 3 s at 127.0.0.1:")
            && said[0].contains("for rank 1, which never came"),
        "{said:?}"
    );
    assert!(
        said[1].contains("rank 2 waited 3 s in 'the start' for rank 1"),
        "{said:?}"
    );
}

#[test]
fn ranks_are_given_without_a_launcher_and_left_out_with_one() {
    let scratch = Scratch::new();
    let all = files(&scratch, &[5000]);
    let address = format!("127.0.0.1:{}", free_port());
    let of = |which: &str| {
        let arguments = [
            &all,
            "--ranks",
            which,
            "--ranks-address",
            &address,
            "--json",
            "-",
        ];
        start(&arguments, 1, &[])
    };
    let [first, second] =
        [of("0/2"), of("1/2")].map(|rank| rank.wait_with_output().expect("it ends"));
    assert!(
        first.status.success() && second.status.success(),
        "{first:?}"
    );
    let json: Value = serde_json::from_slice(&first.stdout).expect("it is JSON");
    assert_eq!(
        (&json["ranks"], &json["launcher"]),
        (&2.into(), &"no launcher".into())
    );
    // Each by itself.
    for (size, option) in [(2, "off"), (1, "auto")] {
        let ends = outputs(&[&all, "--ranks", option, "--json", "-"], size, torchrun);
        for end in ends {
            let json: Value = serde_json::from_slice(&end.stdout).expect("it is JSON");
            assert_eq!(json["ranks"], Value::Null);
        }
    }
}

#[test]
fn what_has_no_meaning_for_ranks_is_refused() {
    let file = data("nile.npy");
    let alone = ["reduce", &file, "--ranks", "0/1"];
    for (option, culprit) in [
        (
            &["--axis", "0"][..],
            "leave --axis out, or give --ranks off",
        ),
        (&["--chunk", "8"], "leave --chunk out"),
        (&["--compare-read"], "leave --compare-read out"),
        (&["--device", "cpu"], "leave --device out"),
        (&["--device", "emulator:2"], "leave --device out"),
        (
            &["--ranks-by", "mail"],
            "'mail' is no way to exchange results",
        ),
        (&["--ranks-timeout", "0"], "0 is not in 1..=86400"),
        (
            &["--ranks-address", "host:0"],
            "'host:0' is no host with a port",
        ),
    ] {
        refuses(&[&alone, option].concat(), culprit);
    }
    for (ranks, culprit) in [
        ("both", "'both' is none of auto, off and R/N"),
        ("2/2", "there is no rank 2 of 2"),
        (
            "0/2",
            "rank 0 of 2 does not know the host of rank 0: set MASTER_ADDR",
        ),
    ] {
        refuses(
            &["reduce", &file, "--device", "emulator", "--ranks", ranks],
            culprit,
        );
    }
    warpfold(&["reduce", &file])
        .env("RANK", "one")
        .env("WORLD_SIZE", "2")
        .assert()
        .code(2)
        .stderr(contains(
            "RANK is 'one', which is no number of a rank or of ranks",
        ));
}

#[test]
fn mpirun_starts_ranks() {
    let scratch = Scratch::new();
    let all = files(&scratch, &[9000]);
    let output = Process::new("mpirun")
        .args(["-n", "2", "--allow-run-as-root", "--oversubscribe"])
        .arg(env!("CARGO_BIN_EXE_warpfold"))
        .args(["reduce", &all, "--device", "emulator", "--json", "-"])
        .env("WARPFOLD_RANKS_PORT", free_port().to_string())
        .output();
    let Ok(output) = output else {
        println!("skipped: there is no mpirun on PATH (apt-get install openmpi-bin)");
        return;
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("rank 0 alone prints");
    assert_eq!(
        (&json["ranks"], &json["launcher"]),
        (&2.into(), &"Open MPI".into())
    );
}
