//! The assembly of segments from the tree of traces of one anchor.

use super::{BRANCH_LENGTH, Trees};

/// The root of a tree: it has no pixels, and its children are the anchor's two traces. As the index of a child it means "no
/// child".
pub(super) const ROOT: usize = 0;

/// The pixels of one trace. Traces are in the order in which they were made: parents before their children, and of two
/// children the one to the left or up first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace {
    /// The index of its first pixel among the traced ones. The pixels of the next trace follow its own.
    pub(super) first: usize,
    /// The trace at whose end it starts.
    pub(super) parent: usize,
}

/// The state of a trace during the assembly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The index among the traced pixels of its first one that is not in a segment yet.
    first: usize,
    /// The number of its pixels that are not in a segment yet.
    length: usize,
    /// The number of pixels of the longest path down the tree from here on.
    path: usize,
    /// The child on this path.
    next: usize,
}

/// Tells whether two pixels, neither of them on the border, are equal or 8-neighbours.
pub(super) fn adjacent(a: usize, b: usize, stride: usize) -> bool {
    let apart = a.abs_diff(b);
    apart <= 1 || apart.wrapping_sub(stride - 1) <= 2
}

/// Calls `found` with each segment of one tree.
pub(super) fn segments(trees: &mut Trees, stride: usize, mut found: impl FnMut(&[usize])) {
    let Trees { traced, traces, links, route, segment, .. } = trees;
    let [forth, back] = measure(traces, traced.len(), links);
    segment.clear();

    // 1. The segment begins with the longest path down one of the anchor's traces, in reverse: from its far end to the
    //    anchor ...
    route.clear();
    let mut trace = back;
    while trace != ROOT {
        route.push(trace);
        trace = links[trace].next;
    }
    for &trace in route.iter().rev() {
        let Link { first, length, .. } = links[trace];
        let mut pixels = &traced[first..first + length];
        trim(segment, pixels[length - 1], stride);
        if let (Some(last), [.., second, _]) = (segment.last(), pixels)
            && adjacent(*second, *last, stride)
        {
            pixels = &pixels[..length - 1];
        }
        segment.extend(pixels.iter().rev());
        links[trace].length = 0;
    }
    // 2. ... and continues to the far end of the other trace, without repeating the anchor.
    if links[forth].path > 1 {
        links[forth].first += 1;
        links[forth].length -= 1;
        append(traced, links, forth, segment, stride);
    }
    // 3. In a loop the beginning overlaps the end.
    if segment.len() > 1 && adjacent(segment[1], segment[segment.len() - 1], stride) {
        found(&segment[1..]);
    } else {
        found(segment);
    }

    // 4. The branches: the traces not used so far.
    for trace in 2..links.len() {
        if links[trace].length > 1 && links[trace].path >= BRANCH_LENGTH {
            segment.clear();
            append(traced, links, trace, segment, stride);
            found(segment);
        }
    }
}

/// Finds the longest path down from every trace; of two equal paths, the one to the left or up. Returns the root's
/// children.
fn measure(traces: &[Trace], traced: usize, links: &mut Vec<Link>) -> [usize; 2] {
    links.clear();
    links.extend(traces.iter().map(|trace| Link { first: trace.first, length: 0, path: 0, next: ROOT }));
    let mut end = traced;
    let mut children = [ROOT; 2];
    for (trace, &Trace { first, parent }) in traces.iter().enumerate().skip(1).rev() {
        let length = end - first;
        let path = links[trace].path + length;
        end = first;
        links[trace].length = length;
        links[trace].path = path;
        // The child that was traced first comes last in this loop.
        if parent == ROOT {
            children = [trace, children[0]];
        } else if path >= links[parent].path {
            links[parent].path = path;
            links[parent].next = trace;
        }
    }
    children
}

/// Appends the longest path from `trace` on and marks its traces as used.
fn append(traced: &[usize], links: &mut [Link], trace: usize, segment: &mut Vec<usize>, stride: usize) {
    let mut trace = trace;
    while trace != ROOT {
        let Link { first, length, next, .. } = links[trace];
        // A trace may have no pixels left (it had only the anchor, which was removed above). The pixel used for trimming is
        // then the one that was traced next.
        trim(segment, traced[first], stride);
        let mut pixels = &traced[first..first + length];
        if let (Some(last), [_, second, ..]) = (segment.last(), pixels)
            && adjacent(*second, *last, stride)
        {
            pixels = &pixels[1..];
        }
        segment.extend_from_slice(pixels);
        links[trace].length = 0;
        trace = next;
    }
}

/// Removes pixels from the end of `segment` that `next` makes redundant: the last pixel is removed as long as the one
/// before it also touches `next`.
fn trim(segment: &mut Vec<usize>, next: usize, stride: usize) {
    while segment.len() > 1 && adjacent(segment[segment.len() - 2], next, stride) {
        segment.pop();
    }
}
