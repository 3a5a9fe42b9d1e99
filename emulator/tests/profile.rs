//! What a profile counts where, on kernels written for it.

use warpfold_emulator::{Compiled, Launch, Measurements, Memory, Module, Profile, Program};

/// Runs a kernel over blocks of 64 threads; its one parameter is a buffer of 4 KiB.
fn profile(blocks: u32, declarations: &str, body: &str) -> Measurements {
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
    let mut profile = Profile::default();
    let arguments = [data.to_le_bytes().to_vec()];
    let kernel = program.kernel("kernel").unwrap();
    profile
        .compiled()
        .launch(&kernel, &memory, &shape, &arguments)
        .unwrap();
    profile.total()
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
