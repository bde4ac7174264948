//! Polygons with nodes on pixel corners, and the tests for self-crossings.
//!
//! A node (x, y) is the corner shared by the pixels (x − 1, y − 1) and (x, y), so that the polygon (0, 0), (w, 0), (w,
//! h), (0, h) is the whole image. A pixel belongs to the polygon when its centre (x + ½, y + ½) does; a centre on an
//! edge belongs to the polygon on its right.

use super::clip::clip;
use super::sweep;
use crate::error::{Error, Result};
use crate::memory::reserved;
use crate::progress::Ticker;

/// The largest absolute coordinate of a caller's node. It keeps products of differences within 63 bits.
pub const MAX_COORDINATE: i32 = 1 << 28;

/// A corner of a polygon, which lies on a pixel corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    /// 0 is the left border of the image, its width the right one.
    pub x: i32,
    /// 0 is the upper border of the image, its height the lower one.
    pub y: i32,
}

impl Node {
    /// The corner (x, y).
    pub fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }
}

/// A list of closed polygons, each on a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polygons {
    nodes: Vec<Node>,
    /// The index of each polygon's first node, and the end of the last polygon.
    offsets: Vec<u64>,
    /// The slice of each polygon.
    slices: Vec<u32>,
}

impl Default for Polygons {
    fn default() -> Self {
        Self { nodes: Vec::new(), offsets: vec![0], slices: Vec::new() }
    }
}

impl Polygons {
    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a polygon on slice 0. It is closed: an edge joins its last node to the first.
    pub fn push(&mut self, nodes: &[Node]) {
        self.push_on(0, nodes);
    }

    /// Appends a polygon on a slice, counted from 0.
    pub fn push_on(&mut self, slice: u32, nodes: &[Node]) {
        self.nodes.extend_from_slice(nodes);
        self.offsets.push(self.nodes.len() as u64);
        self.slices.push(slice);
    }

    /// Copies flat arrays: polygon i has the nodes from `offsets[i]` up to but not including `offsets[i + 1]`, and is on
    /// slice `slices[i]`, or on slice 0 without `slices`.
    ///
    /// # Errors
    /// Offsets that do not begin at 0, decrease, or do not end at the number of nodes; a number of slices other than that
    /// of the polygons; out of memory.
    pub fn from_flat(nodes: &[Node], offsets: &[u64], slices: Option<&[u32]>) -> Result<Self> {
        /// The number of elements that are copied between two polls for cancellation.
        const PART: usize = 1 << 20;
        if offsets.first() != Some(&0) {
            return Err(Error::argument(match offsets.first() {
                None => "the offsets of the polygons must have one more than there are polygons, but there is none"
                    .to_owned(),
                Some(first) => format!("the first of the polygons' offsets must be 0, but it is {first}"),
            }));
        }
        if let Some(index) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(Error::argument(format!(
                "the polygons' offsets must not fall, but offset {} is {} after {}",
                index + 1,
                offsets[index + 1],
                offsets[index]
            )));
        }
        let last = offsets[offsets.len() - 1];
        if last != nodes.len() as u64 {
            return Err(Error::argument(format!(
                "the last of the polygons' offsets must be the number of nodes, {}, but it is {last}",
                nodes.len()
            )));
        }
        let count = offsets.len() - 1;
        if let Some(slices) = slices.filter(|slices| slices.len() != count) {
            return Err(Error::argument(format!(
                "cannot use the polygons' slices: there must be one for each of the {count} polygons (got {})",
                slices.len()
            )));
        }
        let mut copy = Self::try_with_capacity(count, nodes.len())?;
        let ticker = Ticker::new("copying polygons");
        for part in nodes.chunks(PART) {
            ticker.check()?;
            copy.nodes.extend_from_slice(part);
        }
        for part in offsets[1..].chunks(PART) {
            ticker.check()?;
            copy.offsets.extend_from_slice(part);
        }
        for part in slices.unwrap_or_default().chunks(PART) {
            ticker.check()?;
            copy.slices.extend_from_slice(part);
        }
        copy.slices.resize(count, 0);
        Ok(copy)
    }

    /// Returns an empty list with memory for this many polygons and nodes, or an error when out of memory.
    pub(super) fn try_with_capacity(polygons: usize, nodes: usize) -> Result<Self> {
        let mut empty = Self { nodes: reserved(nodes)?, offsets: reserved(polygons + 1)?, slices: reserved(polygons)? };
        empty.offsets.push(0);
        Ok(empty)
    }

    /// Returns the number of polygons.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the nodes of polygon `index`, or `None` beyond the last.
    pub fn get(&self, index: usize) -> Option<&[Node]> {
        let end = *self.offsets.get(index.checked_add(1)?)?;
        self.nodes.get(self.offsets[index] as usize..end as usize)
    }

    /// Returns an iterator over the polygons in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Node]> {
        self.offsets.windows(2).map(|ends| &self.nodes[ends[0] as usize..ends[1] as usize])
    }

    /// Returns all nodes, polygon after polygon.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the index in [`nodes`](Self::nodes) of each polygon's first node, and the end of the last polygon.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the slice of each polygon, counted from 0.
    pub fn slices(&self) -> &[u32] {
        &self.slices
    }
}

