//! The modules of a crate and what each names of the others, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Expr, ExprLit, Item, ItemMod, ItemUse, Lit, Meta, UseTree, Visibility};

use super::error::ArchitectureError;
use crate::failure::io;

/// The modules of a crate that have a file each, and who depends on whom.
///
/// A module depends on those that it names in a path: in a `use`, in code or in a macro. A path leads to where the name is defined:
/// `crate::a::b::Thing` to `a::b`, and so does `crate::a::Thing` where `a` has a `use b::Thing`. What is passed on by `pub use` and not
/// used in the file itself, and a `mod` declaration, make no dependency, nor does the `super` of `pub(in super::super)`. Modules
/// inside a file belong to the file, and what is compiled for tests alone is left out.
pub struct Modules {
    /// The root first, and each module after its parent.
    pub list: Vec<SourceModule>,
    /// In the order of files and lines, one for each pair of modules: the first.
    pub uses: Vec<Use>,
}

/// A module with a file of its own.
pub struct SourceModule {
    /// Its names from the root of the crate on; the root has none.
    pub path: Vec<String>,
    /// Its place in the list of its parent; the root is its own.
    pub parent: usize,
}

/// One module names another.
#[derive(Clone, Debug)]
pub struct Use {
    /// Who names, as a place in the list of modules.
    pub from: usize,
    /// Who is named.
    pub to: usize,
    /// File and line.
    pub place: String,
    /// The line.
    pub text: String,
}

impl Modules {
    /// Reads the files of the crate with this root. Places are told from the folder on.
    ///
    /// # Errors
    /// A file that cannot be read, or is no Rust.
    pub fn read(root: &Path, folder: &Path) -> Result<Self, ArchitectureError> {
        let mut reader = Reader {
            folder,
            nodes: Vec::new(),
        };
        let children = root.parent().unwrap_or(folder).to_owned();
        reader.file(root, &children, None)?;
        Ok(reader.finish())
    }

    /// How a sentence names a module.
    pub fn name(&self, module: usize) -> String {
        match &self.list[module].path[..] {
            [] => "the root".to_owned(),
            path => path.join("::"),
        }
    }
}

/// A module with or without a file of its own.
struct Node {
    path: Vec<String>,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The one with a file that it stands in.
    in_file: usize,
    file: String,
    lines: Vec<String>,
    /// What `use` brings into it: the name here and the path.
    imports: BTreeMap<String, Vec<String>>,
    /// What it passes on: the name here and the path.
    passed_on: Vec<(String, Named)>,
    /// All but what it passes on.
    tokens: TokenStream,
}

struct Reader<'a> {
    folder: &'a Path,
    nodes: Vec<Node>,
}

