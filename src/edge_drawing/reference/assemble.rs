//! From the tree of chains that one anchor's walks made to its segments.

use super::BRANCH_LENGTH;
use crate::edge_drawing::segments::Point;

/// No chain: the root is nobody's child.
pub(super) const NONE: usize = 0;

/// The pixels of one walk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// Its pixels in the list of walked ones.
    pub(super) first: usize,
    pub(super) length: usize,
    /// The walks that started where it turned: the one to the left or up, and the one to the right or down.
    pub(super) children: [usize; 2],
    /// The pixels of the longest way down the tree from here on, and the child that it takes.
    pub(super) way: usize,
    pub(super) next: usize,
}

/// Whether two pixels are the same or 8-neighbours.
pub(super) fn adjacent(a: Point, b: Point) -> bool {
    a.x.abs_diff(b.x) <= 1 && a.y.abs_diff(b.y) <= 1
}

/// Hands the segments of one tree to `found`. `chains[0]` is the root: it has no pixels, its children are the anchor's
/// two walks, and every chain comes after its parent. `route` and `segment` are working memory.
pub(super) fn segments(
    walked: &[Point],
    chains: &mut [Chain],
    route: &mut Vec<usize>,
    segment: &mut Vec<Point>,
    mut found: impl FnMut(&[Point]),
) {
    measure(chains);
    segment.clear();

    // From the far end of the one walk back to the anchor ...
    let [forth, back] = chains[0].children;
    route.clear();
    route.extend(way(chains, back));
    for &chain in route.iter().rev() {
        let Chain { first, length, .. } = chains[chain];
        let mut pixels = &walked[first..first + length];
        trim(segment, pixels[length - 1]);
        if let (Some(last), true) = (segment.last(), length > 1) {
            if adjacent(pixels[length - 2], *last) {
                pixels = &pixels[..length - 1];
            }
        }
        segment.extend(pixels.iter().rev());
        chains[chain].length = 0;
    }
    // ... and from there to the far end of the other, without the anchor a second time.
    if chains[forth].way > 1 {
        chains[forth].first += 1;
        chains[forth].length -= 1;
        append(walked, chains, forth, segment);
    }
    // The beginning of a loop overlaps its end.
    if segment.len() > 1 && adjacent(segment[1], segment[segment.len() - 1]) {
        found(&segment[1..]);
    } else {
        found(segment);
    }

    // What branches off: the chains not used so far.
    for chain in 2..chains.len() {
        if chains[chain].length > 1 && chains[chain].way >= BRANCH_LENGTH {
            segment.clear();
            append(walked, chains, chain, segment);
            found(segment);
        }
    }
}

/// Finds the longest way down from every chain; of equal ones that to the left or up.
fn measure(chains: &mut [Chain]) {
    for chain in (1..chains.len()).rev() {
        let Chain { length, children: [a, b], .. } = chains[chain];
        let next = if chains[a].way >= chains[b].way { a } else { b };
        chains[chain].way = length + chains[next].way;
        chains[chain].next = next;
    }
}

/// The chains of the longest way from `chain` on.
fn way(chains: &[Chain], chain: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(chain), |&chain| Some(chains[chain].next)).take_while(|&chain| chain != NONE)
}

/// Appends the longest way from `chain` on and uses its chains up.
fn append(walked: &[Point], chains: &mut [Chain], chain: usize, segment: &mut Vec<Point>) {
    let mut chain = chain;
    while chain != NONE {
        let Chain { first, length, next, .. } = chains[chain];
        // A chain without pixels (the anchor alone, taken out above) is trimmed by the one walked after it.
        trim(segment, walked[first]);
        let mut pixels = &walked[first..first + length];
        if let (Some(last), [_, second, ..]) = (segment.last(), pixels) {
            if adjacent(*second, *last) {
                pixels = &pixels[1..];
            }
        }
        segment.extend_from_slice(pixels);
        chains[chain].length = 0;
        chain = next;
    }
}

/// Takes off the end of `segment` what `next` would make superfluous: its last pixel while the one before it touches
/// `next` as well.
fn trim(segment: &mut Vec<Point>, next: Point) {
    while segment.len() > 1 && adjacent(segment[segment.len() - 2], next) {
        segment.pop();
    }
}
