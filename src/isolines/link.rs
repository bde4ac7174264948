//! From crossings to polylines.
//!
//! Each crossing has at most one successor. The list of crossings is divided into bands, which are linked on all threads;
//! the pieces that leave a band are joined afterwards. The nesting is found by one scan of each row of pixels: the inside
//! of a closed curve lies between its crossings of the row, so the curves that are entered and not yet left form a stack,
//! and its top is the parent of the next curve that is entered.

use super::{Plan, Polyline, Polylines};
use crate::error::{Error, Result, number};
use crate::memory::{collected, par_collected, push, reserved, try_par_collected, zeroed};
use crate::parallel::take_first;
use crate::progress::Ticker;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Stands for no crossing, no piece or no curve.
pub(super) const NONE: u32 = u32::MAX;

/// The fewest crossings of one linking task, and the number of tasks per thread: fewer bands leave fewer pieces to join.
const LEAST_BAND: usize = 1 << 15;
const BANDS_PER_THREAD: usize = 4;

/// The points of one task that makes polylines.
const TASK_POINTS: usize = 1 << 15;

/// The number of crossings, pieces or points between two checks of the ticker.
const ITEMS_PER_CHECK: usize = 1 << 12;

/// The rows of one task of the nesting.
const TASK_ROWS: usize = 64;

/// The crossings of one slice and level, row by row. Within a row, the crossings between left and right pixels come before
/// those between upper and lower ones, each from left to right.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Crossings {
    /// The x and y of each crossing.
    pub(super) points: Vec<[f64; 2]>,
    /// The next crossing on the curve, or [`NONE`].
    pub(super) next: Vec<u32>,
    /// Two entries for each row: the index of its first crossing between left and right pixels, and of its first between
    /// upper and lower ones. The last entry is the number of all crossings.
    pub(super) rows: Vec<u32>,
}

/// Refuses a number of crossings that their indices cannot count.
pub(super) fn check_count(count: u64, level: f64) -> Result<()> {
    if count < u64::from(NONE) {
        return Ok(());
    }
    Err(Error::size(format!(
        "cannot link the isolines of level {}: a slice must have fewer than {NONE} crossings (got {count}); cut the \
         image into parts",
        number(level)
    )))
}

/// A part of a curve within one band, or a whole curve.
struct Chain {
    /// Its crossings in the list of the band, or in the common list.
    range: Range<usize>,
    closed: bool,
}

/// Checks the ticker once every [`ITEMS_PER_CHECK`] items.
fn check_at(item: usize, ticker: &Ticker) -> Result<()> {
    if item.is_multiple_of(ITEMS_PER_CHECK) { ticker.check() } else { Ok(()) }
}

/// Follows each item to its next one. A chain ends where the next one is not in `items`. Returns the items of all chains,
/// and the chains: first the open ones, in the order of their first items, then the closed ones.
fn follow(items: Range<usize>, next: &[u32], ticker: &Ticker) -> Result<(Vec<u32>, Vec<Chain>)> {
    let (mut list, mut entered): (Vec<u32>, Vec<u8>) = (reserved(items.len())?, zeroed(items.len())?);
    let next = |item: usize| Some(next[item] as usize).filter(|item| items.contains(item));
    for item in items.clone() {
        check_at(item, ticker)?;
        if let Some(next) = next(item) {
            entered[next - items.start] = 1;
        }
    }
    let mut chains = Vec::new();
    // An item that is nobody's next one begins an open chain. The items left after that belong to closed chains.
    for closed in [false, true] {
        for item in items.clone() {
            check_at(item, ticker)?;
            if entered[item - items.start] != u8::from(closed) {
                continue;
            }
            let start = list.len();
            let mut at = Some(item);
            while let Some(item) = at.filter(|item| !closed || entered[item - items.start] == 1) {
                check_at(list.len(), ticker)?;
                entered[item - items.start] = 2;
                list.push(item as u32);
                at = next(item);
            }
            push(&mut chains, Chain { range: start..list.len(), closed })?;
        }
    }
    Ok((list, chains))
}

/// Appends the crossings of a piece to the list, which has room for them.
fn append(order: &mut Vec<u32>, piece: &[u32], ticker: &Ticker) -> Result<()> {
    for part in piece.chunks(ITEMS_PER_CHECK) {
        ticker.check()?;
        order.extend_from_slice(part);
    }
    Ok(())
}

