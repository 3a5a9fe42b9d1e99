//! Grids launched from the device: by kernels of nvcc's (`data/nested.cu`), and, since it no longer compiles it, by hand for the wait.

mod common;

use common::{Buffer, HEADER, Machine, shape};
use warpfold_emulator::{
    Counters, Fault, Finding, Launch, LaunchError, Nesting, Nothing, Space, Tool, Trace, check,
    launch, launch_scheduled,
};

const NVCC: &str = include_str!("data/nested.nvcc.sm_90.ptx");

fn arguments(first: Buffer, rest: &[u32]) -> Vec<Vec<u8>> {
    let rest = rest.iter().map(|value| value.to_le_bytes().to_vec());
    [first.address.to_le_bytes().to_vec()]
        .into_iter()
        .chain(rest)
        .collect()
}

struct Run {
    machine: Machine,
    buffer: Buffer,
}

impl Run {
    fn new(ptx: &str, words: &[u32]) -> Self {
        let mut machine = Machine::new(ptx);
        let buffer = machine.buffer(words);
        Self { machine, buffer }
    }

    fn launch(&self, entry: &str, shape: &Launch, rest: &[u32]) -> Result<Vec<u32>, LaunchError> {
        let kernel = self.machine.program.kernel(entry)?;
        let arguments = arguments(self.buffer, rest);
        launch(
            &kernel,
            &self.machine.memory,
            shape,
            &arguments,
            &mut Nothing,
        )?;
        Ok(self.machine.read(self.buffer))
    }

    #[track_caller]
    fn trap(&self, entry: &str, shape: &Launch, rest: &[u32]) -> String {
        match self.launch(entry, shape, rest) {
            Err(LaunchError::Trap(trap)) => trap.to_string(),
            other => panic!("no trap but {other:?}"),
        }
    }
}

#[test]
fn streams_order_what_a_block_launches() {
    for threads in [1, 2, 7] {
        let run = Run::new(NVCC, &[0; 16]);
        let shape = Launch {
            threads,
            ..shape(1, 32)
        };
        let log = run.launch("_Z7streamsPj", &shape, &[]).expect("no trap");
        assert_eq!(log[0], 8);
        let position = |who| {
            log[1..9]
                .iter()
                .position(|&other| other == who)
                .expect("there")
        };
        let in_order = [1, 10, 11, 20, 21, 90].map(position);
        assert!(in_order.is_sorted(), "{log:?}");
        assert!(position(50) < position(90).min(position(91)), "{log:?}");
    }
}

#[test]
fn a_schedule_runs_children_at_any_time_that_streams_allow() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let run = Run::new(NVCC, &[0; 16]);
        let kernel = run.machine.program.kernel("_Z7streamsPj").expect("there");
        let arguments = arguments(run.buffer, &[]);
        let memory = &run.machine.memory;
        launch_scheduled(
            &kernel,
            memory,
            &shape(1, 32),
            &arguments,
            seed,
            &mut Nothing,
        )
        .expect("no trap");
        let log: Vec<u32> = run.machine.read(run.buffer);
        assert_eq!(log[0], 8);
        let position = |who| {
            log[1..9]
                .iter()
                .position(|&other| other == who)
                .expect("there")
        };
        assert!([10, 11, 20, 21].map(position).is_sorted(), "{log:?}");
        assert!(position(90).min(position(91)) >= 6, "{log:?}");
        orders.insert(log);
    }
    assert!(orders.iter().any(|log| log[1] == 10), "a child first");
    assert!(orders.iter().any(|log| log[1] == 1), "the parent first");
}

#[test]
fn a_grid_launches_the_next_half_of_its_tree() {
    let run = Run::new(NVCC, &(0..64).collect::<Vec<_>>());
    let sums = run
        .launch("_Z6add_upPjj", &shape(1, 32), &[64])
        .expect("no trap");
    assert_eq!(sums[0], 63 * 64 / 2);
}

