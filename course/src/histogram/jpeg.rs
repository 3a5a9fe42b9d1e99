//! Whether a JPEG file was cut short. The decoder paints what is missing grey and reports no error. That suits viewers of
//! photographs, but a histogram would be wrong.

use std::io::{self, BufRead, ErrorKind, Read};

/// The second bytes of the markers that matter here; the first is 0xff (ITU-T T.81, table B.1).
const END_OF_IMAGE: u8 = 0xd9;
const START_OF_IMAGE: u8 = 0xd8;
const RESTARTS: std::ops::RangeInclusive<u8> = 0xd0..=0xd7;
/// In the coded data, a 0xff that is no marker.
const STUFFED: u8 = 0x00;

/// Whether the end marker follows whole segments and coded data. Bytes after it do not matter.
pub(super) fn is_complete(file: &mut impl BufRead) -> io::Result<bool> {
    match find_end(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn find_end(file: &mut impl BufRead) -> io::Result<()> {
    loop {
        match next_marker(file)? {
            END_OF_IMAGE => return Ok(()),
            // These markers have no segment.
            START_OF_IMAGE | STUFFED => {}
            marker if RESTARTS.contains(&marker) => {}
            _ => skip_segment(file)?,
        }
    }
}

/// Skips coded data, if there is any, up to a marker, and gives the marker's second byte. Any number of 0xff may stand before it.
fn next_marker(file: &mut impl BufRead) -> io::Result<u8> {
    while byte(file)? != 0xff {}
    loop {
        match byte(file)? {
            0xff => {}
            marker => return Ok(marker),
        }
    }
}

/// Skips a segment. It begins with its length, which includes the two bytes of the length itself.
fn skip_segment(file: &mut impl BufRead) -> io::Result<()> {
    let length = u16::from_be_bytes([byte(file)?, byte(file)?]);
    let rest = u64::from(length.saturating_sub(2));
    let skipped = io::copy(&mut file.take(rest), &mut io::sink())?;
    if skipped == rest {
        Ok(())
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

fn byte(file: &mut impl BufRead) -> io::Result<u8> {
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A start, a segment that holds what looks like an end, coded data with a stuffed byte and a restart, and the end.
    const WHOLE: &[u8] = b"\xff\xd8\xff\xe0\x00\x06\xff\xd9\xff\xd9\xff\xff\xda\x00\x03\x01\x12\xff\x00\x34\xff\xd0\x56\xff\xd9";

    #[test]
    fn the_end_marker_is_the_end() {
        assert!(is_complete(&mut &*WHOLE).unwrap());
        let trailed = [WHOLE, b"more"].concat();
        assert!(is_complete(&mut &*trailed).unwrap());
    }

    #[test]
    fn every_shorter_file_is_cut() {
        for length in 0..WHOLE.len() {
            assert!(!is_complete(&mut &WHOLE[..length]).unwrap(), "{length}");
        }
    }
}