/// Returns the piece of a closed curve that holds its first crossing in the order of the list, and the index within the
/// piece.
fn first_crossing(pieces: &[&[u32]], ticker: &Ticker) -> Result<[usize; 2]> {
    let (mut first, mut place) = (NONE, [0; 2]);
    for (index, piece) in pieces.iter().enumerate() {
        for (part, crossings) in piece.chunks(ITEMS_PER_CHECK).enumerate() {
            ticker.check()?;
            if let Some((at, &crossing)) = crossings.iter().enumerate().min_by_key(|(_, crossing)| **crossing)
                && crossing < first
            {
                (first, place) = (crossing, [index, part * ITEMS_PER_CHECK + at]);
            }
        }
    }
    Ok(place)
}

/// Returns the list of the curves' crossings, and the curves in the order of their first crossings.
fn chains(next: &[u32], ticker: &Ticker) -> Result<(Vec<u32>, Vec<Chain>)> {
    // 1. Follow the curves within each band.
    let length = next.len().div_ceil(BANDS_PER_THREAD * rayon::current_num_threads()).max(LEAST_BAND);
    let followed = (0..next.len().div_ceil(length))
        .into_par_iter()
        .map(|band| follow(band * length..next.len().min((band + 1) * length), next, ticker));
    let bands = try_par_collected(followed)?;
    // 2. Join the pieces that leave their bands; `open` holds them in the order of their first crossings.
    let mut open: Vec<&[u32]> = Vec::new();
    let mut order = reserved(next.len())?;
    let mut chains = Vec::new();
    for (crossings, pieces) in &bands {
        for (index, piece) in pieces.iter().enumerate() {
            check_at(index, ticker)?;
            let crossings = &crossings[piece.range.clone()];
            if piece.closed {
                let start = order.len();
                append(&mut order, crossings, ticker)?;
                push(&mut chains, Chain { range: start..order.len(), closed: true })?;
            } else {
                push(&mut open, crossings)?;
            }
        }
    }
    let follower = |piece: &[u32]| match next[piece[piece.len() - 1] as usize] {
        NONE => NONE,
        crossing => open.partition_point(|piece| piece[0] < crossing) as u32,
    };
    let followers = par_collected(open.par_iter().map(|piece| follower(piece)))?;
    let (pieces, joined) = follow(0..open.len(), &followers, ticker)?;
    let pieces = collected(pieces.iter().map(|piece| open[*piece as usize]))?;
    for Chain { range, closed } in joined {
        let (pieces, start) = (&pieces[range], order.len());
        // A closed curve begins in the middle of a piece: the part of the piece before that crossing comes last.
        let [first, place] = if closed { first_crossing(pieces, ticker)? } else { [0; 2] };
        let (head, tail) = pieces[first].split_at(place);
        let others = pieces[first + 1..].iter().chain(&pieces[..first]).copied();
        std::iter::once(tail).chain(others).chain([head]).try_for_each(|piece| append(&mut order, piece, ticker))?;
        push(&mut chains, Chain { range: start..order.len(), closed })?;
    }
    // 3. Put the curves in order.
    chains.par_sort_unstable_by_key(|chain| order[chain.range.start]);
    ticker.check()?;
    Ok((order, chains))
}

/// Returns the curve that directly encloses each closed curve, or [`NONE`].
fn parents(rows: &[u32], order: &[u32], chains: &[Chain], ticker: &Ticker) -> Result<Vec<u32>> {
    let parents = par_collected((0..chains.len()).into_par_iter().map(|_| AtomicU32::new(NONE)))?;
    // The closed curve of each crossing, counted from 1; 0 where it is open.
    let owners: Vec<AtomicU32> = zeroed(order.len())?;
    chains.par_iter().enumerate().filter(|(_, chain)| chain.closed).try_for_each(|(curve, chain)| {
        order[chain.range.clone()].par_chunks(ITEMS_PER_CHECK).try_for_each(|crossings| {
            ticker.check()?;
            crossings.iter().for_each(|crossing| owners[*crossing as usize].store(curve as u32 + 1, Ordering::Relaxed));
            Ok(())
        })
    })?;
    rows.par_chunks(2 * TASK_ROWS).try_for_each(|rows| {
        let mut entered = Vec::new();
        for row in rows.chunks_exact(2) {
            ticker.check()?;
            for owner in &owners[row[0] as usize..row[1] as usize] {
                let Some(curve) = owner.load(Ordering::Relaxed).checked_sub(1) else { continue };
                let top = entered.last().copied().unwrap_or(NONE);
                if top == curve {
                    entered.pop();
                } else {
                    // Every row that a curve crosses finds the same parent, so the order of the stores does not matter.
                    parents[curve as usize].store(top, Ordering::Relaxed);
                    push(&mut entered, curve)?;
                }
            }
        }
        Ok(())
    })?;
    par_collected(parents.into_par_iter().map(AtomicU32::into_inner))
}

