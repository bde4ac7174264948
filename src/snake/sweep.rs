//! Finds edges of a polygon that meet, in O(n log n), by the sweep of Shamos and Hoey ("Geometric intersection problems",
//! 1976), which stops at the first pair.
//!
//! A vertical line sweeps over the nodes from left to right. Nodes with the same x are met from above, as if the line were
//! slightly tilted, so no edge is parallel to it. The edges that the line crosses are kept in their order along it, and
//! each pair that becomes adjacent is tested. This is sufficient: of the edges that meet at the leftmost common point, two
//! are adjacent just before it, or become adjacent when an edge begins there. All arithmetic is on exact integers.

use super::polygon::{Node, intersect, side};
use crate::error::Result;
use crate::memory::{reserved, zeroed};
use std::cmp::Ordering;

/// The order in which the line meets nodes.
fn key(node: Node) -> (i32, i32) {
    (node.x, node.y)
}

/// Returns two edges of the polygon that cross or touch, other than neighbours at their shared node; `None` if there are
/// none. No edge may be without length, and no two successive edges may overlap.
pub(super) fn crossing(nodes: &[Node]) -> Result<Option<(usize, usize)>> {
    let count = nodes.len();
    let mut order: Vec<u32> = reserved(count)?;
    order.extend(0..count as u32);
    order.sort_unstable_by_key(|index| key(nodes[*index as usize]));
    // 1. Look for two equal nodes.
    let same = order.windows(2).find(|pair| nodes[pair[0] as usize] == nodes[pair[1] as usize]);
    if let Some(pair) = same {
        return Ok(Some((pair[0].min(pair[1]) as usize, pair[0].max(pair[1]) as usize)));
    }
    // 2. Sweep. At each node an edge ends and another begins, or two end, or two begin.
    let mut line = Line { nodes, child: zeroed(count + 1)? };
    line.child.fill([NONE; 2]);
    for index in order {
        let edges = [index.checked_sub(1).unwrap_or(count as u32 - 1), index];
        let begins = |edge: &u32| line_start(nodes, *edge) == nodes[index as usize];
        for edge in edges.into_iter().filter(|edge| !begins(edge)) {
            line.remove(edge);
            let [before, after] = line.neighbours(edge);
            if let Some(pair) = line.test(before, after) {
                return Ok(Some(pair));
            }
        }
        for edge in edges.into_iter().filter(begins) {
            let [before, after] = line.neighbours(edge);
            if let Some(pair) = line.test(before, edge).or_else(|| line.test(edge, after)) {
                return Ok(Some(pair));
            }
            line.insert(edge);
        }
    }
    Ok(None)
}

/// Returns the end of an edge that the line meets first.
fn line_start(nodes: &[Node], edge: u32) -> Node {
    let [a, b] = ends(nodes, edge);
    if key(a) < key(b) { a } else { b }
}

/// Returns the ends of an edge.
fn ends(nodes: &[Node], edge: u32) -> [Node; 2] {
    let edge = edge as usize;
    [nodes[edge], nodes[if edge + 1 == nodes.len() { 0 } else { edge + 1 }]]
}

/// No edge.
const NONE: u32 = u32::MAX;

/// The edges that the line crosses, in their order along it: a treap, which is a binary tree with random priorities and
/// therefore of logarithmic expected depth. The priorities are hashes of the edges.
struct Line<'a> {
    nodes: &'a [Node],
    /// For each edge its children in the tree, before and after it. The last entry stands above the root, which is its
    /// first child.
    child: Vec<[u32; 2]>,
}

