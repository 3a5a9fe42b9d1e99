//! Which grid may begin when.

use std::collections::{HashMap, VecDeque};

use super::child::{Child, Stream};

/// Grids on their way: which may begin, and which wait for others to be complete. A grid is complete when its blocks have finished
/// and all grids that it has launched are complete.
#[derive(Debug, Default)]
pub(in crate::simt) struct Order {
    unfinished: HashMap<u64, Grid>,
    ready: Vec<Child>,
}

#[derive(Debug, Default)]
struct Grid {
    /// Grid and block that launched it, and into which stream; the first has none.
    origin: Option<(u64, [u32; 3], Stream)>,
    /// Whether its blocks have finished.
    is_over: bool,
    /// Those that it has launched, may have begun, and are not complete.
    open: usize,
    /// For each block that has an incomplete grid in its own stream: what comes after that one.
    streams: HashMap<[u32; 3], VecDeque<Child>>,
    tails: VecDeque<Child>,
}

impl Order {
    /// The order of what comes of a grid that runs already, by its number.
    pub fn of(root: u64) -> Self {
        Self {
            unfinished: HashMap::from([(root, Grid::default())]),
            ready: Vec::new(),
        }
    }

    /// Takes in what one or more blocks have launched.
    pub fn launch(&mut self, children: Vec<Child>) {
        for child in children {
            let parent = self.unfinished.entry(child.parent).or_default();
            match child.stream {
                Stream::Tail => {
                    parent.tails.push_back(child);
                    continue;
                }
                Stream::OfBlock => {
                    parent.open += 1;
                    if let Some(queue) = parent.streams.get_mut(&child.block) {
                        queue.push_back(child);
                        continue;
                    }
                    parent.streams.insert(child.block, VecDeque::new());
                }
                Stream::Detached => parent.open += 1,
            }
            self.make_ready(child);
        }
    }

    fn make_ready(&mut self, child: Child) {
        let grid = Grid {
            origin: Some((child.parent, child.block, child.stream)),
            ..Grid::default()
        };
        self.unfinished.insert(child.number(), grid);
        self.ready.push(child);
    }

    /// How many grids may begin.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Takes out all grids that may begin.
    pub fn take_all(&mut self) -> Vec<Child> {
        std::mem::take(&mut self.ready)
    }

    /// Takes out one of them.
    pub fn take(&mut self, index: usize) -> Child {
        self.ready.remove(index)
    }

    /// All blocks of a grid have finished.
    pub fn finish(&mut self, mut number: u64) {
        if let Some(grid) = self.unfinished.get_mut(&number) {
            grid.is_over = true;
        }
        // Who is complete may complete the one that launched it, and so on.
        while let Some(grid) = self.unfinished.get_mut(&number) {
            if !grid.is_over || grid.open != 0 {
                return;
            }
            if let Some(mut tail) = grid.tails.pop_front() {
                grid.open = 1;
                tail.after.push(number);
                self.make_ready(tail);
                return;
            }
            let origin = grid.origin;
            self.unfinished.remove(&number);
            let Some((parent, block, stream)) = origin else {
                return;
            };
            if let Some(grid) = self.unfinished.get_mut(&parent) {
                grid.open -= 1;
                let queue = match stream {
                    Stream::OfBlock => grid.streams.get_mut(&block),
                    Stream::Detached | Stream::Tail => None,
                };
                match queue.map(VecDeque::pop_front) {
                    Some(Some(mut next)) => {
                        next.after.push(number);
                        self.make_ready(next);
                    }
                    Some(None) => {
                        grid.streams.remove(&block);
                    }
                    None => {}
                }
            }
            number = parent;
        }
    }
}
