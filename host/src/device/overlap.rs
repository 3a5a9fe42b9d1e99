//! Kernels that are set up while the launch before them ends ("programmatic dependent launch").
//!
//! Between two launches on a stream a GPU waits until the first has ended, and then sets up the second: about a microsecond in which
//! nothing runs. From sm_90 on, the second may be set up earlier, if its launch allows it and its threads wait themselves:
//!
//! - `griddepcontrol.wait` returns when the launches before have ended, and what they wrote is there;
//! - `griddepcontrol.launch_dependents` says that the next launch may be set up, as soon as every block has come to it.
//!
//! A kernel that begins with these two touches no memory until the launches before it have ended, and so its results are the same as
//! without them. But its blocks take their places earlier. They also look at their parameters meanwhile: the first look takes some hundred
//! nanoseconds, in which the GPU brings the parameters to the multiprocessor.
//!
//! A kernel that waits for other devices allows nothing: the blocks of the next launch would take the places of what it may be waiting for, and
//! neither would ever end. See "Programmatic Dependent Launch and Synchronization" in
//! NVIDIA's CUDA programming guide.

use super::ptx::raised;
use std::collections::HashSet;
use warpfold_driver::Version;
use warpfold_emulator::entries::{Entries, entry_named_in, with_beginnings};

/// The compute capability from which on there are such launches.
const SM: u32 = 90;

/// Where a kernel says that it has to wait.
const HERE: &str = "//griddepcontrol.wait;";

const WAIT: &str = "griddepcontrol.wait;";
const LAUNCH: &str = "griddepcontrol.launch_dependents;";

/// How a kernel reads what other devices, or the host, write while it runs.
const FROM_OTHERS: &str = "ld.relaxed.sys";

/// The version of the PTX language that has the instructions.
const LANGUAGE: (u32, u32) = (7, 8);

/// The first driver that captures such launches into graphs.
const DRIVER: Version = Version {
    major: 12,
    minor: 3,
};

/// The first lines of a kernel whose head, its parameters and the bounds of its launches, is this. `launch` is what follows when it has waited.
///
/// The kernel waits whatever its parameters are. The assembler does not see that, and so the kernel looks at them before it waits. Where
/// registers are scarce it does not look, since the assembler would keep in registers what it has seen.
fn beginning(head: &str, are_registers_scarce: bool, launch: &str) -> String {
    let parameters = parameters(head);
    let ([first, .., last], false) = (&parameters[..], are_registers_scarce) else {
        return format!("\n\t{WAIT}{launch}");
    };
    format!(
        "\n\t{{\n\t.reg .b32 %first, %last;\n\t.reg .pred %alike;\n\tld.param.u8 %first, [{first}];\n\tld.param.u8 %last, [{last}];\n\t\
         setp.eq.b32 %alike, %first, %last;\n\t@%alike {WAIT}\n\t@!%alike {WAIT}{launch}\n\t}}"
    )
}

/// `a` and `b` in `.entry name(.param .u64 a, .param .b8 b[16])`.
fn parameters(head: &str) -> Vec<&str> {
    let list = head
        .split_once('(')
        .and_then(|(_, list)| list.split_once(')'));
    let parameters = list.map_or("", |(list, _)| list).split(',');
    // An array has its length after its name.
    let names =
        parameters.filter_map(|parameter| parameter.split('[').next()?.split_whitespace().last());
    names.collect()
}

/// Whether several blocks of the kernel are to run on a multiprocessor, as far as its bounds say: they limit the threads of a block, and do not say that
/// one block is enough. Such are the library's packed rows, of which log-sum-exp has 50 registers with the look, and 46 without.
fn has_to_leave_room(head: &str) -> bool {
    let blocks = head
        .split_once(".minnctapersm")
        .and_then(|(_, bound)| bound.split_whitespace().next());
    head.contains(".maxntid") && blocks != Some("1")
}

/// Whether there are such launches on a GPU of this compute capability with this driver.
pub(super) fn is_possible(sm: u32, driver: Version) -> bool {
    sm >= SM && driver >= DRIVER
}