/// A rectangle of pixel corners: x from `x0` to `x1`, y from `y0` to `y1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) x0: i32,
    pub(super) y0: i32,
    pub(super) x1: i32,
    pub(super) y1: i32,
}

impl Bounds {
    /// Returns the bounds of an image.
    pub(super) fn of_image([width, height]: [usize; 2]) -> Self {
        Self { x0: 0, y0: 0, x1: width as i32, y1: height as i32 }
    }

    /// Returns the bounding rectangle of nodes.
    pub(super) fn of_nodes(nodes: &[Node]) -> Self {
        let rectangles = nodes.iter().map(|Node { x, y }| Self { x0: *x, y0: *y, x1: *x, y1: *y });
        rectangles.reduce(|a, b| a.around(&b)).unwrap_or(Self { x0: 0, y0: 0, x1: 0, y1: 0 })
    }

    /// Returns whether a node lies within or on the rectangle.
    pub(super) fn contain(&self, node: Node) -> bool {
        (self.x0..=self.x1).contains(&node.x) && (self.y0..=self.y1).contains(&node.y)
    }

    /// Returns whether a node within or on the rectangle lies on its border.
    pub(super) fn on_border(&self, node: Node) -> bool {
        node.x == self.x0 || node.x == self.x1 || node.y == self.y0 || node.y == self.y1
    }

    /// Returns the smallest rectangle around both.
    pub(super) fn around(&self, other: &Self) -> Self {
        Self {
            x0: self.x0.min(other.x0),
            y0: self.y0.min(other.y0),
            x1: self.x1.max(other.x1),
            y1: self.y1.max(other.y1),
        }
    }

    fn clamp(&self, node: Node) -> Node {
        Node { x: node.x.clamp(self.x0, self.x1), y: node.y.clamp(self.y0, self.y1) }
    }

    /// Returns the default start in an image: a rectangle with a border of a quarter of each side around it.
    pub(super) fn default_rectangle(&self) -> [Node; 4] {
        let (w, h) = (self.x1 - self.x0, self.y1 - self.y0);
        let (left, top) = (self.x0 + w / 4, self.y0 + h / 4);
        let (right, bottom) = (self.x1 - w / 4, self.y1 - h / 4);
        [Node::new(left, top), Node::new(right, top), Node::new(right, bottom), Node::new(left, bottom)]
    }
}

/// Returns twice the area of the triangle a, b, c: positive when c lies to the right of the line from a to b, as seen
/// on the screen. Exact up to [`MAX_COORDINATE`].
pub(super) fn side(a: Node, b: Node, c: Node) -> i64 {
    let (abx, aby) = (i64::from(b.x) - i64::from(a.x), i64::from(b.y) - i64::from(a.y));
    let (acx, acy) = (i64::from(c.x) - i64::from(a.x), i64::from(c.y) - i64::from(a.y));
    abx * acy - aby * acx
}

