//! Linking within a strip of 64 rows.

use super::super::edge_map::WORD;
use super::{Plane, STRIP};
use crate::error::Result;
use crate::image::zeroed;

/// The rows of bits that say where walks leave a strip, by heading: to the row above it, then to the row below it.
pub(super) const EXITS: usize = 6;
pub(super) const UP_FROM_UP: usize = 0;
pub(super) const UP_FROM_LEFT: usize = 1;
pub(super) const UP_FROM_RIGHT: usize = 2;
pub(super) const DOWN_FROM_DOWN: usize = 3;
pub(super) const DOWN_FROM_LEFT: usize = 4;
pub(super) const DOWN_FROM_RIGHT: usize = 5;

/// Works on one strip after the other.
pub(super) struct Strip {
    width: usize,
    /// Words of a plane in a row, and planes in a record.
    stride: usize,
    count: usize,
    /// The anchors of each row.
    anchors: Vec<u64>,
    /// Where the walks of one row arrive in the next, and the parts of them that step aside, with a word more at either
    /// end.
    arrivals: Vec<u64>,
    aside: [Vec<u64>; 2],
    /// Planes by columns: bit r of word x is row r.
    columns: [Vec<u64>; COLUMNS],
}

/// The planes that are kept by columns.
const COLUMNS: usize = 10;
const HORIZONTAL: usize = 0;
const ANCHORS: usize = 1;
const MINUS_LOW: usize = 2;
const MINUS_HIGH: usize = 3;
const PLUS_LOW: usize = 4;
const PLUS_HIGH: usize = 5;
const LEFT_MARKS: usize = 6;
const RIGHT_MARKS: usize = 7;
/// With `follow_turns` only.
const VERTICAL: usize = 8;
const TURNS: usize = 9;

