#![doc = include_str!("../README.md")]

mod gpu_only;
mod kernel;

use proc_macro::TokenStream;

/// Makes a function a kernel: an entry of the compiled module, under its own name, that a host can launch.
///
/// The function must be `unsafe` (only the code that launches it can guarantee what its pointers point to), return nothing,
/// take [`Copy`] parameters, and have no type or const parameters. Each is checked when it is compiled.
///
/// On the device the function gets the `ptx-kernel` calling convention, so the crate needs
/// `#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]`. On the host it stays an ordinary function, which
/// lets editors check it; its calls to the device API panic there.
///
/// A kernel that calls `shared::dynamic_shared_mem` must do so in its own body, because the declaration of that memory is
/// written beside the kernel. Such a crate needs the feature `asm_experimental_arch` too.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attribute.into(), item.into()).into()
}

/// Compiles a function for the device only; on the host a function of the same signature takes its place and
/// panics, naming the function that was called and where it may be called.
#[proc_macro_attribute]
pub fn gpu_only(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(item.into()).into()
}

/// Always a compile error: rustc's own backend cannot place a `static` in a memory space of the device.
///
/// rust-cuda's attribute of this name can. It exists here so that code written for it fails with the reason and the
/// way out (`cuda_std::shared::dynamic_shared_mem`) instead of with an unknown attribute.
#[proc_macro_attribute]
pub fn address_space(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    let error = syn::Error::new_spanned(
        proc_macro2::TokenStream::from(item),
        "rustc's own backend cannot place a static in an address space of the device: \
         take the memory from `cuda_std::shared::dynamic_shared_mem` instead",
    );
    error.into_compile_error().into()
}
