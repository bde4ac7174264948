//! The traces that cross from strip to strip, and the traces that turn. They are followed one by one.

use super::super::edge_map::WORD;
use super::{Plane, Planes, STRIP, strip};
use crate::error::Result;
use crate::memory::reserve;
use crate::progress::Ticker;

/// A pixel and the heading of a trace.
#[derive(Clone, Copy)]
struct State {
    x: u32,
    y: u32,
    heading: Heading,
}

#[derive(Clone, Copy, PartialEq)]
enum Heading {
    Left,
    Right,
    Up,
    Down,
}

impl Heading {
    /// Returns the planes for a trace in this heading: of the edge direction, of steps to the low side, and of marks.
    fn planes(self) -> [Plane; 3] {
        match self {
            Self::Left => [Plane::Horizontal, Plane::MinusLow, Plane::MinusMark],
            Self::Right => [Plane::Horizontal, Plane::PlusLow, Plane::PlusMark],
            Self::Up => [Plane::Vertical, Plane::MinusLow, Plane::MinusMark],
            Self::Down => [Plane::Vertical, Plane::PlusLow, Plane::PlusMark],
        }
    }

    /// Returns the two headings across this one, and the plane of the edges that are traced in them.
    fn across(self) -> (Plane, [Self; 2]) {
        match self {
            Self::Left | Self::Right => (Plane::Vertical, [Self::Up, Self::Down]),
            Self::Up | Self::Down => (Plane::Horizontal, [Self::Left, Self::Right]),
        }
    }
}

/// The exits of a strip, each with its heading. The first three lead to the row above, the others to the row below.
const EXIT_HEADINGS: [(usize, Heading); strip::EXITS] = [
    (strip::UP_FROM_UP, Heading::Up),
    (strip::UP_FROM_LEFT, Heading::Left),
    (strip::UP_FROM_RIGHT, Heading::Right),
    (strip::DOWN_FROM_DOWN, Heading::Down),
    (strip::DOWN_FROM_LEFT, Heading::Left),
    (strip::DOWN_FROM_RIGHT, Heading::Right),
];

/// The number of steps between two polls for cancellation.
const STEPS_PER_CHECK: usize = 1 << 16;

/// Continues the traces that left their strip and, with `turns`, those that have to turn.
pub(super) fn finish<'a>(planes: Planes<'a>, exits: &[u64], turns: bool, ticker: &'a Ticker) -> Result<Planes<'a>> {
    let mut tracer = Tracer { planes, turns, stack: Vec::new(), steps: 0, ticker };
    let stride = tracer.planes.stride;
    // 1. The exits of each strip.
    for (index, exits) in exits.chunks_exact(strip::EXITS * stride).enumerate() {
        ticker.check()?;
        for (exit, heading) in EXIT_HEADINGS {
            let row =
                if exit < strip::DOWN_FROM_DOWN { (index * STRIP).checked_sub(1) } else { Some((index + 1) * STRIP) };
            let Some(y) = row.filter(|y| *y < tracer.planes.height) else { continue };
            for word in 0..stride {
                let arrived = exits[exit * stride + word];
                if arrived != 0 {
                    tracer.enter(arrived, word, y, heading)?;
                }
            }
        }
        tracer.trace_all()?;
    }
    // 2. The turns that the strips noted.
    if turns {
        for y in 0..tracer.planes.height {
            ticker.check()?;
            for word in 0..stride {
                for (plane, heading) in [(Plane::Horizontal, Heading::Up), (Plane::Vertical, Heading::Left)] {
                    let turned = tracer.planes.word(Plane::Turn, word, y) & tracer.planes.word(plane, word, y);
                    for heading in heading.across().1 {
                        tracer.enter(turned, word, y, heading)?;
                    }
                }
            }
            tracer.trace_all()?;
        }
    }
    Ok(tracer.planes)
}

struct Tracer<'a> {
    planes: Planes<'a>,
    turns: bool,
    stack: Vec<State>,
    steps: usize,
    ticker: &'a Ticker,
}

impl Planes<'_> {
    fn index(&self, plane: Plane, word: usize, y: usize) -> usize {
        (y * self.count + plane as usize) * self.stride + word
    }

    fn word(&self, plane: Plane, word: usize, y: usize) -> u64 {
        self.words[self.index(plane, word, y)]
    }

    fn bit(&self, plane: Plane, x: usize, y: usize) -> bool {
        self.word(plane, x / WORD, y) >> (x % WORD) & 1 != 0
    }
}

impl Tracer<'_> {
    /// Pushes the traces in `heading` that arrive at pixels of a word, except at pixels that are already marked.
    fn enter(&mut self, arrived: u64, word: usize, y: usize, heading: Heading) -> Result<()> {
        let [direction, _, mark] = heading.planes();
        self.push(arrived & self.planes.word(direction, word, y) & !self.planes.word(mark, word, y), word, y, heading)?;
        if self.turns {
            let (direction, headings) = heading.across();
            let turned = arrived & self.planes.word(direction, word, y);
            for heading in headings {
                let mark = heading.planes()[2];
                self.push(turned & !self.planes.word(mark, word, y), word, y, heading)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, mut pixels: u64, word: usize, y: usize, heading: Heading) -> Result<()> {
        reserve(&mut self.stack, pixels.count_ones() as usize)?;
        while pixels != 0 {
            let x = word * WORD + pixels.trailing_zeros() as usize;
            pixels &= pixels - 1;
            self.stack.push(State { x: x as u32, y: y as u32, heading });
        }
        Ok(())
    }

    /// Follows all traces on the stack.
    fn trace_all(&mut self) -> Result<()> {
        while let Some(State { x, y, heading }) = self.stack.pop() {
            self.trace_one(x as usize, y as usize, heading)?;
        }
        Ok(())
    }

    /// Follows one trace from a pixel that it may enter.
    fn trace_one(&mut self, mut x: usize, mut y: usize, heading: Heading) -> Result<()> {
        let [direction, low, mark] = heading.planes();
        loop {
            self.steps += 1;
            if self.steps.is_multiple_of(STEPS_PER_CHECK) {
                self.ticker.check()?;
            }
            // 1. The trace ends, or turns, at an edge of the other direction, and ends at a mark.
            let bit = 1u64 << (x % WORD);
            if !self.planes.bit(direction, x, y) {
                if self.turns {
                    self.enter(bit, x / WORD, y, heading)?;
                }
                return Ok(());
            }
            let at = self.planes.index(mark, x / WORD, y);
            if self.planes.words[at] & bit != 0 {
                return Ok(());
            }
            // 2. Mark the pixel, and step ahead.
            self.planes.words[at] |= bit;
            let to_low = self.planes.word(low, x / WORD, y) & bit != 0;
            let high = self.planes.index(low, x / WORD, y) + self.planes.stride;
            let to_high = self.planes.words[high] & bit != 0;
            let side = isize::from(to_high) - isize::from(to_low);
            let (dx, dy) = match heading {
                Heading::Left => (-1, side),
                Heading::Right => (1, side),
                Heading::Up => (side, -1),
                Heading::Down => (side, 1),
            };
            let (Some(next_x), Some(next_y)) = (x.checked_add_signed(dx), y.checked_add_signed(dy)) else {
                return Ok(());
            };
            if next_x >= self.planes.width || next_y >= self.planes.height {
                return Ok(());
            }
            (x, y) = (next_x, next_y);
        }
    }
}
