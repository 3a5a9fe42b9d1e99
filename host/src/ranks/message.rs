//! What ranks send each other over their connections: headers of one size, and after some of them bytes whose number both sides know.

/// What every header begins with.
const MAGIC: [u8; 8] = *b"warpfold";
/// Changes whenever the messages do.
const VERSION: u16 = 1;
/// Bytes of a header.
pub(super) const HEADER: usize = 80;
/// Bytes after a [`Kind::Welcome`]: an `ncclUniqueId`, or zeros.
pub(super) const WELCOME: usize = 128;
/// Bytes of an operation's name in a header; longer ones are cut.
const OPERATION: usize = 40;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A rank has come. Its number is that of its GPU, or 0.
    Hello = 1,
    /// All have come. The number says how they meet; [`WELCOME`] bytes follow.
    Welcome = 2,
    /// As many bytes as the number says follow.
    Data = 3,
    /// The work is over. The number is a [`Reason`]; `about` is the rank that it is about.
    Failure = 4,
}

/// Why the work is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Reason {
    /// A rank has ended.
    Gone = 1,
    /// A rank did not come in time.
    Late = 2,
    /// A rank makes another call.
    Different = 3,
    /// Two processes have one rank.
    Twice = 4,
    /// A rank counts the ranks differently: `of` is how many.
    OtherSize = 5,
    /// The ranks of two jobs have found each other.
    OtherJob = 6,
    /// A rank cannot use NCCL.
    NotByNccl = 7,
    /// A rank has failed by itself.
    Failed = 8,
}

/// The fixed part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Who sends it.
    pub(super) rank: u32,
    /// How many ranks the sender counts.
    pub(super) size: u32,
    /// The rank that a failure is about.
    pub(super) about: u32,
    pub(super) job: u64,
    pub(super) number: u64,
    pub(super) operation: String,
}

impl Header {
    pub(super) fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10] = self.kind as u8;
        bytes[12..16].copy_from_slice(&self.rank.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.size.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.about.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.job.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.number.to_le_bytes());
        let operation = cut(&self.operation).as_bytes();
        bytes[HEADER - OPERATION..][..operation.len()].copy_from_slice(operation);
        bytes
    }

    /// The header in these bytes, which anybody may have sent; `None` where they are none of this version.
    pub(super) fn of(bytes: &[u8; HEADER]) -> Option<Self> {
        let word = |place: usize| {
            bytes[place..]
                .first_chunk()
                .map(|word| u32::from_le_bytes(*word))
        };
        let long = |place: usize| {
            bytes[place..]
                .first_chunk()
                .map(|word| u64::from_le_bytes(*word))
        };
        if bytes[..8] != MAGIC || bytes[8..10] != VERSION.to_le_bytes() || bytes[11] != 0 {
            return None;
        }
        let kinds = [Kind::Hello, Kind::Welcome, Kind::Data, Kind::Failure];
        let operation = &bytes[HEADER - OPERATION..];
        let end = operation.iter().position(|&byte| byte == 0);
        let (operation, padding) = operation.split_at(end.unwrap_or(OPERATION));
        let is_text = operation.iter().all(|byte| (b' '..=b'~').contains(byte));
        if !is_text || padding.iter().any(|&byte| byte != 0) {
            return None;
        }
        Some(Self {
            kind: kinds.into_iter().find(|&kind| kind as u8 == bytes[10])?,
            rank: word(12)?,
            size: word(16)?,
            about: word(20)?,
            job: long(24)?,
            number: long(32)?,
            operation: String::from_utf8(operation.to_vec()).ok()?,
        })
    }

    /// Why the work is over, if this says so.
    pub(super) fn reason(&self) -> Option<Reason> {
        use Reason::{Different, Failed, Gone, Late, NotByNccl, OtherJob, OtherSize, Twice};
        let all = [
            Gone, Late, Different, Twice, OtherSize, OtherJob, NotByNccl, Failed,
        ];
        let mut all = all.into_iter().filter(|_| self.kind == Kind::Failure);
        all.find(|&reason| reason as u64 == self.number)
    }
}

/// As much of an operation's name as a header has.
pub(super) fn cut(operation: &str) -> &str {
    let mut end = operation.len().min(OPERATION);
    while !operation.is_char_boundary(end) {
        end -= 1;
    }
    &operation[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, proptest};

    fn header() -> Header {
        Header {
            kind: Kind::Data,
            rank: 3,
            size: 4,
            about: 0,
            job: u64::MAX - 5,
            number: 1 << 40,
            operation: "columns of last_argmax_bool".to_owned(),
        }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        assert_eq!(Header::of(&header().bytes()), Some(header()));
        let long = Header {
            operation: "x".repeat(99),
            ..header()
        };
        let read = Header::of(&long.bytes()).expect("it is one");
        assert_eq!(read.operation, cut(&long.operation));
        assert_eq!(read.operation.len(), OPERATION);
    }

    #[test]
    fn each_reason_is_read_as_it_was_written() {
        for number in 0..20 {
            let failure = Header {
                kind: Kind::Failure,
                number,
                ..header()
            };
            let reason = Header::of(&failure.bytes()).and_then(|failure| failure.reason());
            assert_eq!(
                reason.map(|reason| reason as u64),
                (1..=8).contains(&number).then_some(number)
            );
        }
        assert_eq!(header().reason(), None);
    }

    #[test]
    fn what_is_not_a_header_is_none() {
        for (place, byte) in [
            (0, b'W'),
            (8, 2),
            (10, 0),
            (10, 5),
            (11, 1),
            (40, 0xff),
            (79, 1),
        ] {
            let mut bytes = header().bytes();
            bytes[place] = byte;
            assert_eq!(Header::of(&bytes), None, "{place}");
        }
        assert_eq!(Header::of(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:29617\r\nUser-Agent: somebody/1.0\r\nAccept: */*\r\n\r\n"[..HEADER].try_into().expect("it is as long")), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            bytes in prop::array::uniform32(any::<u8>()),
            is_ours: bool,
        ) {
            let mut all = [0; HEADER];
            all[..32].copy_from_slice(&bytes);
            all[48..].copy_from_slice(&bytes);
            if is_ours {
                all[..10].copy_from_slice(&header().bytes()[..10]);
            }
            if let Some(header) = Header::of(&all) {
                assert_eq!(header.bytes(), all);
            }
        }
    }
}
