//! Where diverged lanes reconverge: immediate post-dominators of the control-flow graph
//! (K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm", 2001, on the reversed graph).

use crate::code::NOWHERE;

/// Ways out of endless loops that are looked for one by one.
const SINGLE_RESTORATIONS: usize = 64;

/// What follows an instruction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Successors {
    /// Falls through to the next instruction.
    pub next: bool,
    /// Jumps.
    pub targets: Vec<u32>,
    /// May leave the function.
    pub leaves: bool,
}

/// For each instruction that ends a basic block with several successors, the first instruction that all ways from it to the end
/// of the function pass; [`NOWHERE`] where there is none. Ways that end in a trap or never end do not count, nor do those that
/// leave at once while another way goes on: who leaves is waited for by nobody.
pub(crate) fn reconvergence(successors: &[Successors]) -> Vec<u32> {
    let count = successors.len();
    let mut leader = vec![false; count + 1];
    leader[0] = true;
    for (at, successor) in successors.iter().enumerate() {
        if !successor.targets.is_empty() || !successor.next || successor.leaves {
            leader[at + 1] = true;
        }
        for &target in &successor.targets {
            leader[target as usize] = true;
        }
    }
    let starts: Vec<usize> = (0..count).filter(|&at| leader[at]).collect();
    let mut block_of = vec![0usize; count];
    for (block, &start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).copied().unwrap_or(count);
        block_of[start..end].fill(block);
    }
    // The virtual exit is node `exit`.
    let exit = starts.len();
    let mut forward: Vec<Vec<usize>> = vec![Vec::new(); exit + 1];
    let mut last_of = vec![0; exit];
    for block in 0..exit {
        let last = starts.get(block + 1).copied().unwrap_or(count) - 1;
        last_of[block] = last;
        let successor = &successors[last];
        let mut to: Vec<usize> = successor
            .targets
            .iter()
            .map(|&target| block_of[target as usize])
            .collect();
        if successor.next {
            to.push(if last + 1 < count {
                block_of[last + 1]
            } else {
                exit
            });
        }
        if successor.leaves {
            to.push(exit);
        }
        forward[block] = to;
    }
    let leaves_at_once: Vec<bool> = starts
        .iter()
        .map(|&start| {
            let first = &successors[start];
            first.leaves && !first.next && first.targets.is_empty()
        })
        .chain([true])
        .collect();
    let forward = without_early_exits(forward, &leaves_at_once);
    let backward = reversed(&forward);
    let order = postorder(&backward, exit);
    let mut number = vec![usize::MAX; exit + 1];
    for (position, &node) in order.iter().enumerate() {
        number[node] = position;
    }
    let mut dominator = vec![usize::MAX; exit + 1];
    dominator[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|&&node| node != exit) {
            let mut best = usize::MAX;
            for &next in &forward[node] {
                if dominator[next] == usize::MAX {
                    continue;
                }
                best = if best == usize::MAX {
                    next
                } else {
                    meet(best, next, &dominator, &number)
                };
            }
            if dominator[node] != best {
                dominator[node] = best;
                changed = true;
            }
        }
    }
    let mut reconverge = vec![NOWHERE; count];
    for block in 0..exit {
        let point = dominator[block];
        if point < exit {
            reconverge[last_of[block]] = starts[point] as u32;
        }
    }
    reconverge
}

/// Drops the edges of nodes that leave at once, where the node has others too and the end can still be reached over those.
fn without_early_exits(forward: Vec<Vec<usize>>, leaves_at_once: &[bool]) -> Vec<Vec<usize>> {
    let exit = forward.len() - 1;
    let mut kept = forward.clone();
    for edges in &mut kept {
        if edges.iter().any(|&to| !leaves_at_once[to]) {
            edges.retain(|&to| !leaves_at_once[to]);
        }
    }
    for attempt in 0.. {
        let mut reaches = vec![false; exit + 1];
        for node in postorder(&reversed(&kept), exit) {
            reaches[node] = true;
        }
        let lost = (0..exit)
            .rev()
            .filter(|&node| !reaches[node] && kept[node].len() < forward[node].len());
        // One way out of an endless loop is as good as all; the last is mostly the loop's own.
        let limit = if attempt < SINGLE_RESTORATIONS {
            1
        } else {
            exit
        };
        let restored: Vec<usize> = lost.take(limit).collect();
        if restored.is_empty() {
            break;
        }
        for node in restored {
            kept[node].clone_from(&forward[node]);
        }
    }
    kept
}

