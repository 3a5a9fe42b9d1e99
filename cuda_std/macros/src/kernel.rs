//! `#[kernel]`: the checks on the signature, and the two forms of the function.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericParam, Item, ItemFn, ReturnType, Safety, Signature, Type};

/// Checks `item` and writes it as an entry for the device and as an ordinary function for the host.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2(item) {
        Ok(Item::Fn(function)) => function,
        Ok(other) => {
            return Error::new_spanned(other, "`#[kernel]` goes on a function")
                .into_compile_error();
        }
        Err(error) => return error.into_compile_error(),
    };
    let checked = check_no_arguments(attribute).and_then(|()| check_signature(&function.sig));
    if let Err(error) = checked {
        return error.into_compile_error();
    }

    let copy_checks = copy_checks(&function.sig);
    let dynamic_shared = mentions(function.block.to_token_stream(), "dynamic_shared_mem")
        .then(declare_dynamic_shared_memory);
    let ItemFn {
        attrs,
        vis,
        mut sig,
        block,
        ..
    } = function;
    let statements = &block.stmts;

    sig.abi = Some(syn::parse_quote!(extern "ptx-kernel"));
    let device_sig = sig.clone();
    sig.abi = Some(syn::parse_quote!(extern "C"));
    let host_sig = sig;
    quote! {
        #dynamic_shared

        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #vis #device_sig { #copy_checks #(#statements)* }

        // Checked wherever the crate is compiled, and code only where somebody calls it.
        #[cfg(not(target_arch = "nvptx64"))]
        #[inline]
        #(#attrs)*
        #vis #host_sig { #copy_checks #(#statements)* }
    }
}

fn check_no_arguments(attribute: TokenStream) -> Result<(), Error> {
    if attribute.is_empty() {
        return Ok(());
    }
    Err(Error::new_spanned(
        attribute,
        "`#[kernel]` takes no arguments",
    ))
}

/// All faults of the signature, each as a separate error.
fn check_signature(sig: &Signature) -> Result<(), Error> {
    let mut faults: Vec<(Span, &str)> = Vec::new();
    if !matches!(sig.safety, Safety::Unsafe(_)) {
        faults.push((
            sig.fn_token.span(),
            "a kernel must be an `unsafe fn`: only the launch can promise what its pointers hold",
        ));
    }
    if let ReturnType::Type(_, returned) = &sig.output {
        faults.push((
            returned.span(),
            "a kernel cannot return a value: write the result through a pointer parameter",
        ));
    }
    for parameter in &sig.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            faults.push((
                parameter.span(),
                "a kernel cannot be generic, since nothing would export it: write one concrete kernel for each \
                 instance, all over one generic `#[inline(always)]` function",
            ));
        }
    }
    for parameter in &sig.inputs {
        match parameter {
            FnArg::Receiver(receiver) => faults.push((
                receiver.span(),
                "a kernel cannot be a method: pass what it needs as parameters",
            )),
            FnArg::Typed(typed) if matches!(*typed.ty, Type::ImplTrait(_)) => faults.push((
                typed.ty.span(),
                "a kernel cannot take `impl Trait`, since nothing would export it: name the type",
            )),
            FnArg::Typed(_) => {}
        }
    }
    if let Some(asyncness) = &sig.asyncness {
        faults.push((asyncness.span(), "a kernel cannot be `async`"));
    }
    let error = faults
        .into_iter()
        .map(|(span, message)| Error::new(span, message))
        .reduce(|mut all, next| {
            all.combine(next);
            all
        });
    error.map_or(Ok(()), Err)
}

/// Statements that compile only if every parameter's type is `Copy`.
fn copy_checks(sig: &Signature) -> TokenStream {
    let calls = sig.inputs.iter().filter_map(|parameter| match parameter {
        FnArg::Receiver(_) => None,
        FnArg::Typed(typed) => {
            let ty = &typed.ty;
            Some(quote_spanned!(ty.span()=> assert_kernel_parameter_is_copy::<#ty>();))
        }
    });
    quote! {
        #[diagnostic::on_unimplemented(
            message = "a kernel parameter must be `Copy`, and `{Self}` is not: pass a raw pointer or a plain value",
            label = "not `Copy`"
        )]
        trait KernelParameter {}
        #[diagnostic::do_not_recommend]
        impl<T: ::core::marker::Copy> KernelParameter for T {}
        #[inline(always)]
        #[allow(dead_code)]
        fn assert_kernel_parameter_is_copy<T: KernelParameter>() {}
        #(#calls)*
    }
}

/// The module-level declaration of dynamic shared memory, which `cuda_std::shared::dynamic_shared_mem` refers to.
/// PTX allows it any number of times.
fn declare_dynamic_shared_memory() -> TokenStream {
    quote! {
        #[cfg(target_arch = "nvptx64")]
        ::core::arch::global_asm!(".extern .shared .align 128 .b8 _Zcuda_std_dyn_shared[];");
    }
}

/// Whether the identifier `name` occurs anywhere in `tokens`.
fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