impl Reader<'_> {
    /// Reads a file and those of the modules that it declares.
    fn file(
        &mut self,
        file: &Path,
        folder_of_children: &Path,
        declared: Option<(usize, String)>,
    ) -> Result<(), ArchitectureError> {
        let shown = file.strip_prefix(self.folder).unwrap_or(file).display();
        let shown = shown.to_string();
        let text = fs::read_to_string(file).map_err(io(format!("read {shown}")))?;
        let parsed = syn::parse_file(&text).map_err(|source| ArchitectureError::NoRust {
            file: shown.clone(),
            source,
        })?;
        let lines = text.lines().map(str::to_owned).collect();
        let node = self.node(declared, None, shown, lines);
        self.items(node, &parsed.items, file, folder_of_children)
    }

    fn node(
        &mut self,
        declared: Option<(usize, String)>,
        in_file: Option<usize>,
        file: String,
        lines: Vec<String>,
    ) -> usize {
        let number = self.nodes.len();
        let mut path = Vec::new();
        if let Some((parent, name)) = &declared {
            path.clone_from(&self.nodes[*parent].path);
            path.push(name.clone());
            self.nodes[*parent].children.insert(name.clone(), number);
        }
        self.nodes.push(Node {
            path,
            parent: declared.map(|(parent, _)| parent),
            children: BTreeMap::new(),
            in_file: in_file.unwrap_or(number),
            file,
            lines,
            imports: BTreeMap::new(),
            passed_on: Vec::new(),
            tokens: TokenStream::new(),
        });
        number
    }

    fn items(
        &mut self,
        node: usize,
        items: &[Item],
        file: &Path,
        folder_of_children: &Path,
    ) -> Result<(), ArchitectureError> {
        for item in items {
            match item {
                Item::Mod(module) if is_for_tests(&module.attrs) => {}
                Item::Mod(module) => self.module(node, module, file, folder_of_children)?,
                Item::Use(item) if is_for_tests(&item.attrs) => {}
                Item::Use(item) => self.import(node, item),
                Item::Fn(item) if is_for_tests(&item.attrs) => {}
                Item::Impl(item) if is_for_tests(&item.attrs) => {}
                item => item.to_tokens(&mut self.nodes[node].tokens),
            }
        }
        Ok(())
    }

    fn import(&mut self, node: usize, item: &ItemUse) {
        let mut imported = Vec::new();
        imports(&item.tree, &mut Vec::new(), &mut imported);
        let node = &mut self.nodes[node];
        let is_private = matches!(item.vis, Visibility::Inherited);
        for (name, path) in imported {
            if !is_private && name != "*" {
                node.passed_on.push((name.clone(), path.clone()));
            }
            node.imports.insert(name, path.names);
        }
        if is_private || node.imports.remove("*").is_some() {
            item.to_tokens(&mut node.tokens);
        }
    }

    fn module(
        &mut self,
        node: usize,
        module: &ItemMod,
        file: &Path,
        folder_of_children: &Path,
    ) -> Result<(), ArchitectureError> {
        let name = module.ident.to_string();
        let own_folder = folder_of_children.join(&name);
        let declared = Some((node, name.clone()));
        if let Some((_, items)) = &module.content {
            let parent = &self.nodes[node];
            let (in_file, shown, lines) =
                (parent.in_file, parent.file.clone(), parent.lines.clone());
            let inner = self.node(declared, Some(in_file), shown, lines);
            return self.items(inner, items, file, &own_folder);
        }
        if let Some(path) = path_attribute(&module.attrs) {
            let file = without_dots(&file.parent().unwrap_or(self.folder).join(path));
            let folder = file.parent().unwrap_or(self.folder).to_owned();
            return self.file(&file, &folder, declared);
        }
        let in_folder = own_folder.join("mod.rs");
        if in_folder.is_file() {
            self.file(&in_folder, &own_folder, declared)
        } else {
            let beside = folder_of_children.join(format!("{name}.rs"));
            self.file(&beside, &own_folder, declared)
        }
    }

    fn finish(self) -> Modules {
        let nodes = self.nodes;
        let mut places = vec![0; nodes.len()];
        let mut list: Vec<SourceModule> = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            if node.in_file == number {
                places[number] = list.len();
                let parent = node.parent.map_or(0, |parent| places[parent]);
                let path = node.path.clone();
                list.push(SourceModule { path, parent });
            } else {
                places[number] = places[node.in_file];
            }
        }
        let mut uses: Vec<Use> = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            let mut paths = Vec::new();
            collect_paths(node.tokens.clone(), &mut paths);
            let mut words = BTreeSet::new();
            collect_words(node.tokens.clone(), &mut words);
            let used_here = node
                .passed_on
                .iter()
                .filter(|(name, _)| words.contains(name));
            paths.extend(used_here.map(|(_, path)| path.clone()));
            for path in paths {
                let Some(to) = resolve(&nodes, number, &path.names, MOST_STEPS) else {
                    continue;
                };
                let (from, to) = (places[number], places[to]);
                if from != to
                    && !uses
                        .iter()
                        .any(|other| (other.from, other.to) == (from, to))
                {
                    let text = node.lines.get(path.line - 1);
                    uses.push(Use {
                        from,
                        to,
                        place: format!("{}:{}", node.file, path.line),
                        text: text.map(|line| line.trim().to_owned()).unwrap_or_default(),
                    });
                }
            }
        }
        Modules { list, uses }
    }
}

/// Whether only tests have it.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition = list.tokens.to_string().replace(' ', "");
        list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
    })
}

/// The file that `#[path = "…"]` names.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(path),
                ..
            }) if pair.path.is_ident("path") => Some(path.value()),
            _ => None,
        }
    })
}

/// The path with each `folder/..` taken out.
fn without_dots(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        if part.as_os_str() == ".." {
            short.pop();
        } else {
            short.push(part);
        }
    }
    short
}

/// A path of a source file.
#[derive(Clone)]
struct Named {
    names: Vec<String>,
    line: usize,
}

