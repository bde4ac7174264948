//! Computes the surface on all threads of the CPU. Bit masks of the voxels' classes give bit masks of the crossed edges,
//! and prefix sums of the counts of bits and of triangles give the index of each vertex and triangle in its list.

use super::Plan;
use super::cells::{EDGES, Table, Variant, edge};
use crate::device::Own;
use crate::device::kernels::isosurface::IS_LINES;
use crate::error::{Error, Result, number};
use crate::image::{Foreground, Image, on_host, packed_row};
use crate::memory::{extend, push, zeroed};
use crate::parallel::{take_first, try_par_each};
use crate::progress::Ticker;
use crate::threshold::{Pixel, WORD, bits, for_each_bit};
use ndarray::ArrayView3;
use rayon::prelude::*;
use std::ops::Range;

/// The voxels of one task.
const TASK_VOXELS: usize = 1 << 16;

/// The groups of vertices of a row, in their order: on edges along x, along y, along z, and the means.
const LINES: usize = IS_LINES;

/// The number of slices on either side on which the result of a slice depends. Its vertices depend on the cells in front of
/// it and behind it; its triangles refer to vertices of the next slice, whose numbers depend on the cells behind that one.
pub(super) const HALO: usize = 2;

/// The number of parts of the work, for the progress, each of as many units as there are rows; the last part is the
/// measures.
const PARTS: u64 = 4;

/// Returns the mesh of the slices `own` of a volume or of a slab. A slab has [`HALO`] more slices on either side, fewer
/// only at the ends of the volume. It runs in the pool of the context.
pub(super) fn mesh(plan: &Plan, input: &Image<'_>, own: &Own, ticker: &Ticker) -> Result<Mesh> {
    on_host!(Image, input, view => mesh_of(plan, *view, own, ticker), Err(Error::in_cuda_memory("image")))
}

/// A volume or a slab, with the border of one voxel that closes it, if any.
struct Volume<'a, T> {
    view: ArrayView3<'a, T>,
    /// The voxels of the border on each side along x and y, and in front of the slices and behind them.
    border: usize,
    ends: [usize; 2],
    /// The number of the first slice of `view` in the whole volume.
    first: usize,
    /// The voxels along x, y, z with the border.
    size: [usize; 3],
    /// The words of a row of bits.
    pitch: usize,
    plan: &'a Plan,
    table: &'static Table,
}

/// Vertices and triangles.
#[derive(Default)]
pub(super) struct Mesh {
    pub(super) vertices: Vec<[f32; 3]>,
    pub(super) triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// Copies a mesh of the host, after checks. It runs in the pool of the context.
    pub(super) fn checked(vertices: &[[f32; 3]], triangles: &[[u32; 3]], ticker: &Ticker) -> Result<Self> {
        if vertices.len().max(triangles.len().saturating_mul(3)) >= u32::MAX as usize {
            return Err(Error::size(format!(
                "cannot use the mesh: it must have fewer than {} vertices and a third as many triangles (got {} and {}); cut it \
                 into parts",
                u32::MAX,
                vertices.len(),
                triangles.len()
            )));
        }
        let is_finite = |vertex: &[f32; 3]| vertex.iter().all(|coordinate| coordinate.is_finite());
        if let Some(place) = vertices.par_iter().position_first(|vertex| !is_finite(vertex)) {
            let got = vertices[place];
            return Err(Error::argument(format!(
                "cannot use the mesh: its vertices must be finite (got {got:?} as vertex {place}); leave it out, with its triangles"
            )));
        }
        let count = vertices.len();
        let there = |triangle: &[u32; 3]| triangle.iter().all(|vertex| (*vertex as usize) < count);
        if let Some(place) = triangles.par_iter().position_first(|triangle| !there(triangle)) {
            let got = triangles[place];
            return Err(Error::argument(format!(
                "cannot use the mesh: the indices of its triangles must be less than the number of its vertices, {count} (got \
                 {got:?} as triangle {place}); count vertices from 0"
            )));
        }
        let mut copy = Self::default();
        extend_while(&mut copy.vertices, vertices, |vertex| vertex, ticker)?;
        extend_while(&mut copy.triangles, triangles, |corners| corners, ticker)?;
        Ok(copy)
    }

    /// Appends the mesh of the slices that follow.
    pub(super) fn append(&mut self, next: Self, level: f64, ticker: &Ticker) -> Result<()> {
        let before = self.vertices.len();
        check_count((before + next.vertices.len()) as u64, level)?;
        check_count(3 * (self.triangles.len() + next.triangles.len()) as u64, level)?;
        extend_while(&mut self.vertices, &next.vertices, |vertex| vertex, ticker)?;
        let behind = |corners: [u32; 3]| corners.map(|vertex| vertex + before as u32);
        extend_while(&mut self.triangles, &next.triangles, behind, ticker)
    }
}

