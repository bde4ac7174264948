//! From the tree of chains that one anchor's walks made to its segments.

use super::{BRANCH_LENGTH, Trees};

/// The root of a tree: it has no pixels, and its children are the anchor's two walks. It is nobody's child: as a child,
/// it means none.
pub(super) const ROOT: usize = 0;

/// The pixels of one walk. Chains are in the order in which they were walked: parents before their children, and of two
/// children that to the left or up first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    /// Its pixels among the walked ones: the chain's are followed by the next one's.
    pub(super) first: usize,
    /// The chain at whose end it starts.
    pub(super) parent: usize,
}

/// What the assembly knows of a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Its pixels that are not in a segment yet, among the walked ones.
    first: usize,
    length: usize,
    /// The pixels of the longest way down the tree from here on, and the child that it takes.
    way: usize,
    next: usize,
}

/// Whether two pixels, both off the border, are the same or 8-neighbours.
pub(super) fn adjacent(a: usize, b: usize, stride: usize) -> bool {
    let apart = a.abs_diff(b);
    apart <= 1 || apart.wrapping_sub(stride - 1) <= 2
}

/// Hands the segments of one tree to `found`.
pub(super) fn segments(trees: &mut Trees, stride: usize, mut found: impl FnMut(&[usize])) {
    let Trees { walked, chains, links, route, segment, .. } = trees;
    let [forth, back] = measure(chains, walked.len(), links);
    segment.clear();

    // From the far end of the one walk back to the anchor ...
    route.clear();
    let mut chain = back;
    while chain != ROOT {
        route.push(chain);
        chain = links[chain].next;
    }
    for &chain in route.iter().rev() {
        let Link { first, length, .. } = links[chain];
        let mut pixels = &walked[first..first + length];
        trim(segment, pixels[length - 1], stride);
        if let (Some(last), [.., second, _]) = (segment.last(), pixels)
            && adjacent(*second, *last, stride)
        {
            pixels = &pixels[..length - 1];
        }
        segment.extend(pixels.iter().rev());
        links[chain].length = 0;
    }
    // ... and from there to the far end of the other, without the anchor a second time.
    if links[forth].way > 1 {
        links[forth].first += 1;
        links[forth].length -= 1;
        append(walked, links, forth, segment, stride);
    }
    // The beginning of a loop overlaps its end.
    if segment.len() > 1 && adjacent(segment[1], segment[segment.len() - 1], stride) {
        found(&segment[1..]);
    } else {
        found(segment);
    }

    // What branches off: the chains not used so far.
    for chain in 2..links.len() {
        if links[chain].length > 1 && links[chain].way >= BRANCH_LENGTH {
            segment.clear();
            append(walked, links, chain, segment, stride);
            found(segment);
        }
    }
}

/// Finds the longest way down from every chain; of equal ones that to the left or up. Gives the root's children.
fn measure(chains: &[Chain], walked: usize, links: &mut Vec<Link>) -> [usize; 2] {
    links.clear();
    links.extend(chains.iter().map(|chain| Link { first: chain.first, length: 0, way: 0, next: ROOT }));
    let mut end = walked;
    let mut children = [ROOT; 2];
    for (chain, &Chain { first, parent }) in chains.iter().enumerate().skip(1).rev() {
        let length = end - first;
        let way = links[chain].way + length;
        end = first;
        links[chain].length = length;
        links[chain].way = way;
        // The child that was walked first comes here last.
        if parent == ROOT {
            children = [chain, children[0]];
        } else if way >= links[parent].way {
            links[parent].way = way;
            links[parent].next = chain;
        }
    }
    children
}

/// Appends the longest way from `chain` on and uses its chains up.
fn append(walked: &[usize], links: &mut [Link], chain: usize, segment: &mut Vec<usize>, stride: usize) {
    let mut chain = chain;
    while chain != ROOT {
        let Link { first, length, next, .. } = links[chain];
        // A chain left without pixels (of the anchor alone, taken out above) trims by the first one walked after it.
        trim(segment, walked[first], stride);
        let mut pixels = &walked[first..first + length];
        if let (Some(last), [_, second, ..]) = (segment.last(), pixels)
            && adjacent(*second, *last, stride)
        {
            pixels = &pixels[1..];
        }
        segment.extend_from_slice(pixels);
        links[chain].length = 0;
        chain = next;
    }
}

/// Takes off the end of `segment` what `next` would make superfluous: its last pixel while the one before it touches
/// `next` as well.
fn trim(segment: &mut Vec<usize>, next: usize, stride: usize) {
    while segment.len() > 1 && adjacent(segment[segment.len() - 2], next, stride) {
        segment.pop();
    }
}
