//! A binary tree of the bounding boxes of a polygon's edges. It finds the edges near another edge in O(log n) if edges are
//! short.

use super::polygon::{Bounds, Node, folds, intersect, side, twice_area};
use crate::error::Result;
use crate::memory::reserved;

/// The boxes of a polygon's edges, and its area.
#[derive(Debug)]
pub(super) struct EdgeIndex {
    /// A heap of boxes: box i contains the boxes 2 i and 2 i + 1, and with n edges the box of edge e is box n + e. Box 0 is
    /// not used.
    boxes: Vec<Bounds>,
    /// Twice the area of the polygon, as [`twice_area`] defines it.
    pub(super) twice_area: i128,
}

/// The capacity of the stack for walking through the tree. It needs fewer entries than the tree has levels, which are at
/// most as many as an index has bits.
const MOST_WAITING: usize = usize::BITS as usize + 1;

impl EdgeIndex {
    /// Makes the index of a polygon of at least three nodes.
    pub(super) fn new(nodes: &[Node]) -> Result<Self> {
        let count = nodes.len();
        let mut boxes = reserved(2 * count)?;
        boxes.resize(count, box_of(nodes[0], nodes[0]));
        boxes.extend((0..count).map(|edge| box_of(nodes[edge], nodes[(edge + 1) % count])));
        for index in (1..count).rev() {
            boxes[index] = boxes[2 * index].around(&boxes[2 * index + 1]);
        }
        Ok(Self { boxes, twice_area: twice_area(nodes) })
    }

    /// Returns twice the area of the polygon after a node moves to `to` or, with `None`, is removed.
    pub(super) fn twice_area_after(&self, nodes: &[Node], node: usize, to: Option<Node>) -> i128 {
        let [before, after] = neighbours(nodes, node);
        let here = nodes[node];
        let change = match to {
            Some(to) => side(here, before, to) + side(here, to, after),
            None => side(here, before, after),
        };
        self.twice_area + i128::from(change)
    }

    /// Updates the index for the move of a node. `nodes` are the polygon before the move.
    pub(super) fn move_node(&mut self, nodes: &[Node], node: usize, to: Node) {
        self.twice_area = self.twice_area_after(nodes, node, Some(to));
        let (count, [before, after]) = (nodes.len(), neighbours(nodes, node));
        for (edge, of_edge) in [((node + count - 1) % count, box_of(before, to)), (node, box_of(to, after))] {
            let mut index = count + edge;
            self.boxes[index] = of_edge;
            while index > 1 {
                index /= 2;
                self.boxes[index] = self.boxes[2 * index].around(&self.boxes[2 * index + 1]);
            }
        }
    }

    /// Tells whether an edge of the polygon touches another edge, except for its neighbours at the shared node.
    pub(super) fn crosses_at(&self, nodes: &[Node], edge: usize) -> bool {
        let count = nodes.len();
        let around = [edge + count - 1, edge, edge + 1].map(|edge| edge % count);
        let [a, b, c, d] = [edge + count - 1, edge, edge + 1, edge + 2].map(|node| nodes[node % count]);
        folds(a, b, c) || folds(b, c, d) || self.touches(nodes, b, c, &around)
    }

    /// Tells whether a polygon would touch itself at a new edge, or be turned inside out, if a node moved to `to` or were
    /// removed (`None`). The polygon must be valid before.
    pub(super) fn crosses_after(&self, nodes: &[Node], node: usize, to: Option<Node>) -> bool {
        // 1. A move that is larger than the polygon can turn it inside out without a crossing.
        if self.twice_area_after(nodes, node, to) <= 0 {
            return true;
        }
        // 2. Test the new edges against their neighbours and against all other edges.
        let count = nodes.len();
        let [before, first, last] = [count - 2, count - 1, 1].map(|ahead| (node + ahead) % count);
        let [a, b, c, d] = [before, first, last, node + 2].map(|other| nodes[other % count]);
        match to {
            Some(to) => {
                folds(a, b, to)
                    || folds(b, to, c)
                    || folds(to, c, d)
                    || self.touches(nodes, b, to, &[before, first, node])
                    || self.touches(nodes, to, c, &[first, node, last])
            }
            None => folds(a, b, c) || folds(b, c, d) || self.touches(nodes, b, c, &[before, first, node, last]),
        }
    }

    /// Tells whether `test` is true for any edge whose box overlaps the box of the edge from a to b.
    pub(super) fn any_near(&self, a: Node, b: Node, mut test: impl FnMut(usize) -> bool) -> bool {
        let (count, wanted) = (self.boxes.len() / 2, box_of(a, b));
        let (mut waiting, mut length) = ([1; MOST_WAITING], 1);
        while length > 0 {
            length -= 1;
            let index = waiting[length];
            if !meet(&self.boxes[index], &wanted) {
                continue;
            }
            if index < count {
                [waiting[length], waiting[length + 1]] = [2 * index + 1, 2 * index];
                length += 2;
            } else if test(index - count) {
                return true;
            }
        }
        false
    }