/// Finds all paths of at least two names or with a `*`, and each path of a group such as `use a::{b, c::d}`.
fn collect_paths(tokens: TokenStream, paths: &mut Vec<Named>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            // `pub(in crate::a)` says who may see, not what is used.
            TokenTree::Ident(name) if name == "pub" => {
                at += 1;
                let is_group = matches!(tokens.get(at), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis && starts_visibility(group.stream()));
                at += usize::from(is_group);
            }
            TokenTree::Ident(_) => at = path_at(&tokens, at, &[], paths),
            TokenTree::Group(group) => {
                collect_paths(group.stream(), paths);
                at += 1;
            }
            // The names after `::` at the start belong to other crates.
            _ if is_colons(&tokens, at) => {
                at += 2;
                while matches!(tokens.get(at), Some(TokenTree::Ident(_))) {
                    at += if is_colons(&tokens, at + 1) { 3 } else { 1 };
                }
            }
            _ => at += 1,
        }
    }
}

fn starts_visibility(tokens: TokenStream) -> bool {
    tokens
        .into_iter()
        .next()
        .is_some_and(|token| ["crate", "self", "super", "in"].contains(&token.to_string().as_str()))
}

/// Reads the path that begins here, after a prefix, and says where it ends.
fn path_at(tokens: &[TokenTree], start: usize, prefix: &[String], paths: &mut Vec<Named>) -> usize {
    let line = tokens[start].span().start().line;
    let mut names = prefix.to_vec();
    let mut at = start;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => {
                names.push(name.to_string());
                at += 1;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut place = 0;
                while place < inner.len() {
                    place = path_at(&inner, place, &names, paths).max(place + 1);
                }
                return at + 1;
            }
            // `*`, or the `<` of `a::<T>`.
            _ => break,
        }
        if !is_colons(tokens, at) {
            break;
        }
        at += 2;
    }
    let is_glob = matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == '*');
    if names.len() > 1 || is_glob && at > start + 1 {
        paths.push(Named { names, line });
    }
    at.max(start + 1)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    is_colon(at) && is_colon(at + 1)
}

/// Where the names of a `use` come from: the name here, and the path; `*` for all of a module.
fn imports(tree: &UseTree, prefix: &mut Vec<String>, imported: &mut Vec<(String, Named)>) {
    let mut import = |name: &Ident, shown: &Ident, prefix: &[String]| {
        let mut names = prefix.to_vec();
        if name != "self" {
            names.push(name.to_string());
        }
        let line = name.span().start().line;
        let shown = match shown == "self" {
            true => names.last().cloned().unwrap_or_default(),
            false => shown.to_string(),
        };
        imported.push((shown, Named { names, line }));
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            imports(&path.tree, prefix, imported);
            prefix.pop();
        }
        UseTree::Name(name) => import(&name.ident, &name.ident, prefix),
        UseTree::Rename(rename) => import(&rename.ident, &rename.rename, prefix),
        UseTree::Glob(star) => imported.push((
            "*".to_owned(),
            Named {
                names: prefix.clone(),
                line: star.star_token.spans[0].start().line,
            },
        )),
        UseTree::Group(group) => {
            for tree in &group.items {
                imports(tree, prefix, imported);
            }
        }
    }
}

/// All identifiers.
fn collect_words(tokens: TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                words.insert(name.to_string());
            }
            TokenTree::Group(group) => collect_words(group.stream(), words),
            _ => {}
        }
    }
}

/// `use` leads to `use` at most so often.
const MOST_STEPS: u32 = 8;

/// The module that defines what a path names; `None` for one of another crate.
fn resolve(nodes: &[Node], from: usize, names: &[String], most_steps: u32) -> Option<usize> {
    let mut node = match names.first()?.as_str() {
        "crate" => 0,
        "self" => from,
        "super" => nodes[from].parent?,
        child => *nodes[from].children.get(child)?,
    };
    for (place, name) in names.iter().enumerate().skip(1) {
        if name == "super" {
            node = nodes[node].parent?;
        } else if let Some(child) = nodes[node].children.get(name) {
            node = *child;
        } else if let Some(path) = nodes[node].imports.get(name)
            && most_steps > 0
        {
            let mut path = path.clone();
            path.extend_from_slice(&names[place + 1..]);
            return resolve(nodes, node, &path, most_steps - 1);
        } else {
            break;
        }
    }
    Some(node)
}
