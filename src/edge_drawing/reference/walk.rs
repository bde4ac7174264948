//! Linking: every anchor in turn, its walks, and what becomes of them.

use super::assemble::{self, Chain};
use super::{ANCHOR_ONLY, EDGE, STATE, Trees, Word};
use crate::edge_drawing::segments::Point;
use crate::error::Result;
use crate::progress::Ticker;

const LEFT: u8 = 0;
const RIGHT: u8 = 1;
const UP: u8 = 2;
const DOWN: u8 = 3;

/// A walk that is still to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pixel: Pixel,
    heading: u8,
    parent: usize,
}

#[derive(Clone, Copy, Debug)]
struct Pixel {
    /// y·stride + x.
    index: usize,
    x: u32,
    y: u32,
}

/// Links the anchors at the positions `anchors`, in this order, and hands each segment to `found`.
pub(super) fn link<W: Word>(
    words: &mut [W],
    stride: usize,
    min_length: usize,
    mut anchors: impl ExactSizeIterator<Item = usize>,
    trees: &mut Trees,
    ticker: &Ticker,
    mut found: impl FnMut(&[Point], &[W]),
) -> Result<()> {
    /// Anchors whose words are read ahead together: they lie far apart, and waiting for memory one by one takes longer
    /// than their walks.
    const AHEAD: usize = 16;
    let mut ahead = [0; AHEAD];
    loop {
        let mut count = 0;
        for place in &mut ahead {
            let Some(index) = anchors.next() else { break };
            *place = index;
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        ticker.check()?;
        for &index in &ahead[..count] {
            if words[index].bits() & ANCHOR_ONLY == 0 {
                continue;
            }
            let length = tree(words, stride, index, trees, ticker)?;
            if length < min_length {
                for point in &trees.walked {
                    let word = &mut words[point.y as usize * stride + point.x as usize];
                    *word = W::from_bits(word.bits() & !STATE);
                }
            } else {
                let Trees { walked, chains, route, segment, .. } = &mut *trees;
                assemble::segments(walked, chains, route, segment, |points| found(points, words));
            }
        }
    }
}

/// Makes all walks of one anchor: fills `walked` and `chains`, and gives the tree's length.
fn tree<W: Word>(words: &mut [W], stride: usize, anchor: usize, trees: &mut Trees, ticker: &Ticker) -> Result<usize> {
    /// Walks between two looks at a cancel; one is no longer than a side of the image.
    const WALKS: usize = 256;
    let Trees { walked, chains, stack, .. } = trees;
    walked.clear();
    chains.clear();
    chains.push(Chain::default());
    stack.clear();
    let mut fresh = 0;
    let pixel = Pixel { index: anchor, x: (anchor % stride) as u32, y: (anchor / stride) as u32 };
    let vertical = words[anchor].bits() & W::VERTICAL != 0;
    let [later, first] = if vertical { [DOWN, UP] } else { [RIGHT, LEFT] };
    stack.push(Start { pixel, heading: later, parent: 0 });
    stack.push(Start { pixel, heading: first, parent: 0 });
    while let Some(Start { pixel, heading, parent }) = stack.pop() {
        if chains.len() % WALKS == 0 {
            ticker.check()?;
        }
        fresh += usize::from(words[pixel.index].bits() & STATE != EDGE);
        let first = walked.len();
        let (turn, across) = match heading {
            LEFT => (walk::<W, LEFT>(words, stride, pixel, walked), [DOWN, UP]),
            RIGHT => (walk::<W, RIGHT>(words, stride, pixel, walked), [DOWN, UP]),
            UP => (walk::<W, UP>(words, stride, pixel, walked), [RIGHT, LEFT]),
            _ => (walk::<W, DOWN>(words, stride, pixel, walked), [RIGHT, LEFT]),
        };
        let chain = chains.len();
        chains.push(Chain { first, length: walked.len() - first, ..Chain::default() });
        chains[parent].children[usize::from(heading == RIGHT || heading == DOWN)] = chain;
        if let Some(pixel) = turn {
            stack.extend(across.map(|heading| Start { pixel, heading, parent: chain }));
        }
    }
    Ok(walked.len() - fresh)
}

/// One walk: adds its pixels to `walked`; where the edge turns, the first pixel of the other direction.
fn walk<W: Word, const HEADING: u8>(
    words: &mut [W],
    stride: usize,
    mut at: Pixel,
    walked: &mut Vec<Point>,
) -> Option<Pixel> {
    let along_rows = HEADING == LEFT || HEADING == RIGHT;
    // Up or left, and down or right.
    let side = if along_rows { stride } else { 1 };
    loop {
        walked.push(Point { x: at.x, y: at.y });
        let index = at.index;
        words[index] = W::from_bits(words[index].bits() & !STATE | EDGE);
        for beside in [index - side, index + side] {
            let word = words[beside].bits();
            words[beside] = W::from_bits(word & !((word & ANCHOR_ONLY) * STATE));
        }
        let ahead = match HEADING {
            LEFT => index - 1,
            RIGHT => index + 1,
            UP => index - stride,
            _ => index + stride,
        };
        let [a, b, c] = [ahead - side, ahead, ahead + side].map(|index| words[index].bits());
        // The diagonal that comes first among anchors and marked pixels: up or left when going left or up.
        let a_first = HEADING == LEFT || HEADING == UP;
        let [ga, gb, gc] = [a, b, c].map(|word| word & W::GRADIENT);
        let step: i32 = if b & STATE != 0 {
            0
        } else if a_first && a & STATE != 0 {
            -1
        } else if c & STATE != 0 {
            1
        } else if !a_first && a & STATE != 0 {
            -1
        } else if ga > gb {
            if ga > gc { -1 } else { 1 }
        } else if gc > gb {
            1
        } else {
            0
        };
        let (next, index) = match step {
            -1 => (a, ahead - side),
            0 => (b, ahead),
            _ => (c, ahead + side),
        };
        let (dx, dy) = match HEADING {
            LEFT => (-1, step),
            RIGHT => (1, step),
            UP => (step, -1),
            _ => (step, 1),
        };
        at = Pixel { index, x: at.x.wrapping_add_signed(dx), y: at.y.wrapping_add_signed(dy) };
        if next & STATE == EDGE || next & W::GRADIENT == 0 {
            return None;
        }
        if (next & W::VERTICAL == 0) != along_rows {
            return Some(at);
        }
    }
}
