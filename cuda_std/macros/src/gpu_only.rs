//! `#[gpu_only]`: one function for the device, one that panics for the host.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

/// Writes both forms of the function in `item`.
pub fn expand(item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item) {
        Ok(function) => function,
        Err(error) => return error.into_compile_error(),
    };
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = &function;
    let name = &sig.ident;
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)* #vis #sig #block

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables)]
        #(#attrs)* #vis #sig {
            ::core::panic!(::core::concat!(
                "`", ::core::module_path!(), "::", ::core::stringify!(#name),
                "` runs only in a kernel on the device, and this is the host"
            ))
        }
    }
}
