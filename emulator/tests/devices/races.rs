//! racecheck between devices: what is of `.gpu` scope orders nothing there, what is of `.sys` scope does.

use crate::Group;
use warpfold_emulator::{Finding, Tool, check_together};

fn check(bodies: [&str; 2]) -> Vec<Finding> {
    Group::of(bodies)
        .with(|launches, memories| check_together(launches, memories, &Tool::WATCHING))
        .expect("it runs")
}

fn kinds(bodies: [&str; 2]) -> Vec<&'static str> {
    let findings = check(bodies);
    findings.iter().map(|finding| finding.kind).collect()
}

/// Message passing: device 0 writes a word of its own memory and raises a flag on device 1, which waits for it and reads the word.
fn message(fence: &str, store: &str, load: &str) -> [String; 2] {
    [
        format!("st.global.u32 [%rd1], 42; {fence} {store}.global.u32 [%rd2], 1;"),
        format!(
            "again: {load}.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r3, 0; @%p1 bra again;
            {fence} ld.global.u32 %r4, [%rd1]; st.global.u32 [%rd2+4], %r4;"
        ),
    ]
}

fn kinds_of_message(fence: &str, store: &str, load: &str) -> Vec<&'static str> {
    let [one, other] = message(fence, store, load);
    kinds([&one, &other])
}

#[test]
fn a_message_needs_fences_and_a_flag_of_system_scope() {
    let race = ["read after write"];
    for fence in ["fence.acq_rel", "fence.sc"] {
        let of = |scope: &str| format!("{fence}.{scope};");
        let (store, load) = ("st.relaxed.sys", "ld.relaxed.sys");
        assert_eq!(kinds_of_message(&of("sys"), store, load), [""; 0]);
        assert_eq!(kinds_of_message(&of("gpu"), store, load), race);
        // A flag of .gpu scope is a race itself, beside the word that it should hand over.
        let narrow = kinds_of_message(&of("sys"), "st.relaxed.gpu", "ld.relaxed.gpu");
        assert_eq!(narrow, ["read after write"; 2]);
    }
    assert_eq!(
        kinds_of_message("", "st.release.sys", "ld.acquire.sys"),
        [""; 0]
    );
    assert_eq!(
        kinds_of_message("", "st.relaxed.sys", "ld.relaxed.sys"),
        race
    );
    let mixed = kinds_of_message("", "st.release.sys", "ld.acquire.gpu");
    assert_eq!(mixed, ["read after write"; 2]);
    // A membar without a scope of its own in the name is for the device; .sys is for all.
    assert_eq!(
        kinds_of_message("membar.sys;", "st.relaxed.sys", "ld.relaxed.sys"),
        [""; 0]
    );
    assert_eq!(
        kinds_of_message("membar.gl;", "st.relaxed.sys", "ld.relaxed.sys"),
        race
    );
}

#[test]
fn within_a_device_gpu_scope_is_enough_though_others_run() {
    // Two blocks of device 1 pass a message, with a flag of either scope; device 0 does something else.
    for scope in ["gpu", "sys"] {
        let body = format!(
            "setp.eq.u32 %p1, %r2, 0; @!%p1 bra wait;
            st.global.u32 [%rd2], 42; fence.acq_rel.gpu; st.relaxed.{scope}.global.u32 [%rd2+4], 1; ret;
            wait: ld.relaxed.{scope}.global.u32 %r3, [%rd2+4]; setp.eq.u32 %p2, %r3, 0; @%p2 bra wait;
            fence.acq_rel.gpu; ld.global.u32 %r4, [%rd2]; st.global.u32 [%rd2+8], %r4;"
        );
        let mut group = Group::of(["st.global.u32 [%rd1], 1;", &body]);
        group.shapes[1].grid = [2, 1, 1];
        let findings =
            group.with(|launches, memories| check_together(launches, memories, &Tool::WATCHING));
        assert_eq!(findings, Ok(Vec::new()), "{scope}");
    }
}

