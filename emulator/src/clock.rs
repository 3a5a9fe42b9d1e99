//! The host's clock. In a browser there is none that `std` knows: there no time passes.

use std::time::Duration;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod host {
    /// Always the same moment.
    #[derive(Clone, Copy, Debug)]
    pub struct Instant;

    impl Instant {
        pub fn now() -> Self {
            Self
        }

        pub fn elapsed(self) -> super::Duration {
            super::Duration::ZERO
        }
    }
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod host {
    pub use std::time::Instant;
}

/// A moment of the host's time.
#[derive(Clone, Copy, Debug)]
pub struct HostInstant(host::Instant);

impl HostInstant {
    /// This moment.
    pub fn now() -> Self {
        Self(host::Instant::now())
    }

    /// The time since then; zero where the host has no clock.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
