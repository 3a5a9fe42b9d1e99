//! Reads just enough PTX to know its functions, their calls and their shared arrays.

/// A name and the line it stands on, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) line: usize,
}

/// One `.entry` or `.func`, declared or defined.
#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) is_entry: bool,
    pub(super) has_body: bool,
    pub(super) calls: Vec<Place>,
    /// The operation of each instruction.
    pub(super) operations: Vec<String>,
    pub(super) shared_arrays: Vec<Place>,
}

/// What a module holds.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    pub(super) functions: Vec<Function>,
    /// Shared arrays declared outside every function.
    pub(super) shared_arrays: Vec<Place>,
    /// Variables in global or constant memory that another module is to define.
    pub(super) extern_variables: Vec<Place>,
}

#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Scans a whole module. Text that is no PTX gives an empty module, never a panic.
pub(super) fn scan(ptx: &str) -> Declarations {
    let mut module = Declarations::default();
    let mut depth = 0_usize;
    let mut statement: Vec<Token<'_>> = Vec::new();
    for token in tokens(ptx) {
        match token.text {
            "{" => {
                let is_body = depth == 0;
                if let Some(function) = function_of(&statement).filter(|_| is_body) {
                    module.functions.push(Function {
                        has_body: true,
                        ..function
                    });
                }
                // Initialisers (`.b8 table[4] = {1, 2, 3, 4};`) open a brace inside a statement: keep its beginning.
                if !statement.iter().any(|token| token.text == "=") {
                    statement.clear();
                }
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                if !statement.iter().any(|token| token.text == "=") {
                    statement.clear();
                }
            }
            ";" => {
                finish_statement(&statement, depth, &mut module);
                statement.clear();
            }
            _ => statement.push(token),
        }
    }
    module
}

