//! Nothing: this package is its test.
