//! What a profile counts where, on kernels written for it.

use warpfold_emulator::{
    Launch, Measurements, Memory, Metric, Module, Profile, Program, Step, launch,
};

/// Runs a kernel over blocks of 64 threads; its one parameter is a buffer of 4 KiB.
fn profile(blocks: u32, declarations: &str, body: &str) -> Measurements {
    observed(blocks, declarations, body, Profile::default()).total()
}

/// The same by step.
fn with_steps(blocks: u32, body: &str) -> Vec<Step> {
    let profile = observed(blocks, "", body, Profile::with_steps());
    profile.steps().unwrap()
}

fn observed(blocks: u32, declarations: &str, body: &str, mut profile: Profile) -> Profile {
    let source = format!(
        ".version 8.0
        .target sm_80
        .address_size 64
        {declarations}
        .visible .entry kernel(.param .u64 data) {{
            .reg .pred %p<4>;
            .reg .b32 %r<8>;
            .reg .b64 %rd<8>;
            ld.param.u64 %rd1, [data];
            mov.u32 %r1, %tid.x;
            mul.wide.u32 %rd2, %r1, 4;
            add.s64 %rd3, %rd1, %rd2;
            {body}
            ret;
        }}"
    );
    let mut memory = Memory::new();
    let data = memory.allocate(4096).unwrap();
    let program = Program::load(Module::parse(&source).unwrap(), &mut memory).unwrap();
    let shape = Launch {
        grid: [blocks, 1, 1],
        block: [64, 1, 1],
        ..Launch::default()
    };
    let arguments = [data.to_le_bytes().to_vec()];
    let kernel = program.kernel("kernel").unwrap();
    launch(&kernel, &memory, &shape, &arguments, &mut profile).unwrap();
    profile
}

#[test]
fn constant_memory_is_no_global_traffic() {
    let table = ".const .align 4 .b32 table[64] = {1, 2, 3};";
    let both = profile(
        3,
        table,
        "mov.u64 %rd4, table;
         add.s64 %rd5, %rd4, %rd2;
         ld.const.u32 %r2, [%rd5];
         st.global.u32 [%rd3], %r2;",
    );
    assert_eq!(both.counters.global_loads.requests, 0);
    assert_eq!(both.counters.global_stores.requests, 3 * 2);
    assert_eq!(both.counters.global_stores.sectors, 3 * 2 * 4);
    assert_eq!(both.counters.constant_loads.requests, 3 * 2);
    assert_eq!(both.counters.constant_loads.words, 3 * 64);
}

#[test]
fn a_word_of_constant_memory_is_served_to_a_whole_warp() {
    let words = |body: &str| {
        let table = ".const .align 8 .b32 table[64] = {1, 2, 3};";
        let loads = profile(1, table, body).counters.constant_loads;
        (loads.requests, loads.words)
    };
    assert_eq!(words("ld.const.u32 %r2, [table+8];"), (2, 2));
    assert_eq!(words("ld.const.u64 %rd4, [table+8];"), (2, 4));
    let sixteen = "and.b32 %r2, %r1, 15; mul.wide.u32 %rd4, %r2, 4; mov.u64 %rd5, table; add.u64 %rd4, %rd4, %rd5; ld.const.u32 %r3, [%rd4];";
    assert_eq!(words(sixteen), (2, 32));
}

#[test]
fn generic_accesses_count_where_they_lead() {
    let counters = profile(
        1,
        "",
        ".shared .align 4 .b32 tile[64];
         mov.u64 %rd4, tile;
         cvta.shared.u64 %rd4, %rd4;
         add.s64 %rd4, %rd4, %rd2;
         st.u32 [%rd4], %r1;
         ld.u32 %r2, [%rd4];
         st.u32 [%rd3], %r2;",
    )
    .counters;
    assert_eq!(counters.shared_stores.wavefronts, 2);
    assert_eq!(counters.shared_loads.wavefronts, 2);
    assert_eq!(counters.global_stores.sectors, 8);
    assert_eq!(counters.global_loads.requests, 0);
}

#[test]
fn a_guard_keeps_lanes_active() {
    let guarded = profile(
        1,
        "",
        "setp.lt.u32 %p1, %r1, 8;
         @%p1 st.global.u32 [%rd3], %r1;
         setp.gt.u32 %p2, %r1, 99;
         @%p2 st.global.u32 [%rd3], %r1;",
    )
    .counters;
    // Nine instructions with the four before them and `ret`, in two warps; no branch among them.
    assert_eq!(guarded.inst_executed, 2 * 9);
    assert_eq!(guarded.thread_inst_executed, 9 * 64);
    assert_eq!(guarded.thread_inst_executed_pred_on, 7 * 64 + 8);
    assert_eq!(guarded.branches, 0);
    // A request needs a lane: the first store has some in warp 0 alone, the second nowhere.
    assert_eq!(guarded.global_stores.requests, 1);
    assert_eq!(guarded.global_stores.sectors, 1);
}

