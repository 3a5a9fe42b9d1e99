//! What a crate exports, read from its sources: modules, functions, types with their public members, constants,
//! re-exports. Trait implementations are left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, Fields, ImplItem, Item, ItemMod, Lit, Meta, Signature, TraitItem, UseTree,
    Visibility,
};

use crate::list::{Export, spaced};

/// The words at the beginning of an addition's documentation.
pub const MARK: &str = "*Addition to rust-cuda's API:*";

/// Something exported, and whether its documentation, or that of the type or module it is a member of, has the mark.
#[derive(Debug)]
pub struct Found {
    /// The module and the signature.
    pub export: Export,
    /// Whether it is marked as an addition.
    pub is_marked: bool,
}

/// What the crate exports whose root is the file `lib.rs` of the folder.
pub fn of_crate(name: &str, source_folder: &Path) -> Vec<Found> {
    let root = SourceModule::read(&source_folder.join("lib.rs"), source_folder);
    Exports::of(name, &root)
}

/// What a crate of this one file exports.
pub fn of_source(name: &str, source: &str) -> Vec<Found> {
    let file = syn::parse_file(source).expect("the source is Rust");
    Exports::of(name, &SourceModule::new(file, None))
}

/// A module with what stands in it.
struct SourceModule {
    is_marked: bool,
    items: Vec<Item>,
    children: BTreeMap<String, SourceModule>,
}

impl SourceModule {
    fn read(file: &Path, folder_of_children: &Path) -> Self {
        let source = fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
        let parsed = syn::parse_file(&source)
            .unwrap_or_else(|error| panic!("{} is no Rust: {error}", file.display()));
        Self::new(parsed, Some(folder_of_children))
    }

    fn new(file: syn::File, folder: Option<&Path>) -> Self {
        let is_marked = is_marked(&file.attrs);
        Self::of_items(is_marked, file.items, folder)
    }

    fn of_items(is_marked: bool, items: Vec<Item>, folder: Option<&Path>) -> Self {
        let items: Vec<Item> = items
            .into_iter()
            .flat_map(expanded)
            .filter(|item| !is_test(item))
            .collect();
        let children = items
            .iter()
            .filter_map(|item| match item {
                Item::Mod(module) => Some((module.ident.to_string(), Self::child(module, folder))),
                _ => None,
            })
            .collect();
        Self {
            is_marked,
            items,
            children,
        }
    }

    fn child(module: &ItemMod, folder: Option<&Path>) -> Self {
        let name = module.ident.to_string();
        let inner_folder = folder.map(|folder| folder.join(&name));
        let mut child = match (&module.content, folder, &inner_folder) {
            (Some((_, items)), _, _) => {
                Self::of_items(false, items.clone(), inner_folder.as_deref())
            }
            (None, Some(folder), Some(inner)) => {
                let in_folder = inner.join("mod.rs");
                let file = if in_folder.is_file() {
                    in_folder
                } else {
                    folder.join(format!("{name}.rs"))
                };
                Self::read(&file, inner)
            }
            _ => panic!("the module `{name}` is in another file"),
        };
        child.is_marked |= is_marked(&module.attrs);
        child
    }
}

/// An invocation of a macro of our own whose arguments read like items stands for those items.
fn expanded(item: Item) -> Vec<Item> {
    match &item {
        Item::Macro(invocation) if invocation.ident.is_none() => {
            syn::parse2::<syn::File>(invocation.mac.tokens.clone())
                .map(|file| file.items)
                .unwrap_or_default()
        }
        _ => vec![item],
    }
}

fn is_test(item: &Item) -> bool {
    let Item::Mod(module) = item else {
        return false;
    };
    module
        .attrs
        .iter()
        .any(|attribute| attribute.to_token_stream().to_string().replace(' ', "") == "#[cfg(test)]")
}

fn is_marked(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        matches!(&attribute.meta, Meta::NameValue(pair)
            if pair.path.is_ident("doc")
                && matches!(&pair.value, Expr::Lit(literal)
                    if matches!(&literal.lit, Lit::Str(text) if text.value().trim().starts_with(MARK))))
    })
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The exports found so far.
struct Exports<'crate_> {
    root: &'crate_ SourceModule,
    found: Vec<Found>,
    /// Name and place of each exported type, and whether it is marked: for its inherent functions.
    types: Vec<(String, String, bool)>,
}