/// Makes the polylines of one slice and level.
pub(super) fn link(plan: &Plan, slice: usize, level: f64, crossings: &Crossings, ticker: &Ticker) -> Result<Polylines> {
    let (order, chains) = chains(&crossings.next, ticker)?;
    let parents = parents(&crossings.rows, &order, &chains, ticker)?;
    // 1. Make the points, and leave out a point that equals the one before. Each task has a range of curves, and room for
    //    all their crossings.
    let mut points: Vec<[f64; 2]> = zeroed(order.len())?;
    let mut tasks = Vec::new();
    let (mut rest, mut begun, mut room) = (&mut points[..], 0, 0);
    for curve in 0..chains.len() {
        room += chains[curve].range.len();
        if room >= TASK_POINTS || curve + 1 - begun >= TASK_POINTS || curve + 1 == chains.len() {
            push(&mut tasks, (begun..curve + 1, take_first(&mut rest, room)))?;
            (begun, room) = (curve + 1, 0);
        }
    }
    let rooms = collected(tasks.iter().map(|(_, own)| own.len()))?;
    let made = try_par_collected(tasks.into_par_iter().map(|(curves, points)| {
        ticker.check()?;
        let mut polylines = reserved(curves.len())?;
        let mut end = 0;
        for chain in &chains[curves] {
            let first = end;
            for (index, crossing) in order[chain.range.clone()].iter().enumerate() {
                check_at(index, ticker)?;
                let point = crossings.points[*crossing as usize];
                if end == first || points[end - 1] != point {
                    points[end] = point;
                    end += 1;
                }
            }
            if chain.closed && end - first > 1 && points[first] == points[end - 1] {
                end -= 1;
            }
            // A curve of one point is no curve. It keeps its place, with no points, until the parents are numbered.
            if end - first == 1 {
                end = first;
            }
            let [length, area] = measure(&points[first..end], chain.closed, plan.spacing, ticker)?;
            polylines.push(Polyline {
                first: first as u64,
                count: (end - first) as u64,
                parent: -1,
                level,
                length,
                area,
                slice: slice as u32,
                flags: if chain.closed { Polylines::CLOSED } else { 0 },
            });
        }
        Ok((polylines, end))
    }))?;
    // 2. Close the gaps where points were left out.
    let mut polylines = reserved(chains.len())?;
    let (mut begin, mut end) = (0, 0);
    for ((own, count), room) in made.into_iter().zip(rooms) {
        for part in (0..count).step_by(ITEMS_PER_CHECK) {
            ticker.check()?;
            if begin != end {
                points.copy_within(begin + part..begin + count.min(part + ITEMS_PER_CHECK), end + part);
            }
        }
        let moved = |polyline: Polyline| Polyline { first: polyline.first + end as u64, ..polyline };
        polylines.extend(own.into_iter().map(moved));
        (begin, end) = (begin + room, end + count);
    }
    points.truncate(end);
    // 3. Leave out curves without points, which enclose none, and number the parents.
    let mut numbers: Vec<u32> = reserved(chains.len())?;
    let mut kept = 0;
    for polyline in &polylines {
        numbers.push(kept);
        kept += u32::from(polyline.count > 0);
    }
    for (polyline, parent) in polylines.iter_mut().zip(parents) {
        polyline.parent = if parent == NONE { -1 } else { i64::from(numbers[parent as usize]) };
    }
    polylines.retain(|polyline| polyline.count > 0);
    Ok(Polylines { points, polylines })
}

/// Returns length and signed area of a curve.
pub(crate) fn measure(points: &[[f64; 2]], closed: bool, [hx, hy]: [f64; 2], ticker: &Ticker) -> Result<[f64; 2]> {
    let (mut length, mut twice) = (0.0, 0.0);
    // Relative to the first point, so that digits are not lost far from the origin.
    let Some(&origin) = points.first() else { return Ok([0.0; 2]) };
    let mut add = |from: [f64; 2], to: [f64; 2]| {
        let [ax, ay] = [from[0] - origin[0], from[1] - origin[1]];
        let [bx, by] = [to[0] - origin[0], to[1] - origin[1]];
        let [dx, dy] = [(bx - ax) * hx, (by - ay) * hy];
        length += (dx * dx + dy * dy).sqrt();
        twice += ax * by - bx * ay;
    };
    for (index, pair) in points.windows(2).enumerate() {
        check_at(index, ticker)?;
        add(pair[0], pair[1]);
    }
    if !closed {
        return Ok([length, 0.0]);
    }
    add(points[points.len() - 1], origin);
    Ok([length, twice / 2.0 * hx * hy])
}