    /// Tells whether the edge from a to b touches an edge of the polygon `nodes` that is not in `left_out`.
    pub(super) fn touches(&self, nodes: &[Node], a: Node, b: Node, left_out: &[usize]) -> bool {
        self.any_near(a, b, |edge| {
            !left_out.contains(&edge) && intersect(a, b, nodes[edge], nodes[(edge + 1) % nodes.len()])
        })
    }
}

/// Returns a node's neighbours in the closed polygon.
fn neighbours(nodes: &[Node], node: usize) -> [Node; 2] {
    let count = nodes.len();
    [nodes[(node + count - 1) % count], nodes[(node + 1) % count]]
}

fn box_of(a: Node, b: Node) -> Bounds {
    Bounds { x0: a.x.min(b.x), y0: a.y.min(b.y), x1: a.x.max(b.x), y1: a.y.max(b.y) }
}

fn meet(a: &Bounds, b: &Bounds) -> bool {
    a.x0 <= b.x1 && b.x0 <= a.x1 && a.y0 <= b.y1 && b.y0 <= a.y1
}

#[cfg(test)]
mod tests {
    use super::super::polygon::{first_crossing, random};
    use super::*;

    fn touches_any(nodes: &[Node], a: Node, b: Node, left_out: &[usize]) -> bool {
        let count = nodes.len();
        (0..count).any(|edge| !left_out.contains(&edge) && intersect(a, b, nodes[edge], nodes[(edge + 1) % count]))
    }

    #[test]
    fn the_index_finds_what_a_test_of_all_edges_finds() {
        let (mut random, mut found) = (random(1), [0; 2]);
        // Their edges cross.
        let mut random_nodes = |count| -> Vec<Node> { (0..count).map(|_| Node::new(random(60), random(60))).collect() };
        for count in [3, 4, 5, 7, 8, 31, 100] {
            for _ in 0..200 {
                let mut nodes = random_nodes(count);
                let mut index = EdgeIndex::new(&nodes).unwrap();
                let ends = random_nodes(5);
                let node = ends[2].x as usize % count;
                for attempt in 0..2 {
                    assert_eq!(index.twice_area, twice_area(&nodes));
                    let touches = touches_any(&nodes, ends[0], ends[1], &[node]);
                    assert_eq!(
                        index.touches(&nodes, ends[0], ends[1], &[node]),
                        touches,
                        "{nodes:?} {ends:?} {attempt}"
                    );
                    found[usize::from(touches)] += 1;
                    let mut fewer = nodes.clone();
                    fewer.remove(node);
                    assert_eq!(index.twice_area_after(&nodes, node, None), twice_area(&fewer));
                    index.move_node(&nodes, node, ends[3]);
                    nodes[node] = ends[3];
                }
            }
        }
        assert!(found.iter().all(|times| *times > 300), "{found:?}");
    }

    #[test]
    fn a_change_is_tested_as_the_whole_polygon_would_be() {
        let shapes: [&[(i32, i32)]; 4] = [
            &[(0, 0), (20, 0), (20, 20), (10, 5), (0, 20)],
            &[(0, 0), (9, 0), (5, 6)],
            &[(0, 0), (9, 0), (9, 9), (0, 9)],
            &[(0, 0), (20, 0), (20, 3), (4, 3), (4, 6), (20, 6), (20, 9), (0, 9)],
        ];
        let mut crossed = [0; 2];
        for shape in shapes {
            let nodes: Vec<Node> = shape.iter().map(|&(x, y)| Node::new(x, y)).collect();
            let index = EdgeIndex::new(&nodes).unwrap();
            let mut check = |changed: &[Node], found: bool, what: &str| {
                let whole = first_crossing(changed).is_some() || twice_area(changed) <= 0;
                assert_eq!(found, whole, "{what}: {nodes:?}");
                crossed[usize::from(whole)] += 1;
            };
            for node in 0..nodes.len() {
                for (x, y) in (-5..=25).flat_map(|x| (-5..=25).map(move |y| (x, y))) {
                    let mut changed = nodes.clone();
                    changed[node] = Node::new(x, y);
                    let found = index.crosses_after(&nodes, node, Some(changed[node]));
                    check(&changed, found, &format!("{node} to {x} {y}"));
                }
                if nodes.len() > 3 {
                    let mut changed = nodes.clone();
                    changed.remove(node);
                    check(&changed, index.crosses_after(&nodes, node, None), &format!("{node} removed"));
                }
            }
        }
        assert!(crossed.iter().all(|times| *times > 1000), "{crossed:?}");
    }

    #[test]
    fn few_edges_are_looked_at_where_edges_are_short() {
        let at = |i: i32| f64::from(i) * std::f64::consts::TAU / 3000.0;
        let circle: Vec<Node> =
            (0..3000).map(|i| Node::new((9000.0 * at(i).cos()) as i32, (9000.0 * at(i).sin()) as i32)).collect();
        let index = EdgeIndex::new(&circle).unwrap();
        for node in 0..3000 {
            let mut looked_at = 0;
            index.any_near(circle[node], circle[(node + 1) % 3000], |_| {
                looked_at += 1;
                false
            });
            assert!((3..10).contains(&looked_at), "{node}: {looked_at}");
        }
    }
}
