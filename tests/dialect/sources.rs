//! Which files are compiled for the device.

use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::Item;

/// The file of a crate's root and of each of its modules, but for those that only a host or a test has.
pub fn device_files(root: &Path) -> Vec<PathBuf> {
    let folder = root.parent().expect("a file is in a folder");
    let mut files = Vec::new();
    collect(root, folder, &mut files);
    files
}

fn collect(file: &Path, folder_of_children: &Path, files: &mut Vec<PathBuf>) {
    files.push(file.to_owned());
    let source = read(file);
    let parsed = syn::parse_file(&source)
        .unwrap_or_else(|error| panic!("{} is no Rust: {error}", file.display()));
    for item in parsed.items {
        let Item::Mod(module) = item else { continue };
        let is_host_only = module.attrs.iter().any(|attribute| {
            let attribute = attribute.to_token_stream().to_string().replace(' ', "");
            ["#[cfg(test)]", "#[cfg(not(target_arch=\"nvptx64\"))]"].contains(&attribute.as_str())
        });
        if module.content.is_some() || is_host_only {
            continue;
        }
        let name = module.ident.to_string();
        let inner_folder = folder_of_children.join(&name);
        let in_folder = inner_folder.join("mod.rs");
        if in_folder.is_file() {
            collect(&in_folder, &inner_folder, files);
        } else {
            let beside = folder_of_children.join(format!("{name}.rs"));
            collect(&beside, &inner_folder, files);
        }
    }
}

/// The text of a source file.
pub fn read(file: &Path) -> String {
    fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()))
}
