//! Archives of arrays, `.npz`, which hold `NAME.npy` for each: where one lies, and its bytes as they were before they were packed.

use super::InputError;
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipLocator,
};
use std::io::{self, Read};
use std::path::Path;

/// An array of an archive.
pub(super) struct Member {
    /// Its name.
    pub name: String,
    /// The place of its first byte.
    pub start: u64,
    /// How many bytes of the archive it takes. They are there.
    pub packed: u64,
    /// How many bytes it has.
    pub length: u64,
    /// Whether it is compressed.
    pub is_deflated: bool,
    checksum: u32,
}

impl Member {
    /// Looks for the array that is asked for, or the only one, in an archive of this many bytes.
    pub(super) fn find(
        path: &Path,
        archive: impl ReaderAt,
        bytes: u64,
        asked: Option<&str>,
    ) -> Result<Self, InputError> {
        let broken = |error| broken(path, error);
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let archive = ZipLocator::new().locate_in_reader(archive, &mut buffer, bytes);
        let archive = archive.map_err(|(_, error)| broken(error))?;
        let (mut names, mut members) = (Vec::new(), Vec::new());
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(broken)? {
            if let Some(name) = entry.file_path().as_ref().strip_suffix(b".npy") {
                let name = str::from_utf8(name)
                    .map_err(|_| not_whole(path, "the name of an array in it is not UTF-8"))?;
                names.push(name.to_owned());
                let method = entry.compression_method();
                members.push((entry.wayfinder(), method, entry.flags().is_encrypted()));
            }
        }
        let chosen = match asked {
            // As for NumPy, the last one of that name.
            Some(asked) => names.iter().rposition(|name| name == asked),
            None => (names.len() == 1).then_some(0),
        };
        let Some(chosen) = chosen else {
            return Err(InputError::ArrayNotChosen {
                path: path.into(),
                names,
            });
        };
        let (name, (place, method, is_encrypted)) = (names.swap_remove(chosen), members[chosen]);
        let (packed, length) = (place.compressed_size_hint(), place.uncompressed_size_hint());
        let is_deflated = method == CompressionMethod::DEFLATE;
        let reason = if is_encrypted {
            format!("'{name}' in it is encrypted")
        } else if !is_deflated && method != CompressionMethod::STORE {
            format!(
                "'{name}' in it is packed by method {method}; save it with numpy.savez or numpy.savez_compressed"
            )
        } else if !is_deflated && packed != length {
            format!("'{name}' in it has {length} bytes, and {packed} are stored")
        } else {
            let entry = archive.get_entry(place).map_err(broken)?;
            let (start, end) = entry.compressed_data_range();
            if end <= bytes {
                return Ok(Self {
                    name,
                    start,
                    packed,
                    length,
                    is_deflated,
                    checksum: entry.reader().claim_verifier().crc,
                });
            }
            format!("'{name}' in it would end at byte {end}, and there are {bytes}")
        };
        Err(not_whole(path, reason))
    }

    /// The bytes of the array, out of those of the archive. Their check sum is looked at where they end.
    pub(super) fn unpacked<'a>(&self, packed: impl Read + Send + 'a) -> Box<dyn Read + Send + 'a> {
        let packed = packed.take(self.packed);
        if self.is_deflated {
            self.checked(DeflateDecoder::new(packed))
        } else {
            self.checked(packed)
        }
    }

    /// No more than the archive promises, however much there is.
    fn checked<'a>(&self, data: impl Read + Send + 'a) -> Box<dyn Read + Send + 'a> {
        Box::new(Checked {
            data: CrcReader::new(data.take(self.length)),
            checksum: self.checksum,
        })
    }
}

/// What is compared with its check sum at its end.
struct Checked<R> {
    data: CrcReader<R>,
    checksum: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.data.read(room)?;
        if read == 0 && !room.is_empty() && self.data.crc().sum() != self.checksum {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its check sum is another one than the archive says",
            ));
        }
        Ok(read)
    }
}

/// What is wrong with an archive.
fn broken(path: &Path, error: rawzip::Error) -> InputError {
    use io::ErrorKind::{InvalidInput, UnexpectedEof};
    match error.into_kind() {
        ErrorKind::IO(source) if matches!(source.kind(), InvalidInput | UnexpectedEof) => {
            not_whole(path, "it names a place beyond its end")
        }
        ErrorKind::IO(source) => InputError::unreadable(path, source),
        kind => not_whole(path, kind.to_string()),
    }
}