#[test]
fn atomics_of_gpu_scope_are_no_atomics_for_another_device() {
    let add = |scope: &str| format!("red.relaxed{scope}.global.add.u32 [%rd1], 1;");
    let both = |one: &str, other: &str| kinds([&add(one), &add(other)]);
    assert_eq!(both(".sys", ".sys"), [""; 0]);
    assert_eq!(both(".gpu", ".gpu"), ["write after write"]);
    assert_eq!(both(".gpu", ".sys"), ["write after write"]);
    assert_eq!(both(".sys", ".gpu"), ["write after write"]);
    assert_eq!(both("", ""), ["write after write"], ".gpu is the default");
    let [one, other] = [add(".gpu"), add(".gpu")];
    let finding = &check([&one, &other])[0];
    assert_eq!(
        finding.message,
        "an operation of .gpu scope, such as atomicAdd, is atomic for the threads of its own device only: one of .sys scope, such as atomicAdd_system, would be for all devices"
    );
    let devices: Vec<u8> = finding.places.iter().map(|place| place.device).collect();
    assert_eq!(devices, [1, 0]);
    let text = finding.to_string();
    assert!(
        text.contains("device 1 block (0) thread (0) updates"),
        "{text}"
    );
}

#[test]
fn plain_accesses_of_two_devices_race() {
    let store = "st.global.u32 [%rd1], 1;";
    let findings = check([store, store]);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].kind, "write after write");
    assert!(
        findings[0]
            .message
            .starts_with("nothing orders the devices:")
    );
    // Reads alone do not.
    let load = "ld.global.u32 %r3, [%rd1];";
    assert_eq!(kinds([load, load]), [""; 0]);
}

#[test]
fn the_advice_names_the_scope_that_would_do() {
    let [one, other] = message("fence.acq_rel.gpu;", "st.relaxed.sys", "ld.relaxed.sys");
    let findings = check([&one, &other]);
    assert!(
        findings[0].message.starts_with(
            "a fence or a flag of .gpu scope (membar.gl, __threadfence) counts for its own device only"
        ),
        "{}",
        findings[0].message
    );
}

#[test]
fn a_slot_for_each_device_and_one_counter_is_no_race() {
    // Each device stores to a slot of its own on device 0, then counts; who counts last reads all slots.
    let hand_in = |device: u32| {
        format!(
            "st.global.u32 [%rd1+{}], {};
            fence.acq_rel.sys;
            atom.relaxed.sys.global.add.u32 %r3, [%rd1+16], 1;
            setp.ne.u32 %p1, %r3, 1; @%p1 ret;
            fence.acq_rel.sys;
            ld.global.u32 %r4, [%rd1]; ld.global.u32 %r5, [%rd1+4]; add.u32 %r4, %r4, %r5;
            st.global.u32 [%rd1+20], %r4;",
            4 * device,
            device + 7
        )
    };
    let [one, other] = [hand_in(0), hand_in(1)];
    assert_eq!(kinds([&one, &other]), [""; 0]);
    let narrow = [&one, &other].map(|body| body.replace(".sys", ".gpu"));
    assert!(!kinds([&narrow[0], &narrow[1]]).is_empty());
}

#[test]
fn launches_on_one_device_at_the_same_time_race() {
    let store = "st.global.u32 [%rd1], 1;";
    let mut group = Group::of([store, ""]);
    let findings = group.with(|launches, memories| {
        let twice = [launches[0], launches[0]];
        check_together(&twice, memories, &Tool::WATCHING).expect("it runs")
    });
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0]
            .message
            .starts_with("nothing orders the two launches"),
        "{}",
        findings[0].message
    );
}

#[test]
fn reads_of_what_nobody_has_written_are_found_on_a_peer_too() {
    let mut group = Group::of(["ld.global.u32 %r3, [%rd2];", ""]);
    let unwritten = group.memories[1].allocate(16).unwrap();
    group.arguments[0][1] = unwritten.to_le_bytes().to_vec();
    let findings = group
        .with(|launches, memories| check_together(launches, memories, &Tool::WATCHING))
        .expect("it runs");
    assert_eq!(findings[0].kind, "read of uninitialised memory");
}

#[test]
fn a_missing_peer_access_is_a_finding_of_memcheck() {
    let mut group = Group::of(["ld.global.u32 %r3, [%rd2];", ""]);
    group.memories[0].disable_peer_access(1);
    let findings = group
        .with(|launches, memories| check_together(launches, memories, &Tool::WATCHING))
        .expect("it runs");
    let found = (findings[0].tool, findings[0].kind, findings[0].ends_launch);
    assert_eq!(
        found,
        (Tool::Memcheck, "no access to a peer's memory", true)
    );
}
