//! The kernels keep to what both compilers, rustc's own backend and rust-cuda, make the same of. rust-cuda isn't needed to
//! see that they do: what is known not to survive it can be told from the source.

#[path = "dialect/check.rs"]
mod check;
#[path = "api/list.rs"]
mod list;
#[path = "dialect/names.rs"]
mod names;
#[path = "dialect/rule.rs"]
mod rule;
#[path = "dialect/shared_atomics.rs"]
mod shared_atomics;
#[path = "dialect/sources.rs"]
mod sources;
#[path = "dialect/tokens.rs"]
mod tokens;

use std::path::{Path, PathBuf};

use check::check;
use rule::{Finding, Rule};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn device_files() -> Vec<PathBuf> {
    let roots = [
        "device/src/lib.rs",
        "device/example-kernels/src/lib.rs",
        "kernels/src/lib.rs",
    ];
    let files = roots.map(|root| sources::device_files(&repository().join(root)));
    files.concat()
}

#[test]
fn the_kernels_survive_rust_cuda() {
    let mut complaints = Vec::new();
    let files = device_files();
    let texts: Vec<String> = files.iter().map(|file| sources::read(file)).collect();
    let findings = check(&texts).expect("the kernels compile");
    for (file, findings) in files.iter().zip(findings) {
        let name = file.strip_prefix(repository()).unwrap_or(file).display();
        complaints.extend(
            findings
                .iter()
                .map(|finding| format!("\n{name}, {finding}")),
        );
    }
    assert!(complaints.is_empty(), "{}", complaints.concat());
}

#[test]
fn every_file_of_device_code_is_read_and_no_other() {
    let files = device_files();
    let has = |name: &str| files.iter().any(|file| file.ends_with(name));
    for name in [
        "lib.rs",
        "device/src/shuffle.rs",
        "prelude.rs",
        "ladder/l01_neighbored.rs",
        "operators/o06_single_pass.rs",
    ] {
        assert!(has(name), "{name}");
    }
    for name in ["catalogue/mod.rs", "ladder/catalogue.rs"] {
        assert!(!has(name), "{name} is for hosts");
    }
}

fn findings(source: &str) -> Vec<Finding> {
    check(&[source.to_owned()])
        .expect("the snippet is Rust")
        .remove(0)
}

/// The snippet breaks this rule, once, on this line, and the sentence has these words.
#[track_caller]
fn breaks(rule: Rule, line: usize, words: &str, source: &str) {
    let found = findings(source);
    let [finding] = &found[..] else {
        panic!("not one finding but {found:?}");
    };
    assert_eq!((finding.rule, finding.line), (rule, line), "{finding}");
    let sentence = finding.to_string();
    assert!(sentence.contains(words), "{sentence}");
    assert!(
        sentence.starts_with(&format!("line {line}: `")),
        "{sentence}"
    );
}

/// The snippet breaks a rule on `cuda_std`'s names, once, on this line, and the sentence has these words.
#[track_caller]
fn misuses_cuda_std(line: usize, words: &str, source: &str) {
    let found = findings(source);
    assert!(
        matches!(&found[..], [Finding { rule: Rule::CudaStd(_), line: at, .. }] if *at == line),
        "{found:?}"
    );
    let sentence = found[0].to_string();
    assert!(sentence.contains(words), "{sentence}");
}

#[track_caller]
fn is_fine(source: &str) {
    assert_eq!(findings(source), []);
}

#[test]
fn the_barrier_of_cuda_std() {
    let words = "not marked convergent";
    breaks(
        Rule::SyncThreads,
        2,
        words,
        "\nuse cuda_std::thread::sync_threads;",
    );
    breaks(
        Rule::SyncThreads,
        3,
        words,
        "use cuda_std::{gpu_only, thread};\nfn f() {\n    thread::sync_threads();\n}",
    );
    breaks(
        Rule::SyncThreads,
        2,
        words,
        "macro_rules! step { () => {\n    cuda_std::thread::sync_threads() }; }",
    );
    is_fine("use crate::prelude::*;\nfn f() { sync_threads(); crate::prelude::sync_threads(); }");
}