#[test]
fn a_table_of_kernels_can_be_launched_from() {
    let run = Run::new(NVCC, &[0; 4]);
    let log = run.launch("_Z10by_pointerPjj", &shape(1, 1), &[1]);
    assert_eq!(log.expect("no trap"), [1, 75, 0, 0]);
}

#[test]
fn what_no_device_takes_leaves_an_error_with_the_thread() {
    let ptx = NVCC;
    let refused = |blocks: u32, threads: u32, shared: u32, stream: u64| {
        let run = Run::new(ptx, &[0; 8]);
        let entry = "_Z7refusedPjjjjy";
        let kernel = run.machine.program.kernel(entry).expect("there");
        let mut arguments = arguments(run.buffer, &[blocks, threads, shared]);
        arguments.push(stream.to_le_bytes().to_vec());
        let memory = &run.machine.memory;
        launch(&kernel, memory, &shape(1, 1), &arguments, &mut Nothing).expect("no trap");
        let words: Vec<u32> = run.machine.read(run.buffer);
        assert_eq!(words[0], words[1], "peeking leaves the error");
        assert_eq!(words[2], 0, "taking it does not");
        (words[0], words[4])
    };
    assert_eq!(refused(1, 32, 0, 0), (0, 1), "one child took a ticket");
    assert_eq!(refused(1, 1025, 0, 0), (9, 0));
    assert_eq!(refused(0, 32, 0, 0), (9, 0));
    assert_eq!(refused(1, 0, 0, 0), (9, 0));
    assert_eq!(refused(1, 32, 49_153, 0), (9, 0));
    assert_eq!(refused(1, 32, 49_152, 0), (0, 1));
    assert_eq!(refused(1, 32, 0, 77), (1, 0));
}

#[test]
fn limits_are_traps_that_name_them() {
    let run = Run::new(NVCC, &[0; 4]);
    let deepest = run.launch("_Z6deeperPjjj", &shape(1, 1), &[0, 24]);
    assert_eq!(deepest.expect("as deep as a GPU")[0], 24);
    let message = run.trap("_Z6deeperPjjj", &shape(1, 1), &[0, 25]);
    assert!(
        message.starts_with(
            "launch of `_Z6deeperPjjj` at depth 25, where this launch lets grids nest 24 deep: CUDA promises 24, \
             whatever a GPU lets pass, in kernel `_Z6deeperPjjj`, grid 24, block (0, 0, 0), thread (0, 0, 0), PTX line"
        ),
        "{message}"
    );
    let nesting = Nesting {
        depth: 3,
        pending: 5,
    };
    let shape = Launch {
        nesting,
        ..shape(1, 1)
    };
    assert!(
        run.trap("_Z6deeperPjjj", &shape, &[0, 4])
            .contains("nest 3 deep")
    );
    let run = Run::new(NVCC, &[0; 16]);
    let log = run
        .launch("_Z5tailsPjj", &shape, &[5])
        .expect("at the limit");
    assert_eq!(log[..6], [5, 0, 1, 2, 3, 4], "one after another");
    let message = run.trap("_Z5tailsPjj", &shape, &[6]);
    assert!(
        message.starts_with("launch of `_Z4leafPjjd` while 5 grids launched from the device wait or run, which is the limit"),
        "{message}"
    );
}

#[test]
fn the_limit_of_steps_is_that_of_all_grids() {
    let run = Run::new(NVCC, &[0; 64]);
    let limit = |max_steps| Launch {
        max_steps,
        ..shape(1, 1)
    };
    let mut counters = Counters::default();
    let kernel = run.machine.program.kernel("_Z6deeperPjjj").expect("there");
    let arguments = arguments(run.buffer, &[0, 20]);
    let memory = &run.machine.memory;
    launch(&kernel, memory, &shape(1, 1), &arguments, &mut counters).expect("no trap");
    let steps = counters.inst_executed;
    run.launch("_Z6deeperPjjj", &limit(steps), &[0, 20])
        .expect("just enough");
    let message = run.trap("_Z6deeperPjjj", &limit(steps / 2), &[0, 20]);
    assert!(message.contains("the limit of this launch"), "{message}");
}