/// Adds items to a list, unless the ticker cancels it.
fn extend_while<T: Copy>(list: &mut Vec<T>, items: &[T], make: impl Fn(T) -> T, ticker: &Ticker) -> Result<()> {
    for block in items.chunks(TASK_VOXELS) {
        ticker.check()?;
        extend(list, block.iter().map(|item| make(*item)))?;
    }
    Ok(())
}

fn mesh_of<T: Pixel + Into<f64>>(plan: &Plan, view: ArrayView3<'_, T>, own: &Own, ticker: &Ticker) -> Result<Mesh> {
    let border = usize::from(plan.close);
    let (depth, height, width) = view.dim();
    // A slab with fewer than [`HALO`] slices beside its own is at an end of the volume.
    let ends = [own.at.start < HALO, depth - own.at.end < HALO].map(|is_end| if is_end { border } else { 0 });
    let size = [width + 2 * border, height + 2 * border, depth + ends[0] + ends[1]];
    let pitch = size[0].div_ceil(WORD);
    let first = own.first - own.at.start;
    let volume = Volume { view, border, ends, first, size, pitch, plan, table: Table::get() };
    ticker.expect(PARTS * volume.rows() as u64);
    let classes = Classes::new(&volume, ticker)?;
    let marks = Marks::new(&volume, &classes, ticker)?;
    // The border in front of the volume belongs to the first slice, and the border behind it to the last slice.
    let start = if own.at.start == 0 { 0 } else { own.at.start + ends[0] };
    let end = if own.at.end == depth { size[2] } else { own.at.end + ends[0] };
    fill(&volume, &classes, &marks, start * size[1]..end * size[1], ticker)
}

impl<T: Pixel + Into<f64>> Volume<'_, T> {
    fn rows(&self) -> usize {
        self.size[1] * self.size[2]
    }

    /// Returns the rows of one task.
    fn task_rows(&self) -> usize {
        (TASK_VOXELS / (self.pitch * WORD)).max(1)
    }

    /// Returns the four rows with the corners of the cells that begin in a row, as offsets from that row.
    fn corner_rows(&self) -> [usize; 4] {
        [0, 1, self.size[1], self.size[1] + 1]
    }

    /// Returns the number of border voxels in front of the first voxel along each axis.
    fn before(&self) -> [usize; 3] {
        [self.border, self.border, self.ends[0]]
    }

    /// Returns a voxel; `None` beyond the volume.
    fn value(&self, voxel: [usize; 3]) -> Option<f64> {
        let before = self.before();
        let [x, y, z] = std::array::from_fn(|axis| voxel[axis].wrapping_sub(before[axis]));
        self.view.get([z, y, x]).map(|value| (*value).into())
    }

    /// Returns the position of the vertex on the edge that goes from a voxel along an axis.
    fn position(&self, voxel: [usize; 3], axis: usize) -> [f64; 3] {
        let mut end = voxel;
        end[axis] += 1;
        let share = match (self.value(voxel), self.value(end)) {
            (Some(a), Some(b)) => (self.plan.level - a) / (b - a),
            // Half a voxel beyond the border.
            _ => 0.5,
        };
        let (before, first) = (self.before(), [0, 0, self.first]);
        let mut position: [f64; 3] =
            std::array::from_fn(|axis| (voxel[axis] + first[axis]) as f64 - before[axis] as f64);
        position[axis] += share;
        std::array::from_fn(|axis| position[axis] * self.plan.spacing[axis])
    }

    /// Calls `visit` with each cell of a row that the surface passes, from left to right, and its triangles.
    fn cells(&self, classes: &Classes, row: usize, mut visit: impl FnMut([usize; 3], &Variant)) {
        let corner = |x, place: usize| {
            [x + (place & 1), row % self.size[1] + (place >> 1 & 1), row / self.size[1] + (place >> 2)]
        };
        for w in 0..self.pitch {
            let cells = classes.cells[row * self.pitch + w];
            if cells == 0 {
                continue;
            }
            let high = self.corner_rows().map(|by| {
                let at = (row + by) * self.pitch + w;
                let beyond = if w + 1 < self.pitch { classes.high[at + 1] } else { 0 };
                u64::from(classes.high[at]) | u64::from(beyond) << WORD
            });
            let [all, any] = [
                high.iter().fold(!0, |all, row| all & row & row >> 1),
                high.iter().fold(0, |any, row| any | row | row >> 1),
            ];
            for_each_bit(cells & any as u32 & !all as u32, |bit| {
                let x = w * WORD + bit;
                let case = high.iter().rev().fold(0, |case, row| case << 2 | (row >> bit & 3) as usize);
                // Only corners of ambiguous faces are read. No such face touches the border, whose voxels are all low, so
                // they are inside the volume.
                let sign = if self.plan.foreground == Foreground::Below { -1.0 } else { 1.0 };
                let inside =
                    |place: u8| sign * (self.value(corner(x, place as usize)).unwrap_or(f64::NAN) - self.plan.level);
                visit(corner(x, 0), self.table.variant(case, inside));
            });
        }
    }
}