#[test]
fn collectives_in_inline_assembly() {
    let words = "inline assembly is not convergent";
    for instruction in [
        "bar.sync 0;",
        "barrier.sync.aligned 0;",
        "@p bar.red.popc.u32 {n}, 0, p;",
        "bar.warp.sync {mask};",
        "shfl.sync.down.b32 {a}, {b}, 1, 31, -1;",
        "activemask.b32 {m};",
    ] {
        breaks(
            Rule::CollectiveInAssembly,
            4,
            words,
            &format!(
                "fn f() {{\n    unsafe {{\n        asm!(\n            \"add.u32 {{a}}, {{b}}, 1;\\n{instruction}\",\n        )\n    }}\n}}"
            ),
        );
    }
    breaks(
        Rule::CollectiveInAssembly,
        1,
        words,
        r#"macro_rules! b { ($n:literal) => { core::arch::asm!(concat!("bar.sync ", $n, ";")) }; }"#,
    );
    breaks(
        Rule::CollectiveInAssembly,
        3,
        words,
        "#[cfg(target_feature = \"sm_70\")]\nfn f() { asm!(\"add.u32 {a}, {b}, 1;\"); }\nfn g() { asm!(\"shfl.sync.idx.b32 {a}, {b}, 0, 31, -1;\"); }",
    );
    is_fine(
        "#[cfg(target_feature = \"sm_70\")]\n#[inline]\nfn f() { asm!(\"shfl.sync.idx.b32 {a}, {b}, 0, 31, -1;\"); }",
    );
    is_fine(r#"fn f() { asm!("match.all.sync.b32 {all}, {value}, {mask};"); }"#);
    is_fine(
        r#"fn f() { println!("bar.sync 0;"); asm!("rem.u32 {r}, {a}, {b};", "cvta.shared.u64 {p}, {o};"); }"#,
    );
}

#[test]
fn shared_memory_in_inline_assembly() {
    for instruction in [
        "ld.shared.u32 {v}, [{a}];",
        "st.volatile.shared.u32 [{a}], {v};",
    ] {
        breaks(
            Rule::SharedAccessInAssembly,
            1,
            "gives wrong sums",
            &format!("fn f() {{ unsafe {{ asm!({instruction:?}) }} }}"),
        );
    }
    is_fine(r#"fn f() { asm!(".shared .align 16 .b8 tile[{bytes}];", "mov.u64 {o}, tile;") }"#);
    is_fine(
        r#"fn f() { asm!("red.relaxed.cta.shared.add.u32 [{a}], {v};", "atom.shared.add.u32 {o}, [{a}], 1;") }"#,
    );
}

#[test]
fn atomics_of_core_on_shared_memory() {
    let words = "so that a `trap` is left";
    let array = "let counts = shared_array!(counts: [u32; 32]);";
    for used in [
        "AtomicU32::from_ptr(counts).fetch_add(1, Relaxed)",
        "core::sync::atomic::AtomicI32::from_ptr(counts.add(lane as usize).cast()).swap(0, order)",
        "AtomicU32::from_ptr(unsafe { &raw mut *counts.add(1) }).fetch_max(value, Relaxed)",
        "(*counts.cast::<AtomicU32>()).fetch_add(1, Relaxed)",
        "(*(counts.add(2) as *const AtomicU32)).fetch_add(1, Relaxed)",
    ] {
        breaks(
            Rule::SharedAtomic,
            3,
            words,
            &format!("unsafe fn f() {{\n    {array}\n    {used};\n}}"),
        );
    }
    for given in [
        "let mine: *mut u32 = counts.add(1);",
        "let mine = unsafe { counts.cast::<u32>().add(1) };",
        "let mine = g(); assume_shared(mine.cast::<u8>());",
        "let mine = shared_array!(other: [u32; 1]);",
    ] {
        breaks(
            Rule::SharedAtomic,
            4,
            words,
            &format!(
                "fn f() {{\n    {array}\n    {given}\n    AtomicU32::from_ptr(mine).fetch_add(1, Relaxed);\n}}"
            ),
        );
    }
    breaks(
        Rule::SharedAtomic,
        1,
        words,
        "fn f() { let counts = shared_array!(counts: [AtomicU32; 32]); }",
    );
    is_fine(&format!(
        "fn f(total: *mut i32) {{ {array} let share = *counts; AtomicI32::from_ptr(total.add(share)).fetch_add(*counts, Relaxed); }}"
    ));
}

#[test]
fn shared_memory_handed_to_a_function_with_an_atomic_of_core() {
    let functions = "unsafe fn count(pixel: *const u8, bins: *mut u32) { add(bins.add(*pixel as usize), 1); }\n\
                     unsafe fn add(mut bin: *mut u32, number: u32) { AtomicU32::from_ptr(bin).fetch_add(number, Relaxed); }\n\
                     impl Bins { unsafe fn put(&self, bin: *mut u32) { self::add(bin, 1) } }\n";
    for call in [
        "count(pixel, own);",
        "crate::h01::add(own.add(1), 1);",
        "bins.put(own);",
        "Bins::put(&bins, own);",
    ] {
        breaks(
            Rule::SharedAtomic,
            6,
            "so that a `trap` is left",
            &format!(
                "{functions}macro_rules! entry {{ ($name:ident) => {{ unsafe fn $name() {{\nlet own = shared_array!(own: [u32; 8]);\n{call}\n}} }} }}"
            ),
        );
    }
    let call = "fn f() { let own = shared_array!(own: [u32; 8]); count(own.cast(), bins); bins.add(*own); }";
    is_fine(&format!("{functions}{call}"));
    // The function may be in another file.
    let call = "fn f() { add(shared_array!(own: [u32; 8]), 1); }";
    let files = [functions.to_owned(), call.to_owned()];
    let found = check(&files).expect("the snippets are Rust");
    assert_eq!((found[0].len(), found[1].len()), (0, 1), "{found:?}");
}

#[test]
fn intrinsics_that_libnvvm_does_not_know() {
    let declared = |name: &str, function: &str| {
        format!(
            "unsafe extern \"C\" {{\n#[link_name = \"{name}\"]\nfn {function}(value: i32) -> i32; }}"
        )
    };
    let (unknown, known) = (
        declared("llvm.nvvm.redux.sync.add", "redux"),
        declared("llvm.nvvm.redux.sync", "nvvm_redux"),
    );
    let only = |architecture: &str, item: &str| {
        format!("#[cfg(target_feature = \"{architecture}\")] {item} ")
    };
    let twin = format!("fn redux(value: i32) {{ {known} nvvm_redux(0) }}");
    let words = "does not list it as one that libNVVM knows";
    for source in [
        unknown.clone(),
        format!("macro_rules! m {{ () => {{ fn f() {{ {unknown} }} }} }}"),
        // rust-cuda takes all but the last three, which have no twin for the same architecture by their name.
        only("compute_80", &unknown),
        format!("#[cfg(not(target_feature = \"compute_80\"))] {unknown}"),
        only("compute_80", &unknown) + &only("sm_80", &twin),
        only("sm_80", &unknown),
        only("sm_80", &unknown) + &only("compute_80", &known),
        only("sm_80", &unknown) + &only("compute_90", &twin),
    ] {
        breaks(Rule::Intrinsic, 2, words, &source);
    }
    is_fine(&known);
    is_fine(&declared("cudaDeviceSynchronize", "wait"));
    is_fine(&format!(
        "fn f() {{ {}{} }}",
        only("sm_80", &unknown),
        only("compute_80", &twin)
    ));
}

#[test]
fn generic_kernels() {
    let words = "nothing exports a generic function";
    breaks(
        Rule::GenericKernel,
        3,
        words,
        "/// Sums.\n#[kernel]\npub unsafe fn sum<const B: u32>(input: *const i32) {}",
    );
    breaks(
        Rule::GenericKernel,
        3,
        words,
        "macro_rules! entries { ($($name:ident)*) => {$(\n    #[cuda_std::kernel] #[inline(never)]\n    pub unsafe fn $name<T>(input: *const T) {}\n)*}; }",
    );
    is_fine("#[kernel]\npub unsafe fn borrowed<'a>(n: u32) {}\nunsafe fn body<const B: u32>() {}");
}

#[test]
fn kernel_parameters() {
    let words = "raw pointers and scalars only";
    for parameter in [
        "input: &[i32]",
        "input: &'a mut [f32]",
        "input: *const [i32]",
        "pair: (u32, u32)",
        "tile: [f32; 4]",
        "options: Options",
        "name: *const str",
    ] {
        breaks(
            Rule::KernelParameter,
            4,
            words,
            &format!("#[kernel]\npub unsafe fn sum(\n    n: usize,\n    {parameter},\n) {{}}"),
        );
    }
    breaks(
        Rule::KernelParameter,
        1,
        words,
        "macro_rules! entry { ($name:ident) => { #[kernel] unsafe fn $name(input: &[u8], n: u32) {} }; }",
    );
    is_fine(
        "#[kernel]\nunsafe fn sum(a: *const Map<u32, f32>, b: *mut i32, n: u64, scale: f32, flag: bool) {}",
    );
    is_fine(
        "macro_rules! entry { ($name:ident, $t:ty) => { #[kernel] unsafe fn $name(a: *const $t, b: $t) {} }; }",
    );
    is_fine("unsafe fn body(input: &[i32]) {}");
}

#[test]
fn statics_in_shared_memory() {
    let words = "places no static in shared memory";
    breaks(
        Rule::SharedStatic,
        2,
        words,
        "fn f() {\n    #[address_space(shared)]\n    static mut TILE: [f32; 64] = [0.0; 64];\n}",
    );
    breaks(
        Rule::SharedStatic,
        1,
        words,
        "#[cuda_std::address_space(shared)] static mut TILE: u32 = 0;",
    );
    breaks(
        Rule::SharedStatic,
        1,
        words,
        "#[unsafe(link_section = \".shared\")] static mut TILE: u32 = 0;",
    );
    is_fine("fn f() { let tile = shared_array!(tile: [f32; 64]); }");
}

#[test]
fn bit_counts_that_may_be_64_bits_wide() {
    let words = "miscompiles it for 64 bits";
    for expression in [
        "mask.count_ones()",
        "(x as u64).leading_zeros()",
        "1_u64.trailing_zeros()",
        "f(x as u32).count_ones()",
        "usize::next_power_of_two(n)",
        "n.is_power_of_two()",
        "u64::ilog2(n)",
    ] {
        breaks(
            Rule::BitCount,
            2,
            words,
            &format!("fn f() {{\n    let bits = {expression};\n}}"),
        );
    }
    breaks(
        Rule::BitCount,
        1,
        words,
        "macro_rules! bits { ($x:expr) => { $x.count_ones() }; }",
    );
    is_fine("fn f() { u32::count_ones(x) + (x as u32).leading_zeros() + 7_u32.trailing_zeros(); }");
    is_fine("fn count_ones(x: u32) -> u32 { u32::count_ones(x) }");
}

#[test]
fn atomic_loads_and_stores() {
    let words = "slow read-modify-write";
    breaks(
        Rule::AtomicLoadOrStore,
        2,
        words,
        "fn f() {\n    ticket.load(Relaxed);\n}",
    );
    breaks(
        Rule::AtomicLoadOrStore,
        1,
        words,
        "fn f() { AtomicU32::store(&ticket, 0, Ordering::Release); }",
    );
    breaks(
        Rule::AtomicLoadOrStore,
        1,
        words,
        "macro_rules! read { ($a:expr) => { $a.load(Ordering::Acquire) }; }",
    );
    is_fine("fn f() { ticket.fetch_add(1, Relaxed); pointer.read_volatile(); }");
}

#[test]
fn fences_of_core() {
    let words = "rust-cuda cannot compile it";
    breaks(
        Rule::Fence,
        2,
        words,
        "use core::sync::atomic::fence;\nfn f() { fence(Ordering::SeqCst); }",
    );
    breaks(
        Rule::Fence,
        1,
        words,
        "fn f() { core::sync::atomic::compiler_fence(order); }",
    );
    is_fine("fn f() { device_fence(); } fn fence_publish() {}");
}

#[test]
fn names_that_cuda_std_lacks_or_gets_wrong() {
    misuses_cuda_std(1, "lists no such name", "use cuda_std::shared_array;");
    misuses_cuda_std(
        1,
        "lists no such name",
        "use cuda_std::warp::{lane_id, reduce_sum};",
    );
    misuses_cuda_std(
        2,
        "lists no such name",
        "use cuda_std::thread;\nfn f() { thread::cluster_idx(); }",
    );
    misuses_cuda_std(
        1,
        "lists no such name",
        "fn f() { cuda_std::atomic::mid::inc(); }",
    );
    misuses_cuda_std(1, "hidden from this check", "use cuda_std::prelude::*;");
    misuses_cuda_std(
        1,
        "clamps at the upper end",
        "use cuda_std::warp::warp_shuffle_up as up;",
    );
    misuses_cuda_std(
        2,
        "for the block alone",
        "use cuda_std::thread as t;\nfn f() { t::grid_fence(); }",
    );
    misuses_cuda_std(
        1,
        "not convergent",
        "macro_rules! v { () => { cuda_std::warp::warp_vote_any(1, true) }; }",
    );
    is_fine("use cuda_std::{gpu_only, kernel};\nuse cuda_std::warp::{self, WarpReductionOp};");
    is_fine("fn f() { cuda_std::thread::index_1d(); cuda_std::warp::WarpReductionOp::Add; }");
}

#[test]
fn what_only_a_host_or_a_test_has_is_passed_over() {
    is_fine("#[cfg(test)]\nmod tests { use cuda_std::prelude::*; fn f() { x.count_ones(); } }");
    is_fine(
        "#[cfg(not(target_arch = \"nvptx64\"))]\npub fn on_the_host() { ticket.load(Relaxed); }",
    );
    is_fine("/// Not `ticket.load(Relaxed)`, nor `thread::sync_threads()`.\nfn f() {}");
    breaks(
        Rule::AtomicLoadOrStore,
        2,
        "slow",
        "#[cfg(test)] use a::b;\nfn f() { ticket.load(Relaxed); }",
    );
}

#[test]
fn text_that_is_no_rust_is_an_error() {
    assert!(check(&["fn f( {".to_owned()]).is_err());
}
