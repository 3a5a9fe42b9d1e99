//! The picture in ARCHITECTURE.md: crates, and the modules of each, in layers.

use std::collections::{BTreeMap, BTreeSet};

use super::circles::Neighbours;
use super::modules::Modules;
use super::workspace::Workspace;

const BEGIN: &str = "<!-- modules: begin -->\n";
const END: &str = "<!-- modules: end -->";

/// The text with the picture between its markers; `None` where it has none.
pub fn with_block(text: &str, block: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{block}{END}{after}"))
}

/// What stands between the markers: the crates first, then the modules of each where some use others.
pub fn block(workspace: &Workspace, crates: &BTreeMap<&str, Modules>) -> String {
    let graph: BTreeMap<String, BTreeSet<String>> = workspace
        .packages
        .iter()
        .map(|package| {
            let needs = package.needs().into_iter().map(str::to_owned).collect();
            (package.name.clone(), needs)
        })
        .collect();
    let mut text = String::from("The crates:\n\n```text\n");
    let mut order = Vec::new();
    let width = graph.keys().map(String::len).max().unwrap_or(0);
    for layer in layers(&graph) {
        for name in layer {
            let direct = without_detours(&graph, name).join(", ");
            let arrow = if direct.is_empty() { "" } else { "→ " };
            text += format!("{name:width$}  {arrow}{direct}").trim_end();
            text += "\n";
            order.push(name);
        }
    }
    text += "```\n\nThe modules of each, where some use others:\n\n```text\n";
    for name in order {
        let Some(modules) = crates.get(name) else {
            continue;
        };
        let graph = top_level(modules);
        let layers = layers(&graph);
        if layers.len() > 1 {
            text += name;
            text += "\n";
            for layer in &layers {
                text += &wrapped(layer);
            }
        }
    }
    text += "```\n";
    text
}

/// Who uses whom among the modules just below the root.
fn top_level(modules: &Modules) -> BTreeMap<String, BTreeSet<String>> {
    let neighbours = Neighbours::of(modules, 0);
    let children = |used: &mut dyn Iterator<Item = &usize>| {
        used.filter(|module| **module != 0)
            .map(|module| modules.name(*module))
            .collect()
    };
    neighbours
        .edges
        .iter()
        .filter(|(module, _)| **module != 0)
        .map(|(module, used)| (modules.name(*module), children(&mut used.keys())))
        .collect()
}

/// The nodes in layers: each uses those of lower layers alone, and is as low as can be. The graph has no circle.
fn layers(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<&str>> {
    let mut heights: BTreeMap<&str, usize> = BTreeMap::new();
    while heights.len() < graph.len() {
        let before = heights.len();
        for (name, used) in graph {
            let below: Option<Vec<usize>> = used
                .iter()
                .filter(|other| graph.contains_key(*other))
                .map(|other| heights.get(other.as_str()).copied())
                .collect();
            if let Some(below) = below {
                let height = below.iter().max().map_or(0, |highest| highest + 1);
                heights.entry(name).or_insert(height);
            }
        }
        if heights.len() == before {
            // A circle, which is told elsewhere; nothing on it or above it has a height.
            break;
        }
    }
    let mut layers: Vec<Vec<&str>> = Vec::new();
    for (name, height) in heights {
        if layers.len() <= height {
            layers.resize(height + 1, Vec::new());
        }
        layers[height].push(name);
    }
    layers.reverse();
    layers
}

/// Whom a node uses, but for those that it also uses by way of another.
fn without_detours<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, name: &str) -> Vec<&'a str> {
    let Some((_, used)) = graph.get_key_value(name) else {
        return Vec::new();
    };
    let mut indirect: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&String> = used.iter().collect();
    while let Some(next) = open.pop() {
        for further in graph.get(next).into_iter().flatten() {
            if indirect.insert(further) {
                open.push(further);
            }
        }
    }
    let direct = used.iter().map(String::as_str);
    direct.filter(|other| !indirect.contains(other)).collect()
}

/// The names in a line of their own, or in several.
fn wrapped(names: &[&str]) -> String {
    let mut text = String::new();
    let mut line = String::from("   ");
    for name in names {
        if line.len() + 1 + name.len() > 110 {
            text += &line;
            text += "\n";
            line = String::from("     ");
        }
        line += " ";
        line += name;
    }
    text + &line + "\n"
}
