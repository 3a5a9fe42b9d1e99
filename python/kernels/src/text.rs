//! The text.

use std::io::Read;
use std::string::String;
use std::sync::OnceLock;

use ruzstd::decoding::StreamingDecoder;

/// The PTX, for `sm_70` and later. It is kept after the first call, which takes milliseconds.
pub fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = String::new();
        StreamingDecoder::new(&include_bytes!("../ptx/python.sm_70.ptx.zst")[..])
            .expect("the file begins as Zstandard does")
            .read_to_string(&mut text)
            .expect("the file is whole");
        text
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_text_has_its_kernels() {
        let text = super::text();
        for name in ["pack_8", "narrow_bf16"] {
            assert!(text.contains(&std::format!(".entry {name}(")), "{name}");
        }
    }
}