/// Takes in a statement that ended with a semicolon.
fn finish_statement(statement: &[Token<'_>], depth: usize, module: &mut Declarations) {
    if let Some(array) = shared_array_of(statement) {
        match module.functions.last_mut().filter(|_| depth > 0) {
            Some(function) => function.shared_arrays.push(array),
            None => module.shared_arrays.push(array),
        }
    }
    if depth == 0 {
        module.functions.extend(function_of(statement));
        module
            .extern_variables
            .extend(extern_variable_of(statement));
    } else if let Some(function) = module.functions.last_mut() {
        function.calls.extend(call_of(statement));
        function.operations.extend(operation_of(statement));
    }
}

/// `.visible .entry name(…)` or `.extern .func (result) name(…)`.
fn function_of(statement: &[Token<'_>]) -> Option<Function> {
    let keyword = statement
        .iter()
        .position(|token| matches!(token.text, ".entry" | ".func"))?;
    let name = after_group(&statement[keyword + 1..])?;
    Some(Function {
        name: name.text.to_owned(),
        line: name.line,
        is_entry: statement[keyword].text == ".entry",
        ..Function::default()
    })
}

/// `call.uni (result), name, (arguments)`, after an optional predicate.
fn call_of(statement: &[Token<'_>]) -> Option<Place> {
    let call = statement
        .iter()
        .position(|token| token.text == "call" || token.text.starts_with("call."))?;
    place(after_group(&statement[call + 1..])?)
}

/// `ld.global.b32` in `$label: @!%p1 ld.global.b32 %r1, [%rd1]`; nothing in a directive, which begins with a dot.
fn operation_of(statement: &[Token<'_>]) -> Option<String> {
    let mut rest = statement;
    loop {
        match rest {
            [_, colon, behind @ ..] if colon.text == ":" => rest = behind,
            // The one directive that ends with its line.
            [location, ..] if location.text == ".loc" => {
                let length = rest.iter().take_while(|token| token.line == location.line);
                rest = &rest[length.count()..];
            }
            _ => break,
        }
    }
    if rest.first()?.text == "@" {
        let predicate = rest
            .iter()
            .position(|token| !matches!(token.text, "@" | "!"))?;
        rest = &rest[predicate + 1..];
    }
    let operation = rest.first()?.text;
    operation
        .starts_with(|c: char| c.is_ascii_alphabetic())
        .then(|| operation.to_owned())
}

/// `.shared .align 16 .b8 name[512]`. Not an `.extern` one: that is the memory which the launch adds, the same for every
/// declaration, and each kernel that uses it brings its own.
fn shared_array_of(statement: &[Token<'_>]) -> Option<Place> {
    let has = |text: &str| statement.iter().any(|token| token.text == text);
    (has(".shared") && !has(".extern"))
        .then(|| variable_of(statement))
        .flatten()
}

/// `.extern .global .align 4 .b8 name[12]`. (An extern array in shared memory is sized by the launch.)
fn extern_variable_of(statement: &[Token<'_>]) -> Option<Place> {
    let has = |text: &str| statement.iter().any(|token| token.text == text);
    if has(".extern") && (has(".global") || has(".const")) {
        variable_of(statement)
    } else {
        None
    }
}

/// The name at the end of a declaration, before its size.
fn variable_of(statement: &[Token<'_>]) -> Option<Place> {
    let bracket = statement.iter().position(|token| token.text == "[");
    let before_bracket = &statement[..bracket.unwrap_or(statement.len())];
    place(*before_bracket.last()?)
}

fn place(token: Token<'_>) -> Option<Place> {
    Some(Place {
        name: token.text.to_owned(),
        line: token.line,
    })
}

/// The first word, or the first after a parenthesised group and its comma.
fn after_group<'a>(tokens: &[Token<'a>]) -> Option<Token<'a>> {
    if tokens.first()?.text != "(" {
        return tokens.first().copied();
    }
    let close = tokens.iter().position(|token| token.text == ")")?;
    tokens[close + 1..]
        .iter()
        .find(|token| token.text != ",")
        .copied()
}

/// Words and single punctuation marks, without comments; a string literal is one token.
fn tokens(ptx: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = ptx;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let length = match first {
                '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            tokens.push(Token {
                text: &rest[..length],
                line,
            });
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"
.version 7.0
.target sm_80 // one { comment
.file 1 "a;b{.rs"
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.extern .shared .align 16 .b8 dynamic[];
.extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);
/* .visible .entry hidden() */
.func (.param .b32 result) helper(.param .b32 x) { ret; }
.visible .entry first(
	.param .u64 first_param_0
)
.maxntid 512, 1, 1
{
	.shared .align 4 .b8 tile[2048];
	ld.shared.b32 %r1, [tile];
	{ // callseq
	@%p1 call.uni (retval0), helper, (param0);
	}
	call vprintf, (a, b);
	ret;
}
"#;

    #[test]
    fn functions_are_found_with_their_lines() {
        let module = scan(MODULE);
        let found: Vec<_> = module
            .functions
            .iter()
            .map(|f| (f.name.as_str(), f.line, f.is_entry, f.has_body))
            .collect();
        assert_eq!(
            found,
            [
                ("vprintf", 7, false, false),
                ("helper", 9, false, true),
                ("first", 10, true, true)
            ]
        );
    }

    #[test]
    fn calls_and_shared_arrays_belong_to_their_function() {
        let module = scan(MODULE);
        let first = &module.functions[2];
        let at = |name: &str, line| Place {
            name: name.to_owned(),
            line,
        };
        assert_eq!(first.calls, [at("helper", 18), at("vprintf", 20)]);
        assert_eq!(first.shared_arrays, [at("tile", 15)]);
        assert_eq!(module.shared_arrays, [], "`dynamic` is an extern one");
    }

    #[test]
    fn operations_are_read_without_labels_predicates_and_directives() {
        let module = scan(
            ".entry k()\n{\n.reg .pred %p<2>;\n.loc 1 2 3\nmov.u32 %r1, %tid.x;\n$L1:\n$L2: @!%p1 bra.uni $L1;\n\
             // begin inline asm\n{ .shared .b8 t[4]; mov.u64 %rd1, t; }\nbar.sync 0;\n@%p1 ret;\n}\n",
        );
        assert_eq!(
            module.functions[0].operations,
            ["mov.u32", "bra.uni", "mov.u64", "bar.sync", "ret"]
        );
    }

    #[test]
    fn text_that_is_no_ptx_gives_an_empty_module() {
        for text in ["", "}}}", "/*", "\"", "{{ .shared ;", ".entry", "é;é"] {
            assert!(scan(text).functions.is_empty(), "{text}");
        }
    }
}