/// Tells whether c, a point on the line through a and b, lies between them, ends included.
fn between(a: Node, b: Node, c: Node) -> bool {
    (a.x.min(b.x)..=a.x.max(b.x)).contains(&c.x) && (a.y.min(b.y)..=a.y.max(b.y)).contains(&c.y)
}

/// Returns whether the edges ab and cd have a point in common, ends included.
pub(super) fn intersect(a: Node, b: Node, c: Node, d: Node) -> bool {
    // 1. The bounding boxes are apart.
    if a.x.max(b.x) < c.x.min(d.x)
        || c.x.max(d.x) < a.x.min(b.x)
        || a.y.max(b.y) < c.y.min(d.y)
        || c.y.max(d.y) < a.y.min(b.y)
    {
        return false;
    }
    // 2. Each edge separates the ends of the other.
    let (abc, abd, cda, cdb) = (side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b));
    if abc.signum() * abd.signum() < 0 && cda.signum() * cdb.signum() < 0 {
        return true;
    }
    // 3. An end lies on the other edge.
    (abc == 0 && between(a, b, c))
        || (abd == 0 && between(a, b, d))
        || (cda == 0 && between(c, d, a))
        || (cdb == 0 && between(c, d, b))
}

/// Returns whether two successive edges, a to b and b to c, overlap or have no length.
pub(super) fn folds(a: Node, b: Node, c: Node) -> bool {
    if a == b || b == c {
        return true;
    }
    let (ux, uy) = (i64::from(b.x) - i64::from(a.x), i64::from(b.y) - i64::from(a.y));
    let (vx, vy) = (i64::from(c.x) - i64::from(b.x), i64::from(c.y) - i64::from(b.y));
    ux * vy - uy * vx == 0 && ux * vx + uy * vy < 0
}

/// Up to this number of nodes every pair of edges is tested; with more nodes the sweep is faster.
const FEW_NODES: usize = 128;

/// Returns two edges of the polygon that cross or touch, other than neighbours at their shared node. For a polygon of few
/// nodes these are the first two.
pub(super) fn crossing(nodes: &[Node]) -> Result<Option<(usize, usize)>> {
    if nodes.len() <= FEW_NODES {
        return Ok(first_crossing(nodes));
    }
    match folded(nodes) {
        None => sweep::crossing(nodes),
        folded => Ok(folded),
    }
}

/// Returns the first two successive edges that overlap or have no length.
pub(super) fn folded(nodes: &[Node]) -> Option<(usize, usize)> {
    let count = nodes.len();
    let at = |index: usize| nodes[index % count];
    let edge = (0..count).find(|&edge| folds(at(edge), at(edge + 1), at(edge + 2)))?;
    Some((edge, (edge + 1) % count))
}

/// Returns the first two edges of the polygon that cross or touch, by testing every pair.
pub(super) fn first_crossing(nodes: &[Node]) -> Option<(usize, usize)> {
    let count = nodes.len();
    let at = |index: usize| nodes[index % count];
    for edge in 0..count {
        if folds(at(edge), at(edge + 1), at(edge + 2)) {
            return Some((edge, (edge + 1) % count));
        }
        for other in edge + 2..count {
            if (other + 1) % count != edge && intersect(at(edge), at(edge + 1), at(other), at(other + 1)) {
                return Some((edge, other));
            }
        }
    }
    None
}

/// Returns twice the polygon's area: positive when it runs clockwise on the screen.
pub(super) fn twice_area(nodes: &[Node]) -> i128 {
    let origin = nodes[0];
    nodes.iter().zip(nodes.iter().cycle().skip(1)).map(|(a, b)| i128::from(side(origin, *a, *b))).sum()
}