impl Strip {
    pub(super) fn new(width: usize, stride: usize, count: usize) -> Result<Self> {
        let mut columns = [const { Vec::new() }; COLUMNS];
        let used = if count > Plane::Turn as usize { COLUMNS } else { VERTICAL };
        for column in &mut columns[..used] {
            *column = zeroed(stride * WORD)?;
        }
        Ok(Self {
            width,
            stride,
            count,
            anchors: zeroed(STRIP * stride)?,
            arrivals: zeroed(stride)?,
            aside: [zeroed(stride + 2)?, zeroed(stride + 2)?],
            columns,
        })
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The anchors of a row, to be set before [`link`](Self::link).
    pub(super) fn anchors(&mut self, row: usize) -> &mut [u64] {
        &mut self.anchors[row * self.stride..][..self.stride]
    }

    /// Marks all that the strip's anchors reach within the strip, and notes where walks leave it.
    #[inline(always)]
    pub(super) fn link(&mut self, records: &mut [u64], exits: &mut [u64]) {
        let stride = self.stride;
        let rows = records.len() / (stride * self.count);
        let turns = self.count > Plane::Turn as usize;
        // The memory may be left over from another slice.
        exits.fill(0);
        if turns {
            for record in records.chunks_exact_mut(stride * self.count) {
                record[Plane::Turn as usize * stride..].fill(0);
            }
        }
        self.sweep_rows((0..rows).rev(), records, Plane::MinusLow, Plane::MinusMark, turns);
        exits[UP_FROM_UP * stride..][..stride].copy_from_slice(&self.arrivals);
        self.sweep_rows(0..rows, records, Plane::PlusLow, Plane::PlusMark, turns);
        exits[DOWN_FROM_DOWN * stride..][..stride].copy_from_slice(&self.arrivals);
        self.turn_to_columns(records, turns);
        self.sweep_columns(exits, turns);
        self.turn_back(records, turns);
    }

    /// All walks up, or down, the rows.
    #[inline(always)]
    fn sweep_rows(
        &mut self,
        rows: impl Iterator<Item = usize>,
        records: &mut [u64],
        low: Plane,
        mark: Plane,
        turns: bool,
    ) {
        let stride = self.stride;
        let arrivals = &mut self.arrivals[..stride];
        arrivals.fill(0);
        for row in rows {
            let record = &mut records[row * stride * self.count..][..stride * self.count];
            let (ways, marks) = record.split_at_mut(Plane::MinusMark as usize * stride);
            let plane = |index: usize| &ways[index * stride..][..stride];
            let [vertical, low, high] = [plane(0), plane(low as usize), plane(low as usize + 1)];
            let anchors = &self.anchors[row * stride..][..stride];
            if turns {
                let turn = &mut marks[(Plane::Turn as usize - Plane::MinusMark as usize) * stride..][..stride];
                for ((turn, arrived), across) in turn.iter_mut().zip(&*arrivals).zip(plane(Plane::Horizontal as usize))
                {
                    *turn |= arrived & across;
                }
            }
            let marks = &mut marks[(mark as usize - Plane::MinusMark as usize) * stride..][..stride];
            let [to_low, to_high] = &mut self.aside;
            {
                let [to_low, to_high] = [&mut to_low[1..][..stride], &mut to_high[1..][..stride]];
                for i in 0..stride {
                    let walked = (arrivals[i] | anchors[i]) & vertical[i];
                    marks[i] = walked;
                    to_low[i] = walked & low[i];
                    to_high[i] = walked & high[i];
                    arrivals[i] = walked & !(low[i] | high[i]);
                }
            }
            let [low_here, low_next] = [&to_low[1..][..stride], &to_low[2..][..stride]];
            let [high_before, high_here] = [&to_high[..stride], &to_high[1..][..stride]];
            for i in 0..stride {
                let to_low = low_here[i] >> 1 | low_next[i] << 63;
                let to_high = high_here[i] << 1 | high_before[i] >> 63;
                arrivals[i] |= to_low | to_high;
            }
        }
    }

    /// The planes that horizontal walks need, by columns.
    #[inline(always)]
    fn turn_to_columns(&mut self, records: &[u64], turns: bool) {
        let [stride, record] = [self.stride, self.stride * self.count];
        for word in 0..self.width.div_ceil(WORD) {
            if turns {
                to_columns(
                    records,
                    record,
                    Plane::Vertical as usize * stride + word,
                    &mut self.columns[VERTICAL],
                    word,
                );
            }
            let horizontal = Plane::Horizontal as usize * stride + word;
            let any = records.chunks_exact(record).fold(0, |any, record| any | record[horizontal]);
            if any == 0 {
                // Nothing is walked here, wherever the other planes point.
                for column in [HORIZONTAL, ANCHORS] {
                    block_of(&mut self.columns[column], word).fill(0);
                }
                continue;
            }
            to_columns(&self.anchors, stride, word, &mut self.columns[ANCHORS], word);
            for (plane, column) in [
                (Plane::Horizontal, HORIZONTAL),
                (Plane::MinusLow, MINUS_LOW),
                (Plane::MinusHigh, MINUS_HIGH),
                (Plane::PlusLow, PLUS_LOW),
                (Plane::PlusHigh, PLUS_HIGH),
            ] {
                to_columns(records, record, plane as usize * stride + word, &mut self.columns[column], word);
            }
        }
    }

    /// All walks to the left and to the right.
    #[inline(always)]
    fn sweep_columns(&mut self, exits: &mut [u64], turns: bool) {
        let [stride, width] = [self.stride, self.width];
        let [horizontal, anchors, minus_low, minus_high, plus_low, plus_high, left, right, vertical, turned] =
            &mut self.columns;
        turned.fill(0);
        // Beyond the width, what the last strip left there when it was turned back.
        left[width..].fill(0);
        right[width..].fill(0);
        let mut exit = |exit: usize, x: usize, set: u64| exits[exit * stride + x / WORD] |= set << (x % WORD);
        let mut arrived = 0u64;
        for x in 0..width {
            if turns {
                turned[x] |= arrived & vertical[x];
            }
            let walked = (arrived | anchors[x]) & horizontal[x];
            right[x] = walked;
            let [low, high] = [walked & plus_low[x], walked & plus_high[x]];
            arrived = walked & !(plus_low[x] | plus_high[x]) | low >> 1 | high << 1;
            exit(UP_FROM_RIGHT, x + 1, low & 1);
            exit(DOWN_FROM_RIGHT, x + 1, high >> 63);
        }
        arrived = 0;
        for x in (0..width).rev() {
            if turns {
                turned[x] |= arrived & vertical[x];
            }
            let walked = (arrived | anchors[x]) & horizontal[x];
            left[x] = walked;
            let [low, high] = [walked & minus_low[x], walked & minus_high[x]];
            arrived = walked & !(minus_low[x] | minus_high[x]) | low >> 1 | high << 1;
            // Nothing leads off the image: beyond column 0 no bit is ever set.
            exit(UP_FROM_LEFT, x.saturating_sub(1), low & 1);
            exit(DOWN_FROM_LEFT, x.saturating_sub(1), high >> 63);
        }
    }

    /// The marks of horizontal walks, by rows again.
    #[inline(always)]
    fn turn_back(&mut self, records: &mut [u64], turns: bool) {
        let [stride, record] = [self.stride, self.stride * self.count];
        let last = if turns { TURNS } else { RIGHT_MARKS };
        for word in 0..self.width.div_ceil(WORD) {
            for (column, plane) in
                [(LEFT_MARKS, Plane::MinusMark), (RIGHT_MARKS, Plane::PlusMark), (TURNS, Plane::Turn)]
            {
                if column > last {
                    continue;
                }
                let block = block_of(&mut self.columns[column], word);
                if block.iter().fold(0, |any, column| any | column) == 0 {
                    continue;
                }
                transpose(block);
                for (row, record) in block.iter().zip(records.chunks_exact_mut(record)) {
                    record[plane as usize * stride + word] |= row;
                }
            }
        }
    }
}

/// The columns of word `word` of a row.
#[inline(always)]
fn block_of(columns: &mut [u64], word: usize) -> &mut [u64; STRIP] {
    &mut columns.as_chunks_mut().0[word]
}

/// Turns the words at `at` of up to 64 rows into columns; a row is `pitch` words.
#[inline(always)]
fn to_columns(rows: &[u64], pitch: usize, at: usize, columns: &mut [u64], word: usize) {
    let block = block_of(columns, word);
    let count = rows.len() / pitch;
    for (row, to) in block.iter_mut().enumerate() {
        *to = if row < count { rows[row * pitch + at] } else { 0 };
    }
    transpose(block);
}

/// Turns rows into columns: bit c of word r changes places with bit r of word c.
#[inline(always)]
fn transpose(block: &mut [u64; STRIP]) {
    swap::<32>(block, 0x0000_0000_ffff_ffff);
    swap::<16>(block, 0x0000_ffff_0000_ffff);
    swap::<8>(block, 0x00ff_00ff_00ff_00ff);
    swap::<4>(block, 0x0f0f_0f0f_0f0f_0f0f);
    swap::<2>(block, 0x3333_3333_3333_3333);
    swap::<1>(block, 0x5555_5555_5555_5555);
}

/// In each square of 2·N by 2·N bits, the quarter at the top right changes places with that at the bottom left.
#[inline(always)]
fn swap<const N: usize>(block: &mut [u64; STRIP], low: u64) {
    for pair in block.chunks_exact_mut(2 * N) {
        let (top, bottom) = pair.split_at_mut(N);
        for (top, bottom) in top.iter_mut().zip(bottom) {
            let moved = (*top >> N ^ *bottom) & low;
            *top ^= moved << N;
            *bottom ^= moved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_exchanges_rows_and_columns() {
        let mut state = 1u64;
        let block: [u64; STRIP] = std::array::from_fn(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ state >> 29
        });
        let mut turned = block;
        transpose(&mut turned);
        for (r, row) in block.iter().enumerate() {
            for (c, column) in turned.iter().enumerate() {
                assert_eq!(column >> r & 1, row >> c & 1, "row {r}, column {c}");
            }
        }
    }
}