fn not_whole(path: &Path, reason: impl Into<String>) -> InputError {
    InputError::BrokenNpz {
        path: path.into(),
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::DeflateEncoder;
    use rawzip::path::EntryPath;
    use rawzip::{FileReader, ZipArchiveWriter, ZipDataWriter};
    use std::io::Write;

    const METHODS: [CompressionMethod; 2] = [CompressionMethod::STORE, CompressionMethod::DEFLATE];

    /// An archive with these bytes, half of them zeros, under each of the names.
    fn archive(names: &[&[u8]], method: CompressionMethod) -> (Vec<u8>, Vec<u8>) {
        let data: Vec<u8> = (0..100).chain([0; 100]).collect();
        let mut packed = data.clone();
        if method == CompressionMethod::DEFLATE {
            packed.clear();
            let mut encoder = DeflateEncoder::new(&*data, Compression::best());
            encoder.read_to_end(&mut packed).expect("it is memory");
        }
        let mut archive = ZipArchiveWriter::new(Vec::new());
        for name in names {
            let member = archive.new_file(EntryPath::verbatim(*name));
            let member = member.compression_method(method).start();
            let (mut member, config) = member.expect("it is memory");
            // Counts the bytes as they are, and lets none through.
            let mut counter: ZipDataWriter<_> = config.wrap(io::sink());
            counter.write_all(&data).expect("it is memory");
            member.write_all(&packed).expect("it is memory");
            let (_, counted) = counter.finish().expect("it is memory");
            member.finish(counted).expect("it is memory");
        }
        (archive.finish().expect("it is memory"), data)
    }

    /// All bytes of an array, from memory.
    fn read(archive: &[u8], asked: Option<&str>) -> Result<Vec<u8>, String> {
        let path = Path::new("it.npz");
        let member = Member::find(path, archive, archive.len() as u64, asked);
        let member = member.map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let mut unpacked = member.unpacked(&archive[member.start as usize..]);
        let read = unpacked.read_to_end(&mut bytes);
        assert!(bytes.len() as u64 <= member.length);
        read.map(|_| bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn arrays_are_found_by_their_names() {
        for method in METHODS {
            let (one, data) = archive(&[b"read.me", b"a.npy"], method);
            assert_eq!(read(&one, None), Ok(data.clone()));
            assert_eq!(read(&one, Some("a")), Ok(data.clone()));
            let (two, _) = archive(&["ä.npy".as_bytes(), b"b.npy"], method);
            assert_eq!(read(&two, Some("ä")), Ok(data));
            for asked in [None, Some("a")] {
                let message = read(&two, asked).unwrap_err();
                assert!(message.contains("has 2 arrays (ä, b)"), "{message}");
            }
        }
        let message = read(&archive(&[], METHODS[0]).0, None).unwrap_err();
        assert!(message.contains("has 0 arrays"), "{message}");
    }

    #[test]
    fn broken_archives_are_refused_with_the_reason() {
        let [stored, deflated] = METHODS.map(|method| archive(&[b"a.npy"], method).0);
        // In the directory: the flags, the method, the check sum, both sizes and the place of the member.
        for (archive, place, byte, reason) in [
            (&stored, 8, 1, "'a' in it is encrypted"),
            (&deflated, 8, 1, "'a' in it is encrypted"),
            (&stored, 10, 12, "'a' in it is packed by method 12 (BZIP2)"),
            (&stored, 10, 77, "'a' in it is packed by method 77"),
            (&stored, 16, 0x55, "its check sum is another one"),
            (&deflated, 16, 0x55, "its check sum is another one"),
            (&stored, 21, 1, "has 200 bytes, and 456 are stored"),
            (&stored, 24, 1, "has 1 bytes, and 200 are stored"),
            (&deflated, 23, 1, "'a' in it would end at byte"),
            (&deflated, 24, 1, "its check sum is another one"),
            (&stored, 43, 1, "Invalid signature"),
            (&stored, 45, 1, "it names a place beyond its end"),
        ] {
            let mut archive = archive.clone();
            let directory = archive.windows(4).rposition(|bytes| bytes == b"PK\x01\x02");
            archive[directory.expect("there is one") + place] = byte;
            let message = read(&archive, None).unwrap_err();
            assert!(message.contains(reason), "{reason}: {message}");
        }
        for archive in [&stored, &deflated] {
            for end in 0..archive.len() {
                let message = read(&archive[..end], None).unwrap_err();
                assert!(message.contains("not a whole .npz file"), "{message}");
            }
        }
        let message = read(&archive(&[b"\xff.npy"], METHODS[0]).0, None).unwrap_err();
        assert!(message.contains("is not UTF-8"), "{message}");
    }

    /// From memory and from a file, where places beyond the end are other errors.
    #[test]
    fn no_byte_of_an_archive_is_trusted() {
        let path = Path::new("it.npz");
        for method in METHODS {
            let (whole, data) = archive(&[b"a.npy"], method);
            for place in 0..whole.len() {
                for byte in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut archive = whole.clone();
                    archive[place] = byte;
                    if let Ok(bytes) = read(&archive, None) {
                        assert_eq!(bytes, data, "{method}: {byte} at {place}");
                    }
                    let mut file = tempfile::tempfile().expect("there is room");
                    file.write_all(&archive).expect("there is room");
                    let file = FileReader::from(file);
                    match Member::find(path, &file, archive.len() as u64, None) {
                        Ok(member) => assert!(member.start + member.packed <= archive.len() as u64),
                        Err(error) => {
                            assert!(!error.to_string().contains("cannot read"), "{error}")
                        }
                    }
                }
            }
        }
    }
}
