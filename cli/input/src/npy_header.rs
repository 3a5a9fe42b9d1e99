//! The header of a `.npy` file: a Python dictionary of three entries (NumPy enhancement proposal 1, versions 1.0 to 3.0).

/// What the header says.
pub(super) struct NpyHeader {
    /// The type, as NumPy writes it: `'<f4'`, or a list for a structure.
    pub descriptor: String,
    /// The extents.
    pub shape: Vec<u64>,
    /// Whether the first axis is that of neighbours in memory, not the last.
    pub is_fortran: bool,
    /// The bytes before the values.
    pub bytes: usize,
}

// NumPy itself refuses longer headers.
const MOST_TEXT_BYTES: usize = 10_000;
/// As many bytes as tell the whole of any header that is read.
pub(super) const MOST_HEADER_BYTES: usize = 12 + MOST_TEXT_BYTES;

impl NpyHeader {
    /// Reads what the first bytes of a file say, or gives the reason why they are no header.
    pub(super) fn parse(beginning: &[u8]) -> Result<Self, String> {
        const ENDS_EARLY: &str = "it ends before its header does";
        let rest = beginning
            .strip_prefix(b"\x93NUMPY")
            .ok_or("it does not begin with the bytes \\x93NUMPY")?;
        let (length, start) = match *rest {
            [1, _, low, high, ..] => (u16::from_le_bytes([low, high]).into(), 10),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
            [0..=3, ..] | [] => return Err(ENDS_EARLY.to_owned()),
            [version, ..] => return Err(format!("its version {version} is not 1, 2 or 3")),
        };
        if length > MOST_TEXT_BYTES {
            return Err(format!(
                "its header of {length} bytes is longer than any that NumPy reads"
            ));
        }
        let text = beginning.get(start..start + length).ok_or(ENDS_EARLY)?;
        let text = String::from_utf8_lossy(text);
        let entries = entries(&text)?;
        let value = |key: &str| {
            let entry = entries.iter().find(|(name, _)| *name == key);
            let (_, value) = entry.ok_or_else(|| format!("its header has no '{key}'"))?;
            Ok::<_, String>(*value)
        };
        let is_fortran = match value("fortran_order")? {
            "True" => true,
            "False" => false,
            other => return Err(format!("its fortran_order is {other}, not True or False")),
        };
        Ok(Self {
            descriptor: value("descr")?.to_owned(),
            shape: shape(value("shape")?)?,
            is_fortran,
            bytes: start + length,
        })
    }
}

/// The keys and values of a dictionary.
fn entries(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let no_dictionary = || "its header is no Python dictionary".to_owned();
    let inside = text.trim().strip_prefix('{');
    let inside = inside.and_then(|inside| inside.strip_suffix('}'));
    parts(inside.ok_or_else(no_dictionary)?)
        .map(|entry| {
            let (key, value) = entry.split_once(':')?;
            Some((unquoted(key.trim())?, value.trim()))
        })
        .collect::<Option<_>>()
        .ok_or_else(no_dictionary)
}

/// What stands between commas outside of quotes and brackets, but for the nothing after a last comma.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quote) = (0, None);
    text.split(move |character| {
        match (quote, character) {
            (Some(opening), _) if character == opening => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0 && quote.is_none()
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

/// What stands in a pair of quotes.
pub(super) fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|first| "'\"".contains(*first))?;
    text[1..].strip_suffix(quote)
}

/// The extents in a tuple.
fn shape(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("its shape {text} is no tuple of extents that are not negative");
    let inside = text.strip_prefix('(');
    let inside = inside.and_then(|inside| inside.strip_suffix(')'));
    parts(inside.ok_or_else(wrong)?)
        // Python 2 wrote an L after a long integer.
        .map(|extent| extent.trim_end_matches('L').parse().map_err(|_| wrong()))
        .collect()
}
