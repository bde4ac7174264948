//! Linking: follows the traces of one anchor after the other, and assembles them to segments.

use super::assemble::{self, ROOT, Trace};
use super::{ANCHOR_ONLY, EDGE, STATE, Trees, Word};
use crate::error::Result;
use crate::memory::reserve;
use crate::progress::Ticker;
use std::hint::select_unpredictable;

const LEFT: usize = 0;
const RIGHT: usize = 1;
const UP: usize = 2;
const DOWN: usize = 3;

/// One of the four headings. Differences of positions are wrapping numbers.
#[derive(Clone, Copy, Debug)]
struct Heading {
    /// The step ahead.
    ahead: usize,
    /// The step to the plus side of the edge: down or right.
    side: usize,
    /// The direction of the edges that it follows: [`Word::VERTICAL`] where the heading is up or down, else 0.
    direction: u32,
    /// The ranks of the diagonals on the minus and on the plus side, if they are anchors or marked pixels.
    ranks: [u32; 2],
    /// The headings of the traces across: the one that is followed first, then the other.
    across: [usize; 2],
}

fn headings<W: Word>(stride: usize) -> [Heading; 4] {
    // Left and up prefer the minus side, right and down the plus side.
    let along_row = |ahead, ranks| Heading { ahead, side: stride, direction: 0, ranks, across: [UP, DOWN] };
    let along_column = |ahead, ranks| Heading { ahead, side: 1, direction: W::VERTICAL, ranks, across: [LEFT, RIGHT] };
    [
        along_row(1usize.wrapping_neg(), [2, 1]),
        along_row(1, [1, 2]),
        along_column(stride.wrapping_neg(), [2, 1]),
        along_column(stride, [1, 2]),
    ]
}

/// A trace that is still to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    at: usize,
    heading: usize,
    /// The trace that it branches off.
    parent: usize,
}

/// Links the anchors at the positions `anchors`, in this order, and passes each segment to `found`.
pub(super) fn link<W: Word>(
    words: &mut [W],
    stride: usize,
    min_length: usize,
    anchors: &[u64],
    trees: &mut Trees,
    ticker: &Ticker,
    mut found: impl FnMut(&[usize], &[W]),
) -> Result<()> {
    /// The number of anchors whose words are prefetched together. Anchors lie far apart in memory, and waiting for each
    /// one's cache miss would take longer than its traces.
    const AHEAD: usize = 64;
    let headings = headings::<W>(stride);
    let longest = stride.max(words.len() / stride);
    for ahead in anchors.chunks(AHEAD) {
        let ahead = ahead.iter().map(|&index| index as usize);
        ticker.check()?;
        let touched = ahead.clone().map(|index| touch(words, stride, index)).fold(0, u32::wrapping_add);
        std::hint::black_box(touched);
        for index in ahead {
            if words[index].bits() & ANCHOR_ONLY == 0 {
                continue;
            }
            let length = tree(words, &headings, longest, index, trees, ticker)?;
            if length < min_length {
                for &index in &trees.traced {
                    words[index] = W::from_bits(words[index].bits() & !STATE);
                }
            } else {
                trees.make_room()?;
                assemble::segments(trees, stride, |pixels| found(pixels, words));
            }
        }
    }
    Ok(())
}

/// Reads the words that the first steps from an anchor need, to bring them into the cache.
fn touch<W: Word>(words: &[W], stride: usize, index: usize) -> u32 {
    if words[index].bits() & ANCHOR_ONLY == 0 {
        return 0;
    }
    let row = |index: usize| words.get(index).map_or(0, |word| word.bits());
    let rows = [index - stride, index + stride, index - 2 * stride, index + 2 * stride];
    rows.map(row).into_iter().fold(0, u32::wrapping_add)
}

impl Trees {
    /// Reserves the memory that the assembly of this tree's segments may need.
    fn make_room(&mut self) -> Result<()> {
        let Self { traced, traces, links, route, segment, .. } = self;
        for (list, most) in [(route, traces.len()), (segment, traced.len())] {
            list.clear();
            reserve(list, most)?;
        }
        links.clear();
        reserve(links, traces.len())
    }
}

/// Follows all traces of one anchor: fills the lists of traced pixels and of traces, and returns the tree's length.
fn tree<W: Word>(
    words: &mut [W],
    headings: &[Heading; 4],
    longest: usize,
    anchor: usize,
    trees: &mut Trees,
    ticker: &Ticker,
) -> Result<usize> {
    /// The number of traces between two polls for cancellation. A trace is no longer than a side of the image, `longest`.
    const TRACES: usize = 256;
    let Trees { traced, traces, stack, .. } = trees;
    traced.clear();
    traces.clear();
    stack.clear();
    reserve(traces, 1)?;
    reserve(stack, 1)?;
    traces.push(Trace { first: 0, parent: ROOT });
    let vertical = words[anchor].bits() & W::VERTICAL != 0;
    let [first, later] = if vertical { [UP, DOWN] } else { [LEFT, RIGHT] };
    stack.push(Start { at: anchor, heading: later, parent: ROOT });
    let (mut at, mut heading, mut parent) = (anchor, &headings[first], ROOT);
    // The number of traces that start on a pixel not yet marked.
    let mut fresh = 0;
    loop {
        let trace = traces.len();
        if trace.is_multiple_of(TRACES) {
            ticker.check()?;
        }
        reserve(traces, 1)?;
        reserve(stack, 1)?;
        reserve(traced, longest)?;
        fresh += usize::from(words[at].bits() & STATE != EDGE);
        traces.push(Trace { first: traced.len(), parent });
        let Heading { ahead, side, direction, ranks, across } = *heading;
        let turned = loop {
            // 1. Mark the pixel, and clear the anchors beside it.
            traced.push(at);
            words[at] = W::from_bits(words[at].bits() & !STATE | EDGE);
            for beside in [at.wrapping_sub(side), at.wrapping_add(side)] {
                let word = words[beside].bits();
                words[beside] = W::from_bits(word & !((word & ANCHOR_ONLY) * STATE));
            }
            // 2. Step to the best of the three pixels ahead.
            at = at.wrapping_add(ahead);
            let [a, b, c] = [at.wrapping_sub(side), at, at.wrapping_add(side)].map(|index| words[index].bits());
            // Anchors and marked pixels rank above all gradients. Of equal gradients, straight comes first, then the plus
            // side. The code has no branches, because the processor cannot predict the course of an edge.
            let key = |word: u32, rank: u32, equal: u32| {
                select_unpredictable(word & EDGE != 0, W::VERTICAL | rank, word & W::GRADIENT | equal)
            };
            let (a, b, c) = (key(a, ranks[0], 0), key(b, 3, 2), key(c, ranks[1], 1));
            let aside = select_unpredictable(c > a, side, side.wrapping_neg());
            at = at.wrapping_add(select_unpredictable(b > a.max(c), 0, aside));
            // 3. The trace ends before a mark or at the end of the edge, and turns where the direction changes.
            let word = words[at].bits();
            if word & STATE == EDGE || word & W::GRADIENT == 0 {
                break false;
            }
            if word & W::VERTICAL != direction {
                break true;
            }
        };
        if turned {
            stack.push(Start { at, heading: across[1], parent: trace });
            heading = &headings[across[0]];
            parent = trace;
        } else if let Some(start) = stack.pop() {
            at = start.at;
            heading = &headings[start.heading];
            parent = start.parent;
        } else {
            return Ok(traced.len() - fresh);
        }
    }
}