/// Two bits for each voxel: whether it is high, and whether it is the first corner of a cell whose corners are all finite.
struct Classes {
    high: Vec<u32>,
    cells: Vec<u32>,
}

impl Classes {
    fn new<T: Pixel + Into<f64>>(volume: &Volume<'_, T>, ticker: &Ticker) -> Result<Self> {
        let Volume { view, border, ends, size: [width, height, depth], pitch, plan, .. } = *volume;
        let rows = volume.task_rows();
        let (mut high, mut finite): (Vec<u32>, Vec<u32>) =
            (zeroed(pitch * volume.rows())?, zeroed(pitch * volume.rows())?);
        let threshold = T::threshold(plan.level);
        let chunks = high.par_chunks_mut(pitch * rows).zip(finite.par_chunks_mut(pitch * rows));
        chunks.enumerate().try_for_each(|(chunk, (high, finite))| {
            ticker.check()?;
            let mut packed = Vec::new();
            for (index, (high, finite)) in high.chunks_mut(pitch).zip(finite.chunks_mut(pitch)).enumerate() {
                let row = chunk * rows + index;
                let (y, z) = ((row % height).wrapping_sub(border), (row / height).wrapping_sub(ends[0]));
                let inside = y < view.dim().1 && z < view.dim().0;
                if inside {
                    let row = view.slice(ndarray::s![z, y, ..]);
                    let pixels = packed_row(&row, &mut packed)?;
                    for ((high, finite), pixels) in high.iter_mut().zip(finite.iter_mut()).zip(pixels.chunks(WORD)) {
                        *high = bits(pixels, |pixel| pixel.is_foreground(plan.foreground, threshold));
                        *finite = bits(pixels, |pixel| pixel.to_f32().is_finite());
                    }
                }
                if border == 1 {
                    if !inside {
                        (0..width).for_each(|x| finite[x / WORD] |= 1 << (x % WORD));
                    } else {
                        // The row's voxels come after one voxel of the border.
                        shift(high);
                        shift(finite);
                        finite[0] |= 1;
                        finite[(width - 1) / WORD] |= 1 << ((width - 1) % WORD);
                    }
                }
            }
            ticker.add((high.len() / pitch) as u64);
            Ok(())
        })?;
        let mut cells: Vec<u32> = zeroed(pitch * volume.rows())?;
        let pairs = |row: usize, w: usize| {
            let at = row * pitch + w;
            let beyond = if w + 1 < pitch { finite[at + 1] << (WORD - 1) } else { 0 };
            finite[at] & (finite[at] >> 1 | beyond)
        };
        cells.par_chunks_mut(pitch).enumerate().with_min_len(rows).for_each(|(row, cells)| {
            if row % height + 1 < height && row / height + 1 < depth {
                for (w, cells) in cells.iter_mut().enumerate() {
                    *cells = volume.corner_rows().iter().fold(!0, |all, by| all & pairs(row + by, w));
                }
            }
        });
        Ok(Self { high, cells })
    }
}

/// Moves the bits of a row one place to the right.
fn shift(row: &mut [u32]) {
    let mut carry = 0;
    for word in row {
        (*word, carry) = (*word << 1 | carry, *word >> (WORD - 1));
    }
}

/// The crossed edges as bits, and the prefix sums of the numbers of vertices and triangles.
struct Marks {
    /// The words of the edges along x, y and z of each row.
    words: Vec<u32>,
    /// The vertices before each word.
    before: Vec<u32>,
    /// The number of vertices before each group of vertices of each row; the last entry is the number of all vertices.
    lines: Vec<u32>,
    /// The number of triangles before the cells whose first corners are the voxels of each row; the last entry is the
    /// number of all triangles.
    triangles: Vec<u32>,
}

