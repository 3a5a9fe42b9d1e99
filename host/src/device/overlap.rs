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
//! nanoseconds, in which the GPU brings the parameters to the multiprocessor. See "Programmatic Dependent Launch and Synchronization" in
//! NVIDIA's CUDA programming guide.

use super::ptx::version;
use warpfold_driver::Version;
use warpfold_emulator::entries::with_beginnings;

/// The compute capability from which on there are such launches.
const SM: u32 = 90;

/// The version of the PTX language that has the instructions.
const LANGUAGE: (u32, u32) = (7, 8);

/// The first driver that captures such launches into graphs.
const DRIVER: Version = Version {
    major: 12,
    minor: 3,
};

/// The first lines of a kernel whose head, its parameters and the bounds of its launches, is this.
///
/// The kernel waits whatever its parameters are. The assembler does not see that, and so the kernel looks at them before it waits. Where
/// registers are scarce it does not look, since the assembler would keep in registers what it has seen.
fn beginning(head: &str, are_registers_scarce: bool) -> String {
    const LAUNCH: &str = "griddepcontrol.launch_dependents;";
    let parameters = parameters(head);
    let ([first, .., last], false) = (&parameters[..], are_registers_scarce) else {
        return format!("\n\tgriddepcontrol.wait;\n\t{LAUNCH}");
    };
    format!(
        "\n\t{{\n\t.reg .b32 %first, %last;\n\t.reg .pred %alike;\n\tld.param.u8 %first, [{first}];\n\tld.param.u8 %last, [{last}];\n\t\
         setp.eq.b32 %alike, %first, %last;\n\t@%alike griddepcontrol.wait;\n\t@!%alike griddepcontrol.wait;\n\t{LAUNCH}\n\t}}"
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

/// Whether the assembler has to leave registers for more than one block.
fn has_to_leave_room(head: &str) -> bool {
    let Some((_, bound)) = head.split_once(".minnctapersm") else {
        return false;
    };
    bound.split_whitespace().next() != Some("1")
}

/// Whether there are such launches on a GPU of this compute capability with this driver.
pub(super) fn is_possible(sm: u32, driver: Version) -> bool {
    sm >= SM && driver >= DRIVER
}

/// The text whose kernels wait for the launches before them, for [`SM`] at least; `None` where the text is not as compilers write it.
/// `are_registers_scarce` says whether it is compiled with a bound on registers.
pub(super) fn waiting(ptx: &str, are_registers_scarce: bool) -> Option<String> {
    let newest = version(ptx)?.max(LANGUAGE);
    let mut head = String::new();
    let mut rest = ptx;
    // The version comes before the target, and the target before all code.
    loop {
        let (line, later) = rest.split_once('\n')?;
        rest = later;
        let mut words = line.split_whitespace();
        match words.next() {
            Some(".version") => {
                head += &format!(".version {}.{}\n", newest.0, newest.1);
            }
            Some(".target") => {
                let target = words.next()?;
                let digits = target.strip_prefix("sm_")?;
                let sm: u32 = digits.trim_end_matches(char::is_alphabetic).parse().ok()?;
                if words.next().is_some() {
                    return None;
                }
                head += &match sm {
                    SM.. => format!(".target {target}\n"),
                    _ => format!(".target sm_{SM}\n"),
                };
                let beginning =
                    |head: &str| beginning(head, are_registers_scarce || has_to_leave_room(head));
                return with_beginnings(&(head + rest), beginning);
            }
            _ => head.extend([line, "\n"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_begin_with_waiting() {
        let text = "// by a compiler\n.version 6.0\n.target sm_70\n.address_size 64\n\n.func f()\n{\n\tret;\n}\n.visible .entry k(\n\t.param .u32 n,\n\t.param .align 8 .b8 m[16]\n)\n.maxntid 32, 1, 1\n{\n\t.reg .b32 %r<2>;\n\tret;\n}\n";
        let expected = "// by a compiler\n.version 7.8\n.target sm_90\n.address_size 64\n\n.func f()\n{\n\tret;\n}\n.visible .entry k(\n\t.param .u32 n,\n\t.param .align 8 .b8 m[16]\n)\n.maxntid 32, 1, 1\n{\n\t{\n\t.reg .b32 %first, %last;\n\t.reg .pred %alike;\n\tld.param.u8 %first, [n];\n\tld.param.u8 %last, [m];\n\tsetp.eq.b32 %alike, %first, %last;\n\t@%alike griddepcontrol.wait;\n\t@!%alike griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n\t}\n\t.reg .b32 %r<2>;\n\tret;\n}\n";
        assert_eq!(waiting(text, false).as_deref(), Some(expected));
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
    fn every_text_of_the_library_can_wait() {
        for element in warpfold_reductions::elements() {
            let text = warpfold_reductions::text(element).expect("it is there");
            let entries = text.matches(".entry ").count();
            let scarce = waiting(text, true).expect("a compiler has written it");
            assert_eq!(scarce.matches("griddepcontrol.wait;").count(), entries);
            let waiting = waiting(text, false).expect("a compiler has written it");
            assert_eq!(
                waiting.matches("griddepcontrol.launch_dependents;").count(),
                entries
            );
            assert_eq!(
                waiting.matches("@!%alike griddepcontrol.wait;").count(),
                entries - text.matches(".minnctapersm").count()
                    + text.matches(".minnctapersm 1\n").count()
            );
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