#[test]
fn a_pointer_to_memory_of_ones_own_is_refused_at_the_launch() {
    let run = Run::new(NVCC, &[0; 32]);
    let kernel = run
        .machine
        .program
        .kernel("_Z10own_memoryPj")
        .expect("there");
    let arguments = arguments(run.buffer, &[]);
    let memory = &run.machine.memory;
    let error = launch(&kernel, memory, &shape(1, 32), &arguments, &mut Nothing);
    let Err(LaunchError::Trap(trap)) = error else {
        panic!("{error:?}");
    };
    assert!(
        matches!(&trap.fault, Fault::PointerToOwnMemory { child, parameter: 0, space: Space::Shared, .. } if child == "_Z3setPjj"),
        "{trap}"
    );
}

#[test]
fn a_child_s_trap_has_its_own_kernel_grid_and_line() {
    let run = Run::new(NVCC, &[0; 8]);
    let message = run.trap("_Z7overrunPjj", &shape(1, 32), &[9]);
    assert!(
        message.contains("in kernel `_Z3setPjj`, grid 1, block (0, 0, 0), thread (8, 0, 0)"),
        "{message}"
    );
    assert!(
        message.ends_with("`st.global.u32 \t[%rd4], %r1;`"),
        "{message}"
    );
}

fn races(which: u32) -> Vec<Finding> {
    let mut run = Run::new(NVCC, &[0; 8]);
    let kernel = run
        .machine
        .program
        .kernel("_Z12shared_wordsPjj")
        .expect("there");
    let arguments = arguments(run.buffer, &[which]);
    check(
        &kernel,
        &mut run.machine.memory,
        &shape(2, 1),
        &arguments,
        &Tool::WATCHING,
    )
    .expect("a launch")
}

#[test]
fn racecheck_knows_what_launches_streams_and_tails_order() {
    for which in [0, 1, 2] {
        assert_eq!(races(which), [], "case {which}");
    }
    for (which, grids) in [(3, [1, 0]), (4, [2, 1]), (5, [1, 0])] {
        let found = races(which);
        assert_eq!(found.len(), 1, "case {which}: {found:?}");
        assert_eq!(found[0].kind, "write after write");
        assert_eq!([0, 1].map(|place| found[0].places[place].grid), grids);
        assert!(found[0].places.iter().all(|place| !place.text.is_empty()));
    }
    let text = races(5)[0].to_string();
    assert!(
        text.contains("grid 1 block (0) thread (1) writes"),
        "{text}"
    );
    assert!(
        text.contains("grid 0 block (1) thread (0) writes"),
        "{text}"
    );
}

