//! The checks, over what `scan` reads.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::Violation;
use super::scan::{Declarations, Function, Place, scan};

/// Functions that CUDA provides to device code: by the driver, or by the device runtime library for launches from kernels; of the
/// latter the wait for them only up to CUDA 11.
const DEVICE_LIBRARY: [&str; 5] = [
    "vprintf",
    "malloc",
    "free",
    "__assertfail",
    "cudaDeviceSynchronize",
];
const DEVICE_RUNTIME_PREFIXES: [&str; 2] = ["cudaCDP2", "__cudaCDP2"];

/// *Addition to rust-cuda's API:* checks that a PTX module has a kernel, that everything it calls is defined, and that
/// each shared array is declared once per entry.
///
/// # Errors
/// Every violation.
pub fn check(ptx: &str) -> Result<(), Vec<Violation>> {
    let module = scan(ptx);
    let mut violations = Vec::new();
    if !module.functions.iter().any(|function| function.is_entry) {
        violations.push(Violation::NoEntry);
    }
    violations.extend(undefined_functions(&module));
    let variables = module.extern_variables.iter();
    violations.extend(variables.map(|variable| Violation::UndefinedVariable {
        variable: variable.name.clone(),
        line: variable.line,
    }));
    violations.extend(repeated(None, &module.shared_arrays));
    for function in &module.functions {
        violations.extend(repeated(Some(&function.name), &function.shared_arrays));
    }
    if violations.is_empty() {
        Ok(())
    } else {
        Err(violations)
    }
}

fn undefined_functions(module: &Declarations) -> Vec<Violation> {
    let mut known: HashSet<&str> = module
        .functions
        .iter()
        .filter(|function| function.has_body)
        .map(|function| function.name.as_str())
        .chain(DEVICE_LIBRARY)
        .collect();
    let mut violations = Vec::new();
    for function in &module.functions {
        let from_runtime = DEVICE_RUNTIME_PREFIXES
            .iter()
            .any(|prefix| function.name.starts_with(prefix));
        // Inserting makes a second declaration of the same name silent.
        if !from_runtime && known.insert(&function.name) {
            violations.push(Violation::UndefinedFunction {
                function: function.name.clone(),
                line: function.line,
                caller: first_caller(&module.functions, &function.name),
            });
        }
    }
    violations
}

fn first_caller(functions: &[Function], callee: &str) -> Option<(String, usize)> {
    functions.iter().find_map(|function| {
        let call = function.calls.iter().find(|call| call.name == callee)?;
        Some((function.name.clone(), call.line))
    })
}

fn repeated(entry: Option<&str>, arrays: &[Place]) -> Vec<Violation> {
    let mut first_lines: HashMap<&str, usize> = HashMap::new();
    let mut violations = Vec::new();
    for array in arrays {
        match first_lines.entry(&array.name) {
            Entry::Vacant(first) => {
                first.insert(array.line);
            }
            Entry::Occupied(first) => violations.push(Violation::SharedDeclaredAgain {
                entry: entry.map(str::to_owned),
                array: array.name.clone(),
                line: array.line,
                first_line: *first.get(),
            }),
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn messages(ptx: &str) -> Vec<String> {
        check(ptx)
            .expect_err("broken PTX")
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_module_without_entry_is_refused() {
        let found = messages(".version 7.0\n.func helper() { ret; }\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("the module has no `.entry`"),
            "{found:?}"
        );
    }

    #[test]
    fn an_undefined_function_is_named_with_its_caller() {
        let found = messages(
            ".extern .func lost(.param .b32 x);\n.visible .entry sum()\n{\ncall.uni lost, (p);\nret;\n}\n",
        );
        assert_eq!(
            found,
            [
                "line 1: function `lost` is declared but nothing defines it (called from `sum` on line 4); it would fail when \
                 the module is loaded"
            ]
        );
    }

    #[test]
    fn a_variable_of_another_module_is_undefined_unless_shared() {
        let entry = ".visible .entry sum() { ret; }";
        let found = messages(&format!(
            ".extern .shared .align 16 .b8 dynamic[];\n.extern .global .align 4 .b8 table[12];\n{entry}"
        ));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .starts_with("line 2: static variable `table` is declared but nothing defines it"),
            "{found:?}"
        );
    }

    #[test]
    fn a_forward_declaration_counts_as_undefined_only_without_its_body() {
        let declaration = ".func later();\n.visible .entry sum() { call later; ret; }\n";
        assert_eq!(messages(declaration).len(), 1);
        assert_eq!(
            check(&format!("{declaration}.func later() {{ ret; }}")),
            Ok(())
        );
    }

    #[test]
    fn device_library_functions_are_defined_elsewhere() {
        let ptx = "\
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 m);
.extern .func (.param .b32 r) cudaDeviceSynchronize();
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f);
.visible .entry sum() { ret; }";
        assert_eq!(check(ptx), Ok(()));
    }

    #[test]
    fn a_shared_array_declared_twice_in_one_entry_is_refused() {
        let found = messages(
            ".visible .entry sum()\n{\n{ .shared .b8 tile[64]; }\n{ .shared .b8 tile[64]; }\nret;\n}\n",
        );
        assert_eq!(
            found,
            [
                "line 4: `sum` declares the shared array `tile` again (first on line 3); the inline assembly that declares it \
                 was duplicated"
            ]
        );
    }

    #[test]
    fn dynamic_shared_memory_may_be_declared_by_each_kernel_that_uses_it() {
        let declaration = ".extern .shared .align 16 .b8 dynamic[];";
        let ptx = format!("{declaration}\n{declaration}\n.visible .entry a() {{ ret; }}");
        assert_eq!(check(&ptx), Ok(()));
    }

    #[test]
    fn two_entries_may_each_declare_the_same_name() {
        let ptx = "\
.visible .entry a()\n{\n.shared .b8 tile[64];\n}\n
.visible .entry b()\n{\n.shared .b8 tile[64];\n}\n";
        assert_eq!(check(ptx), Ok(()));
        assert_eq!(crate::ptx::entries(ptx), ["a", "b"]);
    }
}