/// Returns an edge's priority in the tree.
fn priority(edge: u32) -> u32 {
    // The finaliser of MurmurHash3: every bit depends on all bits of the edge.
    let hash = (edge ^ edge >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

impl Line<'_> {
    /// Compares the positions of two edges along the line, which crosses both.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let sorted = |edge| {
            let [from, to] = ends(self.nodes, edge);
            if key(from) < key(to) { [from, to] } else { [to, from] }
        };
        let (first, second) = (sorted(a), sorted(b));
        // The side on which the later edge begins or, if it begins on the other edge, on which it ends.
        let place = |[from, to]: [Node; 2], [begin, end]: [Node; 2]| match side(from, to, begin) {
            0 => side(from, to, end),
            side => side,
        };
        if key(first[0]) <= key(second[0]) { 0.cmp(&place(first, second)) } else { place(second, first).cmp(&0) }
    }

    /// Returns the edges before and after `edge` along the line, [`NONE`] where there is none; `edge` is not in the tree.
    fn neighbours(&self, edge: u32) -> [u32; 2] {
        let mut found = [NONE; 2];
        let mut at = self.child[self.nodes.len()][0];
        while at != NONE {
            let after = usize::from(self.compare(at, edge) == Ordering::Less);
            // This edge is the nearest one so far on its side.
            found[1 - after] = at;
            at = self.child[at as usize][after];
        }
        found
    }

    /// Returns the two edges if they meet, other than neighbours at their shared node.
    fn test(&self, a: u32, b: u32) -> Option<(usize, usize)> {
        if a == NONE || b == NONE {
            return None;
        }
        let (first, second) = (a.min(b) as usize, a.max(b) as usize);
        let neighbours = second - first == 1 || second - first == self.nodes.len() - 1;
        let ([a, b], [c, d]) = (ends(self.nodes, a), ends(self.nodes, b));
        (!neighbours && intersect(a, b, c, d)).then_some((first, second))
    }

    /// Returns the link in the tree, as an entry and a side, that leads to the first edge on the path to `edge` for which
    /// `ends` is true.
    fn link(&self, edge: u32, ends: impl Fn(u32) -> bool) -> (usize, usize) {
        let (mut at, mut side) = (self.nodes.len(), 0);
        loop {
            let next = self.child[at][side];
            if next == NONE || ends(next) {
                return (at, side);
            }
            side = usize::from(self.compare(next, edge) == Ordering::Less);
            at = next as usize;
        }
    }

    /// Puts an edge into the tree.
    fn insert(&mut self, edge: u32) {
        let (at, side) = self.link(edge, |next| priority(next) < priority(edge));
        let mut rest = std::mem::replace(&mut self.child[at][side], edge);
        // Split the subtree that was there into the edges before and after the new one. The two parts are assembled at
        // these links.
        let mut links = [(edge as usize, 0), (edge as usize, 1)];
        while rest != NONE {
            let part = usize::from(self.compare(rest, edge) != Ordering::Less);
            let (at, side) = links[part];
            self.child[at][side] = rest;
            links[part] = (rest as usize, 1 - part);
            rest = self.child[rest as usize][1 - part];
        }
        for (at, side) in links {
            self.child[at][side] = NONE;
        }
    }

    /// Takes an edge out of the tree.
    fn remove(&mut self, edge: u32) {
        let (mut at, mut side) = self.link(edge, |next| next == edge);
        let mut parts = self.child[edge as usize];
        debug_assert_eq!(self.child[at][side], edge, "the order along the line is that of the insertion");
        // Merge both subtrees of the edge at the link.
        loop {
            let [before, after] = parts;
            let part = match (before, after) {
                (NONE, _) => break self.child[at][side] = after,
                (_, NONE) => break self.child[at][side] = before,
                _ => usize::from(priority(before) < priority(after)),
            };
            let taken = parts[part];
            self.child[at][side] = taken;
            (at, side) = (taken as usize, 1 - part);
            parts[part] = self.child[at][side];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::polygon::{first_crossing, folded};
    use super::*;
    use proptest::prelude::*;

    /// Checks the sweep against the test of every pair.
    fn agrees(nodes: &[Node]) -> Result<bool, TestCaseError> {
        if nodes.len() < 3 || folded(nodes).is_some() {
            return Ok(false);
        }
        let found = crossing(nodes).unwrap();
        let any = first_crossing(nodes).is_some();
        prop_assert_eq!(found.is_some(), any, "{:?}", nodes);
        if let Some((first, second)) = found {
            let ([a, b], [c, d]) = (ends(nodes, first as u32), ends(nodes, second as u32));
            prop_assert!(second - first > 1 && second - first < nodes.len() - 1, "{} {} {:?}", first, second, nodes);
            prop_assert!(intersect(a, b, c, d), "{} {} {:?}", first, second, nodes);
        }
        Ok(!any)
    }

    /// Returns a polygon that does not cross itself: its nodes sorted by their direction from the middle, of each
    /// direction the farthest one.
    fn star(nodes: &[Node], middle: Node) -> Vec<Node> {
        let relative = |node: &Node| (i64::from(node.x - middle.x), i64::from(node.y - middle.y));
        let mut sorted: Vec<Node> = nodes.iter().copied().filter(|node| *node != middle).collect();
        let half = |(x, y): (i64, i64)| y < 0 || y == 0 && x < 0;
        sorted.sort_by(|a, b| {
            let (a, b) = (relative(a), relative(b));
            let turn = 0.cmp(&(a.0 * b.1 - a.1 * b.0));
            half(a).cmp(&half(b)).then(turn).then((b.0.abs() + b.1.abs()).cmp(&(a.0.abs() + a.1.abs())))
        });
        sorted.dedup_by(|next, kept| {
            let (a, b) = (relative(kept), relative(next));
            a.0 * b.1 - a.1 * b.0 == 0 && a.0 * b.0 + a.1 * b.1 > 0
        });
        sorted
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        #[test]
        fn sweep_finds_a_crossing_where_there_is_one(
            // Few places: nodes on edges, collinear and vertical edges and equal nodes are frequent.
            places in prop::collection::vec((0..9i32, 0..9i32), 3..9),
            wide in prop::collection::vec((-1000..1000i32, -1000..1000i32), 3..40),
            far in prop::collection::vec(any::<(i8, i8)>(), 3..12),
            shift in 0..3i32,
        ) {
            let nodes = |list: &[(i32, i32)]| -> Vec<Node> { list.iter().map(|&(x, y)| Node::new(x, y)).collect() };
            let far: Vec<Node> = far.iter().map(|&(x, y)| Node::new(i32::from(x) << 21, i32::from(y) << 21)).collect();
            for polygon in [nodes(&places), nodes(&wide), far] {
                agrees(&polygon)?;
                // Polygons without a crossing, and such ones with one node moved or doubled.
                let middle = Node::new(polygon[0].x / 2 + shift, polygon[0].y / 2);
                let mut star = star(&polygon, middle);
                agrees(&star)?;
                if let [first, .., last] = star[..] {
                    star.insert(star.len() / 2, Node::new(first.x + shift - 1, last.y + shift - 1));
                    agrees(&star)?;
                }
            }
        }
    }

    /// Returns a comb of `count` nodes without a crossing: teeth of the height `height`, closed around them.
    fn comb(count: usize, height: i32) -> Vec<Node> {
        let mut nodes: Vec<Node> =
            (0..count as i32 - 3).map(|i| Node::new(i, if i % 2 == 1 { height } else { 0 })).collect();
        let end = count as i32;
        nodes.extend([Node::new(end, 0), Node::new(end, 2 * height), Node::new(-1, 2 * height)]);
        nodes
    }

    #[test]
    fn combs_along_every_axis_do_not_cross_until_a_tooth_is_too_long() {
        for count in [8, 65, 200] {
            for turned in [false, true] {
                let mut nodes = comb(count, 100);
                if turned {
                    nodes.iter_mut().for_each(|node| *node = Node::new(node.y, node.x));
                }
                assert!(agrees(&nodes).unwrap(), "{nodes:?}");
                let tooth = if turned { Node::new(200, 1) } else { Node::new(1, 200) };
                nodes[1] = tooth;
                assert!(!agrees(&nodes).unwrap(), "{nodes:?}");
            }
        }
    }

    #[test]
    fn the_largest_polygons_are_tested_in_time() {
        // Every tooth is in the line at once, or few are.
        for (turned, height) in [(false, 100), (true, 100), (false, 1 << 27), (true, 1 << 27)] {
            let mut nodes = comb(1 << 16, height);
            if turned {
                nodes.iter_mut().for_each(|node| *node = Node::new(node.y, node.x));
            }
            let once = || {
                let started = std::time::Instant::now();
                assert_eq!(crossing(&nodes).unwrap(), None);
                started.elapsed()
            };
            // It takes some 20 ms; the test of every pair takes seconds. Other processes may delay it, but hardly
            // every time.
            let took = std::iter::repeat_with(once).take(5).min().unwrap();
            assert!(took.as_secs_f64() < 1.0, "{took:?}");
        }
    }
}