/// The text whose kernels wait for the launches before them, for [`SM`] at least; `None` where the text is not as compilers write it.
/// `are_registers_scarce` says whether it is compiled with a bound on registers.
pub(super) fn waiting(ptx: &str, are_registers_scarce: bool) -> Option<String> {
    let (head, rest) = raised(ptx, SM, LANGUAGE)?;
    let entries = Entries::of(ptx)?;
    let with = |what: &str| -> HashSet<&str> {
        let texts = entries.texts().filter(|(_, text)| text.contains(what));
        texts.map(|(name, _)| name).collect()
    };
    let (of_themselves, for_others) = (with(HERE), with(FROM_OTHERS));
    let launch = format!("\n\t{LAUNCH}");
    let beginning = |head: &str| {
        let name = entry_named_in(head).unwrap_or_default();
        if of_themselves.contains(name) {
            return String::new();
        }
        let launch = if for_others.contains(name) {
            ""
        } else {
            &launch
        };
        let are_scarce = are_registers_scarce || has_to_leave_room(head);
        beginning(head, are_scarce, launch)
    };
    let text = with_beginnings(&(head + rest), beginning)?;
    Some(text.replace(HERE, &format!("{WAIT}\n{LAUNCH}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn kernels_begin_with_waiting() {
        let text = "// by a compiler\n.version 6.0\n.target sm_70\n.address_size 64\n\n.func f()\n{\n\tret;\n}\n.visible .entry k(\n\t.param .u32 n,\n\t.param .align 8 .b8 m[16]\n)\n.maxntid 32, 1, 1\n.minnctapersm 1\n{\n\t.reg .b32 %r<2>;\n\tret;\n}\n";
        let expected = "// by a compiler\n.version 7.8\n.target sm_90\n.address_size 64\n\n.func f()\n{\n\tret;\n}\n.visible .entry k(\n\t.param .u32 n,\n\t.param .align 8 .b8 m[16]\n)\n.maxntid 32, 1, 1\n.minnctapersm 1\n{\n\t{\n\t.reg .b32 %first, %last;\n\t.reg .pred %alike;\n\tld.param.u8 %first, [n];\n\tld.param.u8 %last, [m];\n\tsetp.eq.b32 %alike, %first, %last;\n\t@%alike griddepcontrol.wait;\n\t@!%alike griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n\t}\n\t.reg .b32 %r<2>;\n\tret;\n}\n";
        assert_eq!(waiting(text, false).as_deref(), Some(expected));
    }

    #[test]
    fn kernels_of_bounded_blocks_do_not_look_at_their_parameters() {
        for (bounds, is_so) in [
            ("", false),
            (".maxntid 256, 1, 1\n", true),
            (".maxntid 256, 1, 1\n.minnctapersm 6\n", true),
            (".maxntid 1024, 1, 1\n.minnctapersm 1\n", false),
        ] {
            let text = format!(
                ".version 6.0\n.target sm_70\n.entry k(\n\t.param .u32 n,\n\t.param .u32 m\n)\n{bounds}{{\n\tret;\n}}\n"
            );
            let waiting = waiting(&text, false).expect("it is as compilers write it");
            assert_eq!(!waiting.contains("%alike"), is_so, "{waiting}");
        }
    }

    #[test]
    fn what_is_newer_stays() {
        let text = ".version 8.3\n.target sm_90a\n.entry k()\n{\n\tret;\n}\n";
        let waiting = waiting(text, false).expect("it is as compilers write it");
        assert!(
            waiting.starts_with(".version 8.3\n.target sm_90a\n"),
            "{waiting}"
        );
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "",
            ".version 6.0\n",
            ".version 6.0\n.target\n",
            ".version 6.0\n.target sm_70, debug\n.entry k()\n{\n}\n",
            ".version 6.0\n.target compute\n.entry k()\n{\n}\n",
            ".version 6.0\n.target sm_70\n.entry k()\n{\n",
        ] {
            assert_eq!(waiting(text, false), None, "{text}");
        }
    }

    #[test]
    fn a_kernel_may_say_where_it_waits() {
        let text = ".version 6.0\n.target sm_70\n.entry j()\n{\n\tret;\n}\n.entry k(.param .u32 n)\n{\n\tadd.s32 %r1, %r2, 1;\n\t//griddepcontrol.wait;\n\tret;\n}\n";
        let expected = ".version 7.8\n.target sm_90\n.entry j()\n{\n\tgriddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n\tret;\n}\n.entry k(.param .u32 n)\n{\n\tadd.s32 %r1, %r2, 1;\n\tgriddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n\tret;\n}\n";
        assert_eq!(waiting(text, false).as_deref(), Some(expected));
    }

    #[test]
    fn every_text_of_the_library_can_wait() {
        for text in warpfold_reductions::elements() {
            let (element, text) = (text.name(), &text.read());
            let scarce = waiting(text, true).expect("a compiler has written it");
            assert!(!scarce.contains("%alike"));
            let waiting = waiting(text, false).expect("a compiler has written it");
            let entries = Entries::of(&waiting).expect("bodies end");
            let (mut looking, mut of_themselves) = (0, 0);
            for (name, text) in Entries::of(text).expect("bodies end").texts() {
                let (_, waiting) =
                    (entries.texts().find(|(other, _)| *other == name)).expect("no entry is lost");
                waits_before_all_else(name, waiting);
                let waits_for_others = name.ends_with("_part");
                assert_eq!(waiting.contains(LAUNCH), !waits_for_others, "{name}");
                looking += usize::from(waiting.contains("%alike"));
                of_themselves += usize::from(text.contains(HERE));
            }
            assert!(looking > 0 && of_themselves > 0, "{element}");
        }
    }

    /// Goes every way through an entry: it comes to the wait before it touches global memory, and before it ends.
    #[track_caller]
    fn waits_before_all_else(name: &str, text: &str) {
        let (_, body) = text.split_once('{').expect("it has a body");
        let lines: Vec<&str> = body.lines().map(str::trim).collect();
        let labels: HashMap<&str, usize> = (lines.iter().enumerate())
            .filter_map(|(number, line)| Some((line.strip_suffix(':')?, number)))
            .collect();
        let mut to_see = vec![0];
        let mut seen = HashSet::new();
        while let Some(number) = to_see.pop() {
            if !seen.insert(number) {
                continue;
            }
            let line = lines[number];
            let (guard, code) = match line.strip_prefix('@') {
                Some(guarded) => guarded.split_once([' ', '\t']).expect("what it guards"),
                None => ("", line),
            };
            let code = code.trim();
            // The look at the parameters waits under a condition, and at once under the opposite one. A trap ends all.
            if code.starts_with(WAIT) || code.starts_with("trap") {
                continue;
            }
            let touches = [
                ".global",
                "atom.",
                "red.",
                "ld.relaxed",
                "st.relaxed",
                "prefetch",
            ];
            let is_address = code.starts_with("cvta");
            assert!(
                is_address || !touches.iter().any(|word| code.contains(word)),
                "{name} does not wait before `{line}`"
            );
            assert!(
                !code.starts_with("ret") && !code.starts_with("exit"),
                "{name} ends without waiting"
            );
            if let Some(target) = code.strip_prefix("bra") {
                let target = target
                    .trim_start_matches(".uni")
                    .trim()
                    .trim_end_matches(';');
                to_see.push(labels[target]);
                if guard.is_empty() {
                    continue;
                }
            }
            to_see.push(number + 1);
        }
    }

    #[test]
    fn it_takes_a_gpu_and_a_driver_that_know_it() {
        let driver = |major, minor| Version { major, minor };
        assert!(is_possible(90, driver(12, 3)));
        assert!(is_possible(120, driver(13, 0)));
        assert!(!is_possible(89, driver(13, 0)));
        assert!(!is_possible(90, driver(12, 2)));
    }
}