fn reversed(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut reversed = vec![Vec::new(); edges.len()];
    for (from, edges) in edges.iter().enumerate() {
        for &to in edges {
            reversed[to].push(from);
        }
    }
    reversed
}

fn meet(mut a: usize, mut b: usize, dominator: &[usize], number: &[usize]) -> usize {
    while a != b {
        while number[a] < number[b] {
            a = dominator[a];
        }
        while number[b] < number[a] {
            b = dominator[b];
        }
    }
    a
}

/// Nodes reachable from `root`, children first.
fn postorder(edges: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, at)) = stack.pop() {
        if let Some(&next) = edges[node].get(at) {
            stack.push((node, at + 1));
            if !seen[next] {
                seen[next] = true;
                stack.push((next, 0));
            }
        } else {
            order.push(node);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next() -> Successors {
        Successors {
            next: true,
            ..Default::default()
        }
    }
    fn branch(target: u32) -> Successors {
        Successors {
            next: true,
            targets: vec![target],
            leaves: false,
        }
    }
    fn jump(target: u32) -> Successors {
        Successors {
            next: false,
            targets: vec![target],
            leaves: false,
        }
    }
    fn leave() -> Successors {
        Successors {
            leaves: true,
            ..Default::default()
        }
    }

    #[test]
    fn if_else_reconverges_after_it() {
        // 0: if → 3; 1: then; 2: → 4; 3: else; 4: ret
        let graph = [branch(3), next(), jump(4), next(), leave()];
        assert_eq!(reconvergence(&graph)[0], 4);
    }

    #[test]
    fn a_loop_meets_at_its_exit() {
        let graph = [next(), next(), branch(1), leave()];
        assert_eq!(reconvergence(&graph)[2], 3);
    }

    #[test]
    fn two_ends_meet_nowhere_but_a_trap_does_not_count() {
        let two_ends = [branch(3), next(), leave(), next(), leave()];
        assert_eq!(reconvergence(&two_ends)[0], NOWHERE);
        let trap = [branch(3), next(), leave(), Successors::default()];
        assert_eq!(reconvergence(&trap)[0], 1);
    }

    #[test]
    fn who_returns_early_is_not_waited_for() {
        // 0: if → 3; 1: return, unless guarded away; 2: …; 3: after; 4: ret
        let guarded = Successors {
            next: true,
            leaves: true,
            ..Default::default()
        };
        let graph = [branch(3), guarded, next(), next(), leave()];
        assert_eq!(reconvergence(&graph)[0], 3);
        // The same as a branch to the one `ret` at the end.
        let graph = [branch(3), branch(4), next(), next(), leave()];
        assert_eq!(reconvergence(&graph)[0], 3);
        assert_eq!(reconvergence(&graph)[1], 2);
    }

    #[test]
    fn a_loop_that_only_a_return_ends() {
        // 0: if → 2; 1: then; 2: done? → 4; 3: → 0; 4: ret
        let graph = [branch(2), next(), branch(4), jump(0), leave()];
        assert_eq!(reconvergence(&graph)[0], 2);
        assert_eq!(reconvergence(&graph)[2], 4);
    }

    #[test]
    fn an_endless_loop_is_no_problem() {
        let graph = [branch(2), leave(), jump(2)];
        assert_eq!(reconvergence(&graph)[0], 1);
        assert_eq!(reconvergence(&[jump(0)]), [NOWHERE]);
    }
}
