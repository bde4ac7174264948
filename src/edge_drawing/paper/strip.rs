//! Linking within a strip of 64 rows.

use super::super::edge_map::WORD;
use super::{Plane, STRIP};
use crate::error::Result;
use crate::memory::zeroed;

/// The number of rows of bits for the exits of a strip, which are the pixels above or below it at which its traces arrive.
/// Each heading has a row of its own: first those for the row above the strip, then those for the row below.
pub(super) const EXITS: usize = 6;
pub(super) const UP_FROM_UP: usize = 0;
pub(super) const UP_FROM_LEFT: usize = 1;
pub(super) const UP_FROM_RIGHT: usize = 2;
pub(super) const DOWN_FROM_DOWN: usize = 3;
pub(super) const DOWN_FROM_LEFT: usize = 4;
pub(super) const DOWN_FROM_RIGHT: usize = 5;

/// The workspace for linking one strip after the other.
pub(super) struct Strip {
    width: usize,
    /// The number of words of a plane in a row.
    stride: usize,
    /// The number of planes in a record.
    count: usize,
    /// The anchors of each row.
    anchors: Vec<u64>,
    /// The pixels at which the traces of one row arrive in the next.
    arrivals: Vec<u64>,
    /// The pixels whose traces step to the low and to the high side, with one more word at either end.
    aside: [Vec<u64>; 2],
    /// The planes by columns: bit r of word x is row r.
    columns: [Vec<u64>; COLUMNS],
}

