//! Which line of a table a record stands on.

use super::open::{Name, open};
use csv::Position;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// The number of the line, from 1, that the record at this position begins on.
///
/// The csv reader's own line number is that of the place where the record before ended: the reader has not yet passed a line feed
/// after a carriage return, or blank lines. So the lines are counted again, which is fast enough for an error,
/// except those of what can be read once: standard input, or a pipe.
pub(super) fn line_of(path: &Path, record: &Position) -> u64 {
    if Name::of(path).is_standard_input || !path.is_file() {
        return record.line();
    }
    count_lines(path, record.byte()).unwrap_or(record.line())
}

fn count_lines(path: &Path, record: u64) -> io::Result<u64> {
    let mut line = 1;
    let mut before = None;
    for (at, byte) in (0_u64..).zip(BufReader::new(open(path)?).bytes()) {
        let byte = byte?;
        match byte {
            b'\n' if before == Some(b'\r') => {}
            b'\n' | b'\r' => line += 1,
            _ if at >= record => break,
            _ => {}
        }
        before = Some(byte);
    }
    Ok(line)
}
