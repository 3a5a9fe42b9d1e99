//! What a build gives.

/// A generated file: its path relative to the repository, and its text with header.
pub struct Generated {
    pub file: String,
    pub text: String,
}
