//! Circles among the modules of a crate.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use super::modules::{Modules, Use};

/// Modules that depend on one another, each on the next and the last on the first.
///
/// Modules are compared with their neighbours in the tree: a parent's own file and each of its children, a child standing for all
/// that is below it. So two folders that use each other are a circle, whichever of their files do, and so are a parent that uses its
/// child and a child that uses its parent.
#[derive(Debug)]
pub struct Circle {
    /// For each edge, the names of the two and one line by which the first uses the second.
    pub edges: Vec<(String, String, Use)>,
}

impl Circle {
    /// The modules, by name.
    fn modules(&self) -> impl Iterator<Item = &str> {
        self.edges.iter().map(|(from, _, _)| from.as_str())
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.modules().chain(self.modules().take(1)).collect();
        write!(f, "{}", names.join(" → "))?;
        for (from, to, by) in &self.edges {
            write!(f, "\n  {from} uses {to}: {}: {}", by.place, by.text)?;
        }
        Ok(())
    }
}

/// The shortest circle of each group of modules that depend on one another.
pub fn circles(modules: &Modules) -> Vec<Circle> {
    let mut all = Vec::new();
    for parent in 0..modules.list.len() {
        let graph = Neighbours::of(modules, parent);
        let mut told: BTreeSet<usize> = BTreeSet::new();
        for &start in graph.edges.keys() {
            if told.contains(&start) {
                continue;
            }
            let group = graph.group_of(start);
            let circles = group.iter().filter_map(|&one| graph.shortest_from(one));
            if let Some(circle) = circles.min_by_key(Vec::len) {
                told.extend(group);
                let edges = circle
                    .iter()
                    .zip(circle.iter().cycle().skip(1))
                    .map(|(from, to)| {
                        let by = &graph.edges[from][to];
                        (modules.name(*from), modules.name(*to), (*by).clone())
                    });
                all.push(Circle {
                    edges: edges.collect(),
                });
            }
        }
    }
    all
}

/// A module's own file and its children, and who of them uses whom.
pub struct Neighbours<'a> {
    /// For each, whom it uses and by which line.
    pub edges: BTreeMap<usize, BTreeMap<usize, &'a Use>>,
}

impl<'a> Neighbours<'a> {
    /// Those of a parent.
    pub fn of(modules: &'a Modules, parent: usize) -> Self {
        let mut edges: BTreeMap<usize, BTreeMap<usize, &Use>> = BTreeMap::new();
        for (number, module) in modules.list.iter().enumerate() {
            if module.parent == parent || number == parent {
                edges.insert(number, BTreeMap::new());
            }
        }
        for by in &modules.uses {
            let ends = (
                standing_for(modules, parent, by.from),
                standing_for(modules, parent, by.to),
            );
            if let (Some(from), Some(to)) = ends
                && from != to
                && let Some(edges) = edges.get_mut(&from)
            {
                edges.entry(to).or_insert(by);
            }
        }
        Self { edges }
    }

    /// Who can be reached from here.
    fn reachable(&self, start: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(module) = open.pop() {
            for &next in self.edges[&module].keys() {
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// Who is on a circle with it.
    fn group_of(&self, start: usize) -> BTreeSet<usize> {
        let mut group = self.reachable(start);
        group.retain(|&other| self.reachable(other).contains(&start));
        group
    }

    /// The shortest way from a module back to it.
    fn shortest_from(&self, start: usize) -> Option<Vec<usize>> {
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(module) = open.pop_front() {
            for &next in self.edges[&module].keys() {
                if next == start {
                    let mut way = vec![module];
                    while let Some(&earlier) = before.get(&way[way.len() - 1]) {
                        way.push(earlier);
                    }
                    way.reverse();
                    return Some(way);
                }
                if let Entry::Vacant(place) = before.entry(next) {
                    place.insert(module);
                    open.push_back(next);
                }
            }
        }
        None
    }
}

/// The parent itself or the child of it that a module is or is below.
fn standing_for(modules: &Modules, parent: usize, mut module: usize) -> Option<usize> {
    if module == parent {
        return Some(parent);
    }
    loop {
        let above = modules.list[module].parent;
        if above == parent {
            return Some(module);
        }
        if module == 0 {
            return None;
        }
        module = above;
    }
}
