//! Whether a JPEG file was cut short. The decoder paints what is missing grey and reports no error. That suits viewers of
//! photographs, but a histogram would be wrong.

/// The second bytes of the markers that matter here; the first is 0xff (ITU-T T.81, table B.1).
const END_OF_IMAGE: u8 = 0xd9;
const START_OF_IMAGE: u8 = 0xd8;
const RESTARTS: std::ops::RangeInclusive<u8> = 0xd0..=0xd7;
/// In the coded data, a 0xff that is no marker.
const STUFFED: u8 = 0x00;

/// Whether the end marker follows whole segments and coded data. Bytes after it do not matter.
pub(super) fn is_complete(contents: &[u8]) -> bool {
    find_end(contents).is_some()
}

fn find_end(mut rest: &[u8]) -> Option<()> {
    loop {
        let marker;
        (marker, rest) = next_marker(rest)?;
        match marker {
            END_OF_IMAGE => return Some(()),
            // These markers have no segment.
            START_OF_IMAGE | STUFFED => {}
            marker if RESTARTS.contains(&marker) => {}
            _ => rest = after_segment(rest)?,
        }
    }
}

/// Skips coded data, if there is any, up to a marker, and gives the marker's second byte. Any number of 0xff may stand before it.
fn next_marker(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let start = bytes.iter().position(|&byte| byte == 0xff)?;
    let second = start + bytes[start..].iter().position(|&byte| byte != 0xff)?;
    Some((bytes[second], &bytes[second + 1..]))
}

/// Skips a segment. It begins with its length, which includes the two bytes of the length itself.
fn after_segment(bytes: &[u8]) -> Option<&[u8]> {
    let length = u16::from_be_bytes(*bytes.first_chunk()?);
    bytes.get(usize::from(length).max(2)..)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A start, a segment that holds what looks like an end, coded data with a stuffed byte and a restart, and the end.
    const WHOLE: &[u8] = b"\xff\xd8\xff\xe0\x00\x06\xff\xd9\xff\xd9\xff\xff\xda\x00\x03\x01\x12\xff\x00\x34\xff\xd0\x56\xff\xd9";

    #[test]
    fn the_end_marker_is_the_end() {
        assert!(is_complete(WHOLE));
        let trailed = [WHOLE, b"more"].concat();
        assert!(is_complete(&trailed));
    }

    #[test]
    fn every_shorter_file_is_cut() {
        for length in 0..WHOLE.len() {
            assert!(!is_complete(&WHOLE[..length]), "{length}");
        }
    }
}
