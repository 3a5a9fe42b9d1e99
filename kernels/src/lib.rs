//! Under construction.
#![no_std]
pub mod catalogue;