/// Refuses coordinates beyond [`MAX_COORDINATE`].
pub(super) fn check_coordinates(polygon: &[Node], index: usize) -> Result<()> {
    let too_far = |node: &&Node| node.x.unsigned_abs().max(node.y.unsigned_abs()) > MAX_COORDINATE as u32;
    polygon.iter().find(too_far).map_or(Ok(()), |node| {
        Err(Error::argument(format!(
            "polygon {index} has the node ({}, {}), but coordinates must be from -{MAX_COORDINATE} to {MAX_COORDINATE}",
            node.x, node.y
        )))
    })
}

/// Returns a caller's polygon in the form that sums need: without repeated nodes or crossings, and [`canonical`].
pub(super) fn validated(polygon: &[Node], index: usize) -> Result<Vec<Node>> {
    check_coordinates(polygon, index)?;
    let nodes = distinct(polygon.iter().copied())?;
    if nodes.len() < 3 {
        return Err(Error::argument(format!(
            "polygon {index} must have at least 3 nodes at different places, but it has {}",
            nodes.len()
        )));
    }
    if let Some(edges) = crossing(&nodes)? {
        return Err(Error::argument(format!("polygon {index} crosses itself: {}", name_edges(polygon, &nodes, edges))));
    }
    Ok(canonical(nodes))
}

/// Returns the canonical form of a ring of nodes: clockwise, beginning with the topmost node (of several, the leftmost). It
/// is the same for both orientations and for every first node. This matters because a search processes nodes in order, so
/// the first node may decide at which local optimum it ends.
fn canonical(mut nodes: Vec<Node>) -> Vec<Node> {
    if twice_area(&nodes) < 0 {
        nodes.reverse();
    }
    // There is only one such node, because two equal nodes count as a crossing.
    if let Some((first, _)) = nodes.iter().enumerate().min_by_key(|(_, node)| (node.y, node.x)) {
        nodes.rotate_left(first);
    }
    nodes
}

/// Returns a caller's polygon in the form that the search needs: [`validated`] and clamped to `bounds`. Returns `None` if
/// no part of it lies inside.
pub(super) fn normalise(polygon: &[Node], bounds: &Bounds, index: usize) -> Result<Option<Vec<Node>>> {
    let nodes = validated(polygon, index)?;
    if nodes.iter().all(|node| bounds.contain(*node)) {
        return Ok(Some(nodes));
    }
    // A polygon that only passes by a corner of the bounds would get an area when it is clamped.
    let has_node_inside = nodes.iter().any(|node| bounds.contain(*node) && !bounds.on_border(*node));
    if !has_node_inside {
        let clipped = clip(&nodes, bounds, &Ticker::new("clipping polygons"))?;
        if clipped.is_empty() || twice_area(&clipped) == 0 {
            return Ok(None);
        }
    }
    let mut nodes = distinct(nodes.iter().map(|node| bounds.clamp(*node)))?;
    drop_folds(&mut nodes);
    if nodes.len() < 3 {
        return Ok(None);
    }
    if let Some(edges) = crossing(&nodes)? {
        return Err(Error::argument(format!(
            "polygon {index}, clamped to the image, crosses itself: {}; clip it to the image before",
            name_edges(&nodes, &nodes, edges)
        )));
    }
    Ok((twice_area(&nodes) != 0).then(|| canonical(nodes)))
}

/// Returns the nodes without repetitions of the node before.
fn distinct(nodes: impl ExactSizeIterator<Item = Node>) -> Result<Vec<Node>> {
    let mut kept = reserved(nodes.len())?;
    kept.extend(nodes);
    kept.dedup();
    while kept.len() > 1 && kept.first() == kept.last() {
        kept.pop();
    }
    Ok(kept)
}

