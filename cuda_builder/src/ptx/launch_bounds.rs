//! Launch bounds: from a comment in a kernel's body to directives in its header.

use std::borrow::Cow;

use super::Violation;

/// What a line in inline assembly that declares launch bounds begins with.
const DECLARATION: &str = "// launch_bounds:";

/// *Addition to rust-cuda's API:* the text with the launch bounds of each kernel in its header (PTX ISA §11.4 "Performance-Tuning
/// Directives"). A kernel declares them by a comment in inline assembly, `// launch_bounds: .maxntid 256 .minnctapersm 4`, which every
/// compiler passes through, while none has an attribute for them. Text without such a comment stays as it is.
///
/// # Errors
/// A declaration outside of a kernel, a second one that says something else, or one that is not as above.
pub fn with_launch_bounds(ptx: &str) -> Result<String, Violation> {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    // Where the body of the current kernel begins among these lines, and what it has declared.
    let mut body: Option<usize> = None;
    let mut declared: Option<&str> = None;
    let (mut is_kernel, mut depth) = (false, 0_usize);
    for (number, line) in ptx.split_inclusive('\n').enumerate() {
        if let Some(bounds) = line.trim().strip_prefix(DECLARATION).map(str::trim) {
            let wrong = |reason| Violation::LaunchBounds {
                declared: bounds.to_owned(),
                line: number + 1,
                reason,
            };
            let begin = body.ok_or_else(|| wrong("are in no kernel"))?;
            if !is_well_formed(bounds) {
                return Err(wrong("cannot be read"));
            }
            match declared {
                None => lines.insert(begin, format!("{bounds}\n").into()),
                Some(first) if first == bounds => {}
                Some(_) => return Err(wrong("differ from those before")),
            }
            declared = Some(bounds);
            continue;
        }
        let code = line.split("//").next().unwrap_or_default();
        if depth == 0 && code.contains(".entry") {
            (is_kernel, declared) = (true, None);
        }
        // Compilers give the bracket a line of its own, so that a directive fits before it.
        if depth == 0 && is_kernel && code.trim() == "{" {
            body = Some(lines.len());
        }
        let ends = code.matches('}').count();
        depth = (depth + code.matches('{').count()).saturating_sub(ends);
        lines.push(line.into());
        if depth == 0 && ends > 0 {
            (is_kernel, body) = (false, None);
        }
    }
    Ok(lines.concat())
}

/// `.maxntid 256`, or `.maxntid 256 .minnctapersm 4`.
fn is_well_formed(bounds: &str) -> bool {
    let words: Vec<&str> = bounds.split_whitespace().collect();
    let is_number = |word: &str| word.parse::<u32>().is_ok_and(|number| number > 0);
    match words[..] {
        [".maxntid", threads] => is_number(threads),
        [".maxntid", threads, ".minnctapersm", blocks] => is_number(threads) && is_number(blocks),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: &str = "\
.version 7.0
.visible .entry plain(
\t.param .u64 p
)
{
\t// begin inline asm
\tmov.u32 %r1, 5;
\t// end inline asm
\tret;
}
.visible .entry bounded(
\t.param .u64 p
)
{
\t.reg .b32 %r<2>;
\t{ // callseq
\t}
\t// begin inline asm
\t// launch_bounds: .maxntid 256 .minnctapersm 4
\t// end inline asm
\tret;
}
";

    #[test]
    fn directives_stand_between_the_parameters_and_the_body() {
        let expected = KERNELS
            .replace("\t// launch_bounds: .maxntid 256 .minnctapersm 4\n", "")
            .replacen(
                "\n)\n{\n\t.reg",
                "\n)\n.maxntid 256 .minnctapersm 4\n{\n\t.reg",
                1,
            );
        assert_eq!(with_launch_bounds(KERNELS), Ok(expected.clone()));
        assert_eq!(with_launch_bounds(&expected), Ok(expected));
    }

    #[test]
    fn text_without_declarations_stays_as_it_is() {
        for text in ["", "\n", "no PTX", ".entry k() { ret; }", "}}{"] {
            assert_eq!(with_launch_bounds(text), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_declaration_that_a_compiler_has_copied_counts_once() {
        let line = "\t// launch_bounds: .maxntid 256 .minnctapersm 4\n";
        let twice = KERNELS.replace(line, &line.repeat(2));
        assert_eq!(with_launch_bounds(&twice), with_launch_bounds(KERNELS));
    }

    #[test]
    fn what_no_header_can_take_is_refused() {
        let line = "\t// launch_bounds: .maxntid 256 .minnctapersm 4\n";
        let refused = |text: &str| with_launch_bounds(text).unwrap_err().to_string();
        let other = KERNELS.replace(line, &format!("{line}\t// launch_bounds: .maxntid 128\n"));
        assert!(
            refused(&other).starts_with(
                "line 20: the launch bounds `.maxntid 128` differ from those before: "
            ),
            "{}",
            refused(&other)
        );
        for broken in [
            "",
            ".maxntid",
            ".maxntid 0",
            ".maxntid x",
            ".minnctapersm 4",
            ".maxntid 1 .minnctapersm",
        ] {
            let text = KERNELS.replace(".maxntid 256 .minnctapersm 4", broken);
            assert!(refused(&text).contains("cannot be read"), "{broken}");
        }
        let outside = format!("{line}{KERNELS}");
        assert!(refused(&outside).starts_with("line 1: "));
        let in_function = KERNELS.replace(".entry bounded", ".func bounded");
        assert!(refused(&in_function).contains("are in no kernel"));
    }
}
