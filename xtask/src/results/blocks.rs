//! The places of documents that are written here.

/// The text with this block between the markers of this name, `<!-- NAME: begin -->` and `<!-- NAME: end -->`; `None` where it has none.
pub fn with_block(text: &str, name: &str, block: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->"),
    );
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{block}{end}{after}"))
}