#[test]
fn uneven_work_waits_at_the_barrier() {
    // Of two warps the second executes ten instructions more, and both the branch: 6 + 1 against 6 + 1 + 10, and the barrier.
    let spin = "add.u32 %r2, %r2, 1;\n".repeat(10);
    let body = format!("setp.lt.u32 %p1, %r1, 32;\n @%p1 bra meet;\n {spin} meet: bar.sync 0;");
    let wait = profile(4, "", &body).barrier_wait;
    assert_eq!(wait.releases, 4);
    assert_eq!(wait.slots, 4 * 2 * 17);
    assert_eq!(wait.waiting, 4 * 10);
}

#[test]
fn atomics_add_up_over_the_launch() {
    let measured = profile(
        5,
        "",
        "red.global.add.u32 [%rd1], 1;
         atom.global.add.u32 %r2, [%rd3], 1;",
    );
    assert_eq!(measured.counters.atomics, 5 * 128);
    assert_eq!(measured.counters.global_atomics.requests, 5 * 4);
    assert_eq!(measured.counters.global_atomic_passes, 5 * 2 * (32 + 4));
    // Word 0 gets all the reductions, and the atomics of thread 0 of each block.
    assert_eq!(measured.atomics_on_one_address, 5 * 65);
}

/// Published of an unoptimised build of such a kernel, for 10^6 elements in blocks of 256: 250,042 branches, of which 31,256 diverge.
/// Of the 31,256 warps 31,250 have elements and execute eight branches, six are past the end and execute seven; in each the parity of
/// the thread decides one.
#[test]
fn an_unoptimised_build_has_eight_branches_a_warp() {
    const UNOPTIMISED: &str = include_str!("data/even_odd.rustc_O0.sm_80.ptx");
    let elements = 1_000_000_u64;
    let profile = |kernel: &str| {
        let mut memory = Memory::new();
        let out = memory.allocate(4 * elements as usize).unwrap();
        let program = Program::load(Module::parse(UNOPTIMISED).unwrap(), &mut memory).unwrap();
        let shape = Launch {
            grid: [3907, 1, 1],
            block: [256, 1, 1],
            ..Launch::default()
        };
        let mut profile = Profile::default();
        let arguments = [out, elements].map(|argument| argument.to_le_bytes().to_vec());
        let kernel = program.kernel(kernel).unwrap();
        launch(&kernel, &memory, &shape, &arguments, &mut profile).unwrap();
        let mut bytes = vec![0; 4 * elements as usize];
        memory.read(out, &mut bytes).unwrap();
        for (index, word) in bytes.chunks_exact(4).enumerate() {
            assert_eq!(
                word,
                if index % 2 == 0 {
                    [2, 0, 0, 0]
                } else {
                    [1, 0, 0, 0]
                }
            );
        }
        profile.total()
    };
    let of = |measured: &Measurements| {
        [
            "warps_launched",
            "branch_instructions",
            "divergent_branches",
            "branch_instruction_efficiency",
        ]
        .map(|name| Metric::find(name).unwrap().value(measured).unwrap())
    };
    let [warps, branches, divergent, efficiency] = of(&profile("even_odd_divergent"));
    assert_eq!(warps, 31_256.0);
    assert_eq!(branches, 8.0 * 31_250.0 + 7.0 * 6.0);
    assert_eq!((branches, divergent), (250_042.0, 31_256.0));
    assert_eq!(format!("{efficiency:.2}"), "87.50");
    let [_, _, divergent, efficiency] = of(&profile("even_odd_warp"));
    assert_eq!((divergent, efficiency), (0.0, 100.0));
}

/// A tree over 64 elements in global memory: of two warps both work in the first step, then one, and a barrier ends each step.
#[test]
fn steps_end_at_barriers_and_count_those_at_work() {
    let step = |stride: u32| {
        format!(
            "setp.ge.u32 %p1, %r1, {stride};
             @%p1 bra meet{stride};
             ld.global.u32 %r2, [%rd3 + {bytes}];
             ld.global.u32 %r3, [%rd3];
             add.u32 %r3, %r3, %r2;
             st.global.u32 [%rd3], %r3;
             meet{stride}: bar.sync 0;",
            bytes = 4 * stride
        )
    };
    let body = [64, 32, 16].map(step).concat();
    let steps = with_steps(3, &body);
    let counted = |active_warps: u64, active_threads: u64| Step {
        blocks: 3,
        warps: 3 * 2,
        active_warps: 3 * active_warps,
        threads: 3 * 64,
        active_threads: 3 * active_threads,
    };
    // Nothing is active after the last barrier.
    assert_eq!(steps, [counted(2, 64), counted(1, 32), counted(1, 16)]);
}