/// Removes spikes, which are nodes at which the polygon turns back on itself. Clamping to the image creates them.
fn drop_folds(nodes: &mut Vec<Node>) {
    // The list has a gap, so that a node can be removed without moving others: nodes before `kept` have been processed, and
    // nodes from `next` on have not.
    let (mut kept, mut next, end) = (0, 0, nodes.len());
    while kept + end - next >= 3 && next < end {
        let before = if kept > 0 { nodes[kept - 1] } else { nodes[end - 1] };
        let after = if next + 1 < end { nodes[next + 1] } else { nodes[0] };
        if folds(before, nodes[next], after) {
            // The node before has got a new neighbour, so it is tested again.
            next += 1;
            for _ in 0..2.min(kept) {
                (kept, next) = (kept - 1, next - 1);
                nodes[next] = nodes[kept];
            }
        } else {
            nodes[kept] = nodes[next];
            (kept, next) = (kept + 1, next + 1);
        }
    }
    nodes.drain(kept..next);
    // The last node and the first are neighbours, too.
    let (mut first, mut end) = (0, nodes.len());
    while first + 3 <= end {
        if folds(nodes[end - 1], nodes[first], nodes[first + 1]) {
            first += 1;
        } else if folds(nodes[end - 2], nodes[end - 1], nodes[first]) {
            end -= 1;
        } else {
            break;
        }
    }
    nodes.truncate(end);
    nodes.drain(..first);
}

/// Describes two edges of a polygon for a message, by their ends and by their numbers in `polygon`. `nodes` are its
/// distinct nodes.
fn name_edges(polygon: &[Node], nodes: &[Node], (first, second): (usize, usize)) -> String {
    let numbers = (0..polygon.len()).filter(|index| polygon.get(index + 1) != Some(&polygon[*index]));
    let edge = |index: usize| {
        let (a, b) = (nodes[index], nodes[(index + 1) % nodes.len()]);
        let number = numbers.clone().nth(index).unwrap_or_default();
        format!("{number} ({}, {})-({}, {})", a.x, a.y, b.x, b.y)
    };
    format!("its edges {} and {} meet", edge(first), edge(second))
}