impl<'crate_> Exports<'crate_> {
    fn of(name: &str, root: &'crate_ SourceModule) -> Vec<Found> {
        let mut exports = Self {
            root,
            found: Vec::new(),
            types: Vec::new(),
        };
        exports.add_module(name, root, false);
        exports.add_inherent_functions(root);
        exports.found
    }

    fn add(&mut self, module: &str, signature: impl ToTokens, is_marked: bool) {
        self.found.push(Found {
            export: Export {
                module: module.to_owned(),
                signature: spaced(signature.to_token_stream()),
            },
            is_marked,
        });
    }

    fn add_module(&mut self, path: &str, module: &SourceModule, is_marked: bool) {
        let is_marked = is_marked || module.is_marked;
        for item in &module.items {
            match item {
                Item::Mod(child) if is_public(&child.vis) => {
                    let name = &child.ident;
                    let inner = &module.children[&name.to_string()];
                    self.add(path, quote!(pub mod #name), is_marked || inner.is_marked);
                    self.add_module(&format!("{path}::{name}"), inner, is_marked);
                }
                Item::Use(reexport) if is_public(&reexport.vis) => {
                    self.add_reexport(path, Some(module), &reexport.tree, is_marked);
                }
                item => self.add_item(path, item, is_marked),
            }
        }
    }

    /// A definition behind a private module counts where it is re-exported; anything else is a second name for something
    /// that is found elsewhere. `module` is where the tree's names are looked up, if it is one of the crate's.
    fn add_reexport(
        &mut self,
        path: &str,
        module: Option<&SourceModule>,
        tree: &UseTree,
        is_marked: bool,
    ) {
        match tree {
            UseTree::Path(step) => {
                let inner = match &*step.tree {
                    // Behind a path from the root may stand a private module; a name of the root itself is public there.
                    UseTree::Path(_) if step.ident == "crate" => Some(self.root),
                    _ => module.and_then(|module| module.children.get(&step.ident.to_string())),
                };
                self.add_reexport(path, inner, &step.tree, is_marked);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_reexport(path, module, tree, is_marked);
                }
            }
            UseTree::Name(name) => match module {
                Some(module) => self.add_named(path, module, &name.ident, is_marked),
                None => {
                    let name = &name.ident;
                    self.add(path, quote!(pub use #name), is_marked);
                }
            },
            UseTree::Rename(_) | UseTree::Glob(_) => {
                panic!("{path}: re-export the name itself, so that this list can follow it")
            }
        }
    }

    /// What `name` means in a private module: a definition there, or one that the module itself re-exports.
    fn add_named(&mut self, path: &str, module: &SourceModule, name: &syn::Ident, is_marked: bool) {
        let is_marked = is_marked || module.is_marked;
        for item in &module.items {
            match item {
                Item::Use(inner) if is_public(&inner.vis) => {
                    if let Some(tree) = only(&inner.tree, name) {
                        self.add_reexport(path, Some(module), &tree, is_marked);
                    }
                }
                item if defined_name(item) == Some(name) => self.add_item(path, item, is_marked),
                _ => {}
            }
        }
    }

    fn add_item(&mut self, path: &str, item: &Item, is_marked: bool) {
        match item {
            Item::Fn(function) if is_public(&function.vis) => {
                let signature = plain(&function.sig);
                let is_marked = is_marked || self::is_marked(&function.attrs);
                self.add(path, quote!(pub #signature), is_marked);
            }
            Item::Const(constant) if is_public(&constant.vis) => {
                let (name, ty) = (&constant.ident, &constant.ty);
                let is_marked = is_marked || self::is_marked(&constant.attrs);
                self.add(path, quote!(pub const #name: #ty), is_marked);
            }
            Item::Enum(enumeration) if is_public(&enumeration.vis) => {
                let name = &enumeration.ident;
                let is_marked = is_marked || self::is_marked(&enumeration.attrs);
                self.add(path, quote!(pub enum #name), is_marked);
                self.types
                    .push((name.to_string(), path.to_owned(), is_marked));
                for variant in &enumeration.variants {
                    let (case, fields) = (&variant.ident, types_of(&variant.fields));
                    let is_marked = is_marked || self::is_marked(&variant.attrs);
                    self.add(path, quote!(#name::#case #fields), is_marked);
                }
            }
            Item::Struct(structure) if is_public(&structure.vis) => {
                let (name, generics) = (&structure.ident, &structure.generics);
                let is_marked = is_marked || self::is_marked(&structure.attrs);
                self.add(path, quote!(pub struct #name #generics), is_marked);
                self.types
                    .push((name.to_string(), path.to_owned(), is_marked));
                for field in structure
                    .fields
                    .iter()
                    .filter(|field| is_public(&field.vis))
                {
                    let (field_name, ty) = (&field.ident, &field.ty);
                    let is_marked = is_marked || self::is_marked(&field.attrs);
                    self.add(path, quote!(#name::#field_name: #ty), is_marked);
                }
            }
            Item::Trait(definition) if is_public(&definition.vis) => {
                let (name, supertraits) = (&definition.ident, &definition.supertraits);
                let is_marked = is_marked || self::is_marked(&definition.attrs);
                self.add(path, quote!(pub trait #name: #supertraits), is_marked);
                for member in &definition.items {
                    let TraitItem::Fn(function) = member else {
                        panic!("{path}: a member of `{name}` that this list does not know");
                    };
                    let signature = plain(&function.sig);
                    self.add(path, quote!(#name::#signature), is_marked);
                }
            }
            Item::Static(_) | Item::Type(_) | Item::Union(_) | Item::TraitAlias(_) => {
                panic!(
                    "{path}: an item that this list does not know: {}",
                    item.to_token_stream()
                )
            }
            _ => {}
        }
    }

    fn add_inherent_functions(&mut self, module: &SourceModule) {
        for item in &module.items {
            let Item::Impl(block) = item else { continue };
            if block.trait_.is_some() {
                continue;
            }
            let owner = block.self_ty.to_token_stream().to_string();
            let Some((name, path, is_marked)) =
                self.types.iter().find(|(name, ..)| *name == owner).cloned()
            else {
                continue;
            };
            let name = syn::Ident::new(&name, proc_macro2::Span::call_site());
            for member in &block.items {
                match member {
                    ImplItem::Fn(function) if is_public(&function.vis) => {
                        let signature = plain(&function.sig);
                        let is_marked = is_marked || self::is_marked(&function.attrs);
                        self.add(&path, quote!(#name::#signature), is_marked);
                    }
                    ImplItem::Const(constant) if is_public(&constant.vis) => {
                        let (constant_name, ty) = (&constant.ident, &constant.ty);
                        let is_marked = is_marked || self::is_marked(&constant.attrs);
                        self.add(&path, quote!(#name::#constant_name: #ty), is_marked);
                    }
                    _ => {}
                }
            }
        }
        for child in module.children.values() {
            self.add_inherent_functions(child);
        }
    }
}

fn defined_name(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Fn(function) => Some(&function.sig.ident),
        Item::Const(constant) => Some(&constant.ident),
        Item::Enum(enumeration) => Some(&enumeration.ident),
        Item::Struct(structure) => Some(&structure.ident),
        Item::Trait(definition) => Some(&definition.ident),
        _ => None,
    }
}

/// The part of the tree that imports this name.
fn only(tree: &UseTree, name: &syn::Ident) -> Option<UseTree> {
    match tree {
        UseTree::Path(step) => {
            let mut step = step.clone();
            *step.tree = only(&step.tree, name)?;
            Some(UseTree::Path(step))
        }
        UseTree::Group(group) => group.items.iter().find_map(|tree| only(tree, name)),
        UseTree::Name(used) => (used.ident == *name).then(|| tree.clone()),
        _ => None,
    }
}

/// The signature as a caller sees it: without `mut` on `self`, without a trailing comma.
fn plain(signature: &Signature) -> Signature {
    let mut signature = signature.clone();
    if let Some(syn::FnArg::Receiver(receiver)) = signature.inputs.first_mut() {
        receiver.mutability = None;
    }
    without_trailing_comma(&mut signature.inputs);
    signature
}

/// The types of a variant's fields, without their documentation.
fn types_of(fields: &Fields) -> Fields {
    let mut fields = fields.clone();
    match &mut fields {
        Fields::Named(named) => without_trailing_comma(&mut named.named),
        Fields::Unnamed(unnamed) => without_trailing_comma(&mut unnamed.unnamed),
        Fields::Unit => {}
    }
    for field in &mut fields {
        field.attrs.clear();
    }
    fields
}

fn without_trailing_comma<T, P>(list: &mut Punctuated<T, P>) {
    if list.trailing_punct() {
        list.pop_punct();
    }
}