impl Marks {
    fn new<T: Pixel + Into<f64>>(volume: &Volume<'_, T>, classes: &Classes, ticker: &Ticker) -> Result<Self> {
        let Volume { size: [_, height, depth], pitch, .. } = *volume;
        let (rows, task_rows) = (volume.rows(), volume.task_rows());
        let (mut words, mut before): (Vec<u32>, Vec<u32>) = (zeroed(3 * pitch * rows)?, zeroed(3 * pitch * rows)?);
        let (mut lines, mut triangles): (Vec<u32>, Vec<u32>) = (zeroed(LINES * rows + 1)?, zeroed(rows + 1)?);
        words
            .par_chunks_mut(3 * pitch * task_rows)
            .zip(before.par_chunks_mut(3 * pitch * task_rows))
            .zip(lines[..LINES * rows].par_chunks_mut(LINES * task_rows))
            .zip(triangles[..rows].par_chunks_mut(task_rows))
            .enumerate()
            .try_for_each(|(task, (((words, before), lines), triangles))| {
                ticker.check()?;
                ticker.add(triangles.len() as u64);
                let own = words.chunks_mut(3 * pitch).zip(before.chunks_mut(3 * pitch));
                for (index, ((words, before), (lines, triangles))) in
                    own.zip(lines.chunks_mut(LINES).zip(triangles)).enumerate()
                {
                    let row = task * task_rows + index;
                    let has = [true, row % height + 1 < height, row / height + 1 < depth];
                    for axis in (0..3).filter(|axis| has[*axis]) {
                        for w in 0..pitch {
                            let word = crossed(volume, classes, row, w, axis);
                            words[axis * pitch + w] = word;
                            before[axis * pitch + w] = lines[axis];
                            lines[axis] = lines[axis].saturating_add(word.count_ones());
                        }
                    }
                    if has == [true; 3] {
                        volume.cells(classes, row, |_, variant| {
                            *triangles = triangles.saturating_add(variant.triangles().len() as u32);
                            lines[3] = lines[3].saturating_add((variant.mean != 0).into());
                        });
                    }
                }
                Ok(())
            })?;
        // The corners of all triangles must be countable in 32 bits; then the vertices are, too, because they are fewer.
        add_up(&mut lines, 1, volume.plan.level)?;
        add_up(&mut triangles, 3, volume.plan.level)?;
        before.par_chunks_mut(pitch).enumerate().with_min_len(task_rows).for_each(|(line, before)| {
            let first = lines[line / 3 * LINES + line % 3];
            before.iter_mut().for_each(|count| *count += first);
        });
        Ok(Self { words, before, lines, triangles })
    }

    /// Returns the vertices of rows.
    fn vertices(&self, rows: &Range<usize>) -> Range<usize> {
        self.lines[LINES * rows.start] as usize..self.lines[LINES * rows.end] as usize
    }

    /// Returns the triangles of rows.
    fn triangles(&self, rows: &Range<usize>) -> Range<usize> {
        self.triangles[rows.start] as usize..self.triangles[rows.end] as usize
    }

    /// Returns the number of the vertex on the edge that goes from a voxel of a row along an axis.
    #[inline]
    fn vertex(&self, pitch: usize, row: usize, x: usize, axis: usize) -> u32 {
        let at = (3 * row + axis) * pitch + x / WORD;
        self.before[at] + (self.words[at] & ((1 << (x % WORD)) - 1)).count_ones()
    }
}

/// Returns the crossed edges among those that go from the voxels of a word along an axis, as bits. An edge counts only if
/// it belongs to a cell whose corners are all finite.
#[inline]
fn crossed<T: Pixel + Into<f64>>(volume: &Volume<'_, T>, classes: &Classes, row: usize, w: usize, axis: usize) -> u32 {
    let Volume { size: [_, height, _], pitch, .. } = *volume;
    let at = row * pitch + w;
    let ends = match axis {
        0 => {
            let beyond = if w + 1 < pitch { classes.high[at + 1] << (WORD - 1) } else { 0 };
            classes.high[at] ^ (classes.high[at] >> 1 | beyond)
        }
        1 => classes.high[at] ^ classes.high[at + pitch],
        _ => classes.high[at] ^ classes.high[at + pitch * height],
    };
    if ends == 0 {
        return 0;
    }
    // Four cells share the edge: before and after its voxel along each of the two other axes.
    let of_row = |cells: usize| {
        let at = cells * pitch + w;
        if axis == 0 {
            return classes.cells[at];
        }
        let before = if w > 0 { classes.cells[at - 1] >> (WORD - 1) } else { 0 };
        classes.cells[at] | classes.cells[at] << 1 | before
    };
    let (above, before) = (axis != 1 && !row.is_multiple_of(height), axis != 2 && row >= height);
    let mut cells = of_row(row);
    if above {
        cells |= of_row(row - 1);
    }
    if before {
        cells |= of_row(row - height);
    }
    if above && before {
        cells |= of_row(row - height - 1);
    }
    ends & cells
}

