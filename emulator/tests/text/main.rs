//! PTX as text: what is accepted, what is refused and with which words, and that no text does worse than being refused.

#[path = "../common/mod.rs"]
mod common;

mod broken;
mod directives;
mod hostile;