/// `parent(out)`: 3 blocks of 32 threads; thread 0 of each launches a child of 32 threads that doubles the block's words, waits for it, and
/// then each thread adds 1 to its own word. Without the wait there is nothing to order the two.
fn waiting(wait: bool) -> String {
    let wait = if wait {
        "{ .param .b32 e; call (e), cudaDeviceSynchronize, (); ld.param.b32 %r5, [e]; }"
    } else {
        ""
    };
    format!(
        "{HEADER}
.extern .func (.param .b64 b) cudaGetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 t[12], .param .b32 s);
.extern .func (.param .b32 e) cudaLaunchDeviceV2(.param .b64 b, .param .b64 s);
.extern .func (.param .b32 e) cudaDeviceSynchronize();
.visible .entry child(.param .u64 words) {{
    .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [words]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
    ld.global.u32 %r1, [%d0]; shl.b32 %r1, %r1, 1; st.global.u32 [%d0], %r1; ret; }}
.visible .entry parent(.param .u64 out) {{
    .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<2>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d1, %r1, 128; add.u64 %d0, %d0, %d1;
    mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d0, %d2; st.global.u32 [%d2], %r0; bar.sync 0;
    setp.ne.u32 %p0, %r0, 0; @%p0 bra after;
    {{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 t[12]; .param .b32 s; .param .b64 b;
      mov.u64 %d3, child; st.param.b64 [f], %d3; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
      st.param.b32 [t], 32; st.param.b32 [t+4], 1; st.param.b32 [t+8], 1; st.param.b32 [s], 0;
      call (b), cudaGetParameterBufferV2, (f, g, t, s); ld.param.b64 %d4, [b]; }}
    st.u64 [%d4], %d0;
    {{ .param .b64 b; .param .b64 s; .param .b32 e; st.param.b64 [b], %d4; st.param.b64 [s], 0;
      call (e), cudaLaunchDeviceV2, (b, s); ld.param.b32 %r4, [e]; }}
    {wait}
    after: bar.sync 0; ld.global.u32 %r2, [%d2]; add.u32 %r2, %r2, 1; st.global.u32 [%d2], %r2; ret; }}"
    )
}

#[test]
fn a_thread_waits_for_its_block_s_grids() {
    let expected: Vec<u32> = (0..96).map(|i| 2 * (i % 32) + 1).collect();
    for threads in [1, 3] {
        let run = Run::new(&waiting(true), &[0; 96]);
        let shape = Launch {
            threads,
            ..shape(3, 32)
        };
        assert_eq!(
            run.launch("parent", &shape, &[]).expect("no trap"),
            expected
        );
    }
    for seed in 0..20 {
        let run = Run::new(&waiting(true), &[0; 96]);
        let kernel = run.machine.program.kernel("parent").expect("there");
        let arguments = arguments(run.buffer, &[]);
        let memory = &run.machine.memory;
        launch_scheduled(
            &kernel,
            memory,
            &shape(3, 32),
            &arguments,
            seed,
            &mut Nothing,
        )
        .expect("no trap");
        assert_eq!(run.machine.read::<u32>(run.buffer), expected, "seed {seed}");
    }
}

#[test]
fn racecheck_knows_the_wait() {
    for (wait, races) in [(true, 0), (false, 2)] {
        let mut run = Run::new(&waiting(wait), &[0; 96]);
        let kernel = run.machine.program.kernel("parent").expect("there");
        let arguments = arguments(run.buffer, &[]);
        let found = check(
            &kernel,
            &mut run.machine.memory,
            &shape(3, 32),
            &arguments,
            &Tool::WATCHING,
        )
        .expect("a launch");
        assert_eq!(found.len(), races, "wait: {wait}: {found:?}");
    }
}

#[test]
fn observers_see_every_grid() {
    let run = Run::new(&waiting(true), &[0; 96]);
    let count = |threads| {
        let mut observer = (Counters::default(), Trace::default());
        let kernel = run.machine.program.kernel("parent").expect("there");
        let arguments = arguments(run.buffer, &[]);
        let shape = Launch {
            threads,
            ..shape(3, 32)
        };
        launch(
            &kernel,
            &run.machine.memory,
            &shape,
            &arguments,
            &mut observer,
        )
        .expect("no trap");
        observer
    };
    let (counters, trace) = count(1);
    // A load each by parents and children; two stores by each parent, one of the parameter, one by each child.
    assert_eq!(counters.global_loads.requests, 3 + 3);
    assert_eq!(counters.global_stores.requests, 3 * 2 + 3 + 3);
    assert_eq!(counters.barriers, 6);
    let blocks: Vec<(u64, u32)> = trace
        .blocks
        .iter()
        .map(|block| (block.grid, block.index[0]))
        .collect();
    assert_eq!(blocks, [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (3, 0)]);
    assert!(trace.blocks.iter().all(|block| !block.events.is_empty()));
    assert_eq!(count(2).0, counters);
}