/// Returns a generator of pseudo-random numbers from 0 up to but not including a bound, the same ones in every run.
#[cfg(test)]
pub(super) fn random(seed: u32) -> impl FnMut(i32) -> i32 {
    let mut state = seed;
    move |bound| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) % bound as u32) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(points: &[(i32, i32)]) -> Vec<Node> {
        points.iter().map(|&(x, y)| Node::new(x, y)).collect()
    }

    const IMAGE: Bounds = Bounds { x0: 0, y0: 0, x1: 100, y1: 80 };

    #[test]
    fn self_crossing_is_refused_and_the_message_names_the_edges() {
        let bow = nodes(&[(10, 10), (30, 30), (30, 10), (10, 30)]);
        let error = normalise(&bow, &IMAGE, 3).unwrap_err();
        assert!(error.message().contains("polygon 3 crosses itself"), "{error}");
        assert!(
            error.message().contains("0 (10, 10)-(30, 30)") && error.message().contains("2 (30, 10)-(10, 30)"),
            "{error}"
        );
        // Edges are numbered as in the caller's list.
        let again = nodes(&[(10, 10), (10, 10), (30, 30), (30, 30), (30, 10), (10, 30), (10, 10)]);
        let error = normalise(&again, &IMAGE, 0).unwrap_err();
        assert!(error.message().contains("1 (10, 10)-(30, 30) and 4 (30, 10)-(10, 30)"), "{error}");
    }

    #[test]
    fn touching_nodes_and_overlapping_edges_are_crossings() {
        // An eight whose loops share one node; a spike; a notch as deep as the polygon.
        for polygon in [
            nodes(&[(0, 0), (20, 0), (10, 10), (20, 20), (0, 20), (10, 10)]),
            nodes(&[(0, 0), (20, 0), (20, 10), (40, 10), (20, 10), (20, 20), (0, 20)]),
            nodes(&[(0, 0), (20, 0), (20, 20), (12, 20), (10, 0), (8, 20), (0, 20)]),
        ] {
            assert!(first_crossing(&polygon).is_some(), "{polygon:?}");
        }
        assert_eq!(
            first_crossing(&nodes(&[(0, 0), (10, 0), (20, 0), (20, 20), (0, 20)])),
            None,
            "a straight node is none"
        );
    }

    #[test]
    fn every_way_to_list_a_ring_has_one_canonical_form() {
        let square = nodes(&[(10, 10), (30, 10), (30, 30), (10, 30)]);
        let mut turned = square.clone();
        for first in 0..4 {
            turned.rotate_left(first);
            let back: Vec<Node> = turned.iter().rev().copied().collect();
            for polygon in [&turned, &back] {
                assert_eq!(normalise(polygon, &IMAGE, 0).unwrap().unwrap(), square);
            }
        }
    }

    #[test]
    fn polygons_are_clamped_to_the_image() {
        let half = normalise(&nodes(&[(-50, 10), (30, 10), (30, 30), (-50, 30)]), &IMAGE, 0).unwrap().unwrap();
        assert!(half.iter().all(|node| IMAGE.contain(*node)) && twice_area(&half) == 2 * 30 * 20);
        assert_eq!(normalise(&nodes(&[(-50, 10), (-30, 10), (-30, 30)]), &IMAGE, 0).unwrap(), None);
        assert_eq!(normalise(&nodes(&[(150, 90), (130, 95), (140, 130)]), &IMAGE, 0).unwrap(), None);
        // These pass by a corner; the nodes of the second lie on the image's border and beyond.
        assert_eq!(normalise(&nodes(&[(-30, 28), (28, -30), (-30, -30)]), &IMAGE, 0).unwrap(), None);
        assert_eq!(normalise(&nodes(&[(-30, 28), (28, -30), (0, 0)]), &IMAGE, 0).unwrap(), None);
        // This one has the whole image inside.
        let around =
            normalise(&nodes(&[(-300, -300), (500, -300), (500, 500), (-300, 500)]), &IMAGE, 0).unwrap().unwrap();
        assert_eq!(twice_area(&around), 2 * 100 * 80);
        // Clamped, the last node is a spike, and then the first one.
        let spiky = [(20, -50), (40, -15), (60, -15), (60, 60), (50, 60), (50, -10), (10, -20)];
        let upright = normalise(&nodes(&spiky), &IMAGE, 0).unwrap().unwrap();
        assert_eq!(upright, nodes(&[(50, 0), (60, 0), (60, 60), (50, 60)]));
    }

    #[test]
    fn dropping_folds_leaves_what_removing_them_one_by_one_leaves() {
        let plain = |nodes: &mut Vec<Node>| {
            let mut index = 0;
            while nodes.len() >= 3 && index < nodes.len() {
                let count = nodes.len();
                if folds(nodes[(index + count - 1) % count], nodes[index], nodes[(index + 1) % count]) {
                    nodes.remove(index);
                    index = index.saturating_sub(2);
                } else {
                    index += 1;
                }
            }
            while nodes.len() >= 3 {
                let last = nodes.len() - 1;
                if folds(nodes[last], nodes[0], nodes[1]) {
                    nodes.remove(0);
                } else if folds(nodes[last - 1], nodes[last], nodes[0]) {
                    nodes.pop();
                } else {
                    break;
                }
            }
        };
        let mut random = random(7);
        let mut shorter = 0;
        for _ in 0..20_000 {
            let count = 3 + random(12);
            let mut nodes: Vec<Node> = (0..count).map(|_| Node::new(random(4), random(2))).collect();
            let mut wanted = nodes.clone();
            plain(&mut wanted);
            let before = nodes.clone();
            drop_folds(&mut nodes);
            assert_eq!(nodes, wanted, "{before:?}");
            let count = nodes.len();
            let is_fold =
                |index: usize| folds(nodes[(index + count - 1) % count], nodes[index], nodes[(index + 1) % count]);
            assert!(count < 3 || !(0..count).any(is_fold), "{before:?} {nodes:?}");
            shorter += usize::from(nodes.len() < before.len() && nodes.len() > 2);
        }
        assert!(shorter > 1000, "{shorter}");
    }
}