/// The number of planes that are kept by columns, and their indices.
const COLUMNS: usize = 10;
const HORIZONTAL: usize = 0;
const ANCHORS: usize = 1;
const MINUS_LOW: usize = 2;
const MINUS_HIGH: usize = 3;
const PLUS_LOW: usize = 4;
const PLUS_HIGH: usize = 5;
const LEFT_MARKS: usize = 6;
const RIGHT_MARKS: usize = 7;
/// The planes that only `follow_turns` needs.
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

    /// Returns the anchors of a row. The caller sets them before [`link`](Self::link).
    pub(super) fn anchors(&mut self, row: usize) -> &mut [u64] {
        &mut self.anchors[row * self.stride..][..self.stride]
    }

    /// Marks all pixels that traces from the strip's anchors reach within the strip, and stores their exits.
    #[inline(always)]
    pub(super) fn link(&mut self, records: &mut [u64], exits: &mut [u64]) {
        let stride = self.stride;
        let rows = records.len() / (stride * self.count);
        let turns = self.count > Plane::Turn as usize;
        // 1. Clear the buffers, which may be left over from another slice.
        exits.fill(0);
        if turns {
            for record in records.chunks_exact_mut(stride * self.count) {
                record[Plane::Turn as usize * stride..].fill(0);
            }
        }
        // 2. Sweep up and down the rows.
        self.sweep_rows((0..rows).rev(), records, Plane::MinusLow, Plane::MinusMark, turns);
        exits[UP_FROM_UP * stride..][..stride].copy_from_slice(&self.arrivals);
        self.sweep_rows(0..rows, records, Plane::PlusLow, Plane::PlusMark, turns);
        exits[DOWN_FROM_DOWN * stride..][..stride].copy_from_slice(&self.arrivals);
        // 3. Sweep left and right over the transposed planes.
        self.transpose_to_columns(records, turns);
        self.sweep_columns(exits, turns);
        self.transpose_back(records, turns);
    }

    /// Makes all traces up, or down, the rows.
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
            let [vertical, low, high] = [plane(Plane::Vertical as usize), plane(low as usize), plane(low as usize + 1)];
            let anchors = &self.anchors[row * stride..][..stride];
            // 1. With `follow_turns`, note arrivals at edges of the other direction.
            if turns {
                let turn = &mut marks[(Plane::Turn as usize - Plane::MinusMark as usize) * stride..][..stride];
                for ((turn, arrived), across) in turn.iter_mut().zip(&*arrivals).zip(plane(Plane::Horizontal as usize))
                {
                    *turn |= arrived & across;
                }
            }
            // 2. Mark arrivals and anchors on edges of this direction, and split them by the side of the next step.
            let marks = &mut marks[(mark as usize - Plane::MinusMark as usize) * stride..][..stride];
            let [to_low, to_high] = &mut self.aside;
            {
                let [to_low, to_high] = [&mut to_low[1..][..stride], &mut to_high[1..][..stride]];
                for i in 0..stride {
                    let marked = (arrivals[i] | anchors[i]) & vertical[i];
                    marks[i] = marked;
                    to_low[i] = marked & low[i];
                    to_high[i] = marked & high[i];
                    arrivals[i] = marked & !(low[i] | high[i]);
                }
            }
            // 3. Shift the marks that step aside by one pixel: the arrivals in the next row.
            let [low_here, low_next] = [&to_low[1..][..stride], &to_low[2..][..stride]];
            let [high_before, high_here] = [&to_high[..stride], &to_high[1..][..stride]];
            for i in 0..stride {
                let to_low = low_here[i] >> 1 | low_next[i] << 63;
                let to_high = high_here[i] << 1 | high_before[i] >> 63;
                arrivals[i] |= to_low | to_high;
            }
        }
    }

    /// Transposes the planes that horizontal traces need to columns.
    #[inline(always)]
    fn transpose_to_columns(&mut self, records: &[u64], turns: bool) {
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
                // This block has no horizontal edges, so the other planes do not matter.
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

    /// Makes all traces to the right and to the left.
    #[inline(always)]
    fn sweep_columns(&mut self, exits: &mut [u64], turns: bool) {
        let [stride, width] = [self.stride, self.width];
        let [horizontal, anchors, minus_low, minus_high, plus_low, plus_high, left, right, vertical, turned] =
            &mut self.columns;
        turned.fill(0);
        // Clear the columns beyond the width, in which transposing back the last strip has left bits.
        left[width..].fill(0);
        right[width..].fill(0);
        let mut exit = |exit: usize, x: usize, set: u64| exits[exit * stride + x / WORD] |= set << (x % WORD);
        let mut arrived = 0u64;
        for x in 0..width {
            if turns {
                turned[x] |= arrived & vertical[x];
            }
            let marked = (arrived | anchors[x]) & horizontal[x];
            right[x] = marked;
            let [low, high] = [marked & plus_low[x], marked & plus_high[x]];
            arrived = marked & !(plus_low[x] | plus_high[x]) | low >> 1 | high << 1;
            exit(UP_FROM_RIGHT, x + 1, low & 1);
            exit(DOWN_FROM_RIGHT, x + 1, high >> 63);
        }
        arrived = 0;
        for x in (0..width).rev() {
            if turns {
                turned[x] |= arrived & vertical[x];
            }
            let marked = (arrived | anchors[x]) & horizontal[x];
            left[x] = marked;
            let [low, high] = [marked & minus_low[x], marked & minus_high[x]];
            arrived = marked & !(minus_low[x] | minus_high[x]) | low >> 1 | high << 1;
            // No trace leaves the image: beyond column 0 no bit is ever set.
            exit(UP_FROM_LEFT, x.saturating_sub(1), low & 1);
            exit(DOWN_FROM_LEFT, x.saturating_sub(1), high >> 63);
        }
    }

    /// Transposes the marks of horizontal traces back to rows.
    #[inline(always)]
    fn transpose_back(&mut self, records: &mut [u64], turns: bool) {
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

/// Returns the 64 columns of word `word` of a row.
#[inline(always)]
fn block_of(columns: &mut [u64], word: usize) -> &mut [u64; STRIP] {
    &mut columns.as_chunks_mut().0[word]
}

/// Transposes the words at `at` of up to 64 rows to columns; a row is `pitch` words.
#[inline(always)]
fn to_columns(rows: &[u64], pitch: usize, at: usize, columns: &mut [u64], word: usize) {
    let block = block_of(columns, word);
    let count = rows.len() / pitch;
    for (row, to) in block.iter_mut().enumerate() {
        *to = if row < count { rows[row * pitch + at] } else { 0 };
    }
    transpose(block);
}

/// Transposes a block: bit c of word r and bit r of word c are exchanged.
#[inline(always)]
fn transpose(block: &mut [u64; STRIP]) {
    swap::<32>(block, 0x0000_0000_ffff_ffff);
    swap::<16>(block, 0x0000_ffff_0000_ffff);
    swap::<8>(block, 0x00ff_00ff_00ff_00ff);
    swap::<4>(block, 0x0f0f_0f0f_0f0f_0f0f);
    swap::<2>(block, 0x3333_3333_3333_3333);
    swap::<1>(block, 0x5555_5555_5555_5555);
}

/// Exchanges, in each square of 2·N by 2·N bits, the quarter at the top right and that at the bottom left.
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
    fn transpose_exchanges_rows_and_columns() {
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