/// Replaces counts by the sums of those before them.
fn add_up(counts: &mut [u32], corners: u64, level: f64) -> Result<()> {
    let mut total = 0u64;
    for count in counts {
        let own = u64::from(*count);
        *count = total as u32;
        total += own;
        check_count(total * corners, level)?;
    }
    Ok(())
}

/// Refuses a number of vertices or of triangle corners that does not fit 32 bits.
pub(super) fn check_count(count: u64, level: f64) -> Result<()> {
    if count < u64::from(u32::MAX) {
        return Ok(());
    }
    Err(Error::size(format!(
        "cannot make the isosurface of level {}: it must have fewer than {} vertices and a third as many \
         triangles (got more); cut the volume into parts",
        number(level),
        u32::MAX
    )))
}

/// Returns the vertices and the triangles of some rows.
fn fill<T: Pixel + Into<f64>>(
    volume: &Volume<'_, T>,
    classes: &Classes,
    marks: &Marks,
    all: Range<usize>,
    ticker: &Ticker,
) -> Result<Mesh> {
    let before = marks.vertices(&all).start as u32;
    let mut vertices: Vec<[f32; 3]> = zeroed(marks.vertices(&all).len())?;
    let mut triangles: Vec<[u32; 3]> = zeroed(marks.triangles(&all).len())?;
    let mut tasks = Vec::new();
    let (mut vertices_left, mut triangles_left) = (&mut vertices[..], &mut triangles[..]);
    for first in all.clone().step_by(volume.task_rows()) {
        let rows = first..all.end.min(first + volume.task_rows());
        let own_vertices = take_first(&mut vertices_left, marks.vertices(&rows).len());
        let own_triangles = take_first(&mut triangles_left, marks.triangles(&rows).len());
        push(&mut tasks, (rows, own_vertices, own_triangles))?;
    }
    try_par_each(tasks.into_iter(), ticker, |_, (rows, vertices, triangles)| {
        let count = rows.len() as u64;
        let (mut vertices, mut triangles) = (vertices.iter_mut(), triangles.iter_mut());
        for row in rows {
            let whole = row..row + 1;
            if !marks.vertices(&whole).is_empty() {
                edges(volume, marks, row, &mut vertices);
            }
            if !marks.triangles(&whole).is_empty() {
                let mut mean = marks.lines[LINES * row + 3];
                volume.cells(classes, row, |cell, variant| {
                    let mut numbers = [mean; EDGES + 1];
                    for_each_bit(variant.edges.into(), |index| {
                        let (corner, axis) = edge(index);
                        let row = row + volume.corner_rows()[corner >> 1];
                        numbers[index] = marks.vertex(volume.pitch, row, cell[0] + (corner & 1), axis);
                    });
                    variant.triangles().iter().zip(&mut triangles).for_each(|(edges, to)| {
                        *to = edges.map(|index| numbers[index as usize] - before);
                    });
                    if variant.mean != 0
                        && let Some(to) = vertices.next()
                    {
                        *to = mean_of(volume, cell, variant.mean);
                        mean += 1;
                    }
                });
            }
        }
        ticker.add(count);
        Ok(())
    })?;
    Ok(Mesh { vertices, triangles })
}

/// Makes the vertices on the edges of a row.
fn edges<'a, T: Pixel + Into<f64>>(
    volume: &Volume<'_, T>,
    marks: &Marks,
    row: usize,
    vertices: &mut impl Iterator<Item = &'a mut [f32; 3]>,
) {
    let [y, z] = [row % volume.size[1], row / volume.size[1]];
    for axis in 0..3 {
        let words = &marks.words[(3 * row + axis) * volume.pitch..][..volume.pitch];
        for (w, word) in words.iter().enumerate() {
            for_each_bit(*word, |bit| {
                if let Some(to) = vertices.next() {
                    *to = volume.position([w * WORD + bit, y, z], axis).map(|at| at as f32);
                }
            });
        }
    }
}

/// Returns the mean of the vertices on some edges of a cell.
fn mean_of<T: Pixel + Into<f64>>(volume: &Volume<'_, T>, [x, y, z]: [usize; 3], edges: u16) -> [f32; 3] {
    let mut sum = [0.0; 3];
    for_each_bit(edges.into(), |index| {
        let (corner, axis) = edge(index);
        let position = volume.position([x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2)], axis);
        sum = std::array::from_fn(|axis| sum[axis] + position[axis]);
    });
    sum.map(|sum| (sum / f64::from(edges.count_ones())) as f32)
}
