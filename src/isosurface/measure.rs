//! Normals and measures of a mesh. Sums are over fixed blocks of triangles, so that they do not depend on the number of
//! threads, and use no library function beyond the exactly rounded ones, so that `kernels/isosurface_measures.cuh` gives
//! the same bits.

use super::cpu::Mesh;
use super::{Measures, Surface};
use crate::device::kernels::isosurface::{
    IS_BLOCK, IS_EIGHTH_TANGENT, IS_FAR_TANGENT, IS_FOLD_TANGENT, IS_MOST_FLAT, IS_NEAR_TANGENT, IS_NONE,
    IS_QUARTER_PI, IS_TERMS,
};
use crate::error::Result;
use crate::image::Foreground;
use crate::memory::{par_collected, push, zeroed};
use crate::parallel::{take_first, try_par_each};
use crate::progress::Ticker;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Stands for no side: the edge has only one triangle.
const NONE: u32 = IS_NONE as u32;

/// The triangles of a task.
const TASK_TRIANGLES: usize = 1 << 14;

/// The parts of a mesh for each thread, and the fewest vertices of one.
const TASKS_PER_THREAD: usize = 4;
const TASK_VERTICES: usize = 1 << 14;

type Vector = [f64; 3];

fn minus(a: [f32; 3], b: [f32; 3]) -> Vector {
    std::array::from_fn(|axis| f64::from(a[axis]) - f64::from(b[axis]))
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the normal of a triangle; its length is twice the triangle's area.
fn normal(mesh: &Mesh, triangle: [u32; 3]) -> Vector {
    let [a, b, c] = triangle.map(|vertex| mesh.vertices[vertex as usize]);
    cross(minus(b, a), minus(c, a))
}

/// A range of vertices, and a range of triangles that includes all triangles of these vertices.
struct Part {
    vertices: Range<usize>,
    triangles: Range<usize>,
}

/// Divides the vertices into parts. If the triangles are in about the order of their vertices, the parts' ranges of
/// triangles hardly overlap.
fn parts(Mesh { vertices, triangles }: &Mesh) -> Result<Vec<Part>> {
    let count = vertices.len();
    // The smallest and the largest vertex of each block of triangles.
    let blocks = triangles.par_chunks(TASK_TRIANGLES).map(|block| {
        block.iter().flatten().fold([u32::MAX, 0], |[low, high], vertex| [low.min(*vertex), high.max(*vertex)])
    });
    let blocks = par_collected(blocks)?;
    let most = count.div_ceil(TASKS_PER_THREAD * rayon::current_num_threads()).max(TASK_VERTICES);
    let mut parts = Vec::new();
    for first in (0..count).step_by(most) {
        let vertices = first..count.min(first + most);
        let has = |[low, high]: &[u32; 2]| (*low as usize) < vertices.end && *high as usize >= vertices.start;
        let start = blocks.iter().position(has).unwrap_or(0) * TASK_TRIANGLES;
        let end = blocks.iter().rposition(has).map_or(0, |last| (last + 1) * TASK_TRIANGLES).min(triangles.len());
        push(&mut parts, Part { vertices, triangles: start..end })?;
    }
    Ok(parts)
}

/// Returns the surface of a mesh, with normals and measures, and adds `units` of progress to the ticker. It runs in the pool of
/// the context.
pub(super) fn surface(mesh: Mesh, level: f64, foreground: Foreground, ticker: &Ticker, units: u64) -> Result<Surface> {
    let parts = parts(&mesh)?;
    let normals = normals(&mesh, &parts, ticker)?;
    ticker.add(units / 2);
    let measures = measures(&mesh, &parts, level, foreground, ticker)?;
    ticker.add(units - units / 2);
    let Mesh { vertices, triangles } = mesh;
    Ok(Surface { vertices, normals, triangles, measures })
}

/// Returns the normal of each vertex.
fn normals(mesh: &Mesh, parts: &[Part], ticker: &Ticker) -> Result<Vec<[f32; 3]>> {
    let mut normals: Vec<[f32; 3]> = zeroed(mesh.vertices.len())?;
    let mut left = &mut normals[..];
    let mut tasks = Vec::new();
    for part in parts {
        push(&mut tasks, (part, take_first(&mut left, part.vertices.len())))?;
    }
    try_par_each(tasks.into_iter(), ticker, |_, (part, normals)| {
        let own = &part.vertices;
        let mut sums: Vec<Vector> = zeroed(own.len())?;
        for block in mesh.triangles[part.triangles.clone()].chunks(TASK_TRIANGLES) {
            ticker.check()?;
            for triangle in block {
                if triangle.iter().any(|vertex| own.contains(&(*vertex as usize))) {
                    let normal = normal(mesh, *triangle);
                    for vertex in triangle.iter().filter(|vertex| own.contains(&(**vertex as usize))) {
                        let sum = &mut sums[*vertex as usize - own.start];
                        *sum = std::array::from_fn(|axis| sum[axis] + normal[axis]);
                    }
                }
            }
        }
        for (normal, sum) in normals.iter_mut().zip(&sums) {
            let length = dot(*sum, *sum).sqrt();
            if length > 0.0 {
                *normal = sum.map(|component| (component / length) as f32);
            }
        }
        Ok(())
    })?;
    Ok(normals)
}

/// Returns for each side the opposite side of the same edge. Side 3t + k belongs to triangle t and goes from its corner k
/// to the next one.
fn opposite_sides(triangles: &[[u32; 3]], parts: &[Part], ticker: &Ticker) -> Result<Vec<AtomicU32>> {
    let sides = par_collected((0..3 * triangles.len()).into_par_iter().map(|_| AtomicU32::new(NONE)))?;
    parts.par_iter().try_for_each(|Part { vertices: own, triangles: around }| {
        // Calls `visit` with each side of an edge whose first vertex is the task's, that vertex and the other one.
        let for_own_sides = |visit: &mut dyn FnMut(u32, usize, u32)| {
            for first in around.clone().step_by(TASK_TRIANGLES) {
                ticker.check()?;
                for (index, triangle) in triangles[first..around.end.min(first + TASK_TRIANGLES)].iter().enumerate() {
                    for place in 0..3 {
                        let [a, b] = [triangle[place], triangle[(place + 1) % 3]];
                        let vertex = a.min(b) as usize;
                        if own.contains(&vertex) {
                            visit((3 * (first + index) + place) as u32, vertex - own.start, a.max(b));
                        }
                    }
                }
            }
            Ok(())
        };
        // 1. List the sides of each vertex, with the vertex at their other end.
        let mut next: Vec<u32> = zeroed(own.len() + 1)?;
        for_own_sides(&mut |_, vertex, _| next[vertex + 1] += 1)?;
        for vertex in 0..own.len() {
            next[vertex + 1] += next[vertex];
        }
        let mut listed: Vec<[u32; 2]> = zeroed(next[own.len()] as usize)?;
        for_own_sides(&mut |side, vertex, end| {
            listed[next[vertex] as usize] = [end, side];
            next[vertex] += 1;
        })?;
        // 2. Pair the sides with the same other end. Step 1 has moved each place in `next` to the end of its vertex's
        //    sides.
        let mut first = 0;
        for end in next[..own.len()].iter().map(|end| *end as usize) {
            let of_vertex = &mut listed[std::mem::replace(&mut first, end)..end];
            of_vertex.sort_unstable();
            let mut left = &of_vertex[..];
            while let [one, other, after @ ..] = left {
                left = if one[0] == other[0] {
                    sides[one[1] as usize].store(other[1], Relaxed);
                    sides[other[1] as usize].store(one[1], Relaxed);
                    after
                } else {
                    &left[1..]
                };
            }
        }
        ticker.check()
    })?;
    Ok(sides)
}

/// Returns the side that meets a side, and the normal of its triangle. A triangle without area has one side without length
/// and two coincident ones; the walk goes in through one of these and out through the other. `None` where the surface ends.
fn beyond(mesh: &Mesh, sides: &[AtomicU32], side: usize) -> Option<(usize, Vector)> {
    let mut side = side;
    for _ in 0..IS_MOST_FLAT {
        side = match sides[side].load(Relaxed) {
            NONE => return None,
            other => other as usize,
        };
        let triangle = mesh.triangles[side / 3];
        let normal = normal(mesh, triangle);
        if normal != [0.0; 3] {
            return Some((side, normal));
        }
        let corners = triangle.map(|vertex| mesh.vertices[vertex as usize]);
        let has_length = |place: &usize| corners[*place] != corners[(*place + 1) % 3];
        let mut others = [(side + 1) % 3, (side + 2) % 3].into_iter().filter(has_length);
        let (Some(other), None) = (others.next(), others.next()) else { return None };
        side = side / 3 * 3 + other;
    }
    None
}

/// Returns the angle of the vector (cosine, sine) of any length. It sums the series of the arc tangent itself, so that the
/// bits do not depend on the system's math library.
fn angle_of(sine: f64, cosine: f64) -> f64 {
    let [a, b] = [sine.abs(), cosine.abs()];
    let high = a.max(b);
    if high == 0.0 {
        return 0.0;
    }
    // 1. Turn the angle back by an eighth or a quarter of pi, so that the series needs few terms.
    let t = a.min(b) / high;
    let (turned, t) = if t > IS_FAR_TANGENT {
        (IS_QUARTER_PI, (t - 1.0) / (t + 1.0))
    } else if t > IS_NEAR_TANGENT {
        (IS_QUARTER_PI / 2.0, (t - IS_EIGHTH_TANGENT) / (1.0 + t * IS_EIGHTH_TANGENT))
    } else {
        (0.0, t)
    };
    // 2. Sum the series of the arc tangent.
    let square = t * t;
    let sum = (0..IS_TERMS).rev().fold(0.0, |sum, term| 1.0 / (2 * term + 1) as f64 - square * sum);
    // 3. Mirror it to its octant.
    let mut angle = turned + t * sum;
    if a > b {
        angle = 2.0 * IS_QUARTER_PI - angle;
    }
    if cosine < 0.0 {
        angle = 4.0 * IS_QUARTER_PI - angle;
    }
    angle.copysign(sine)
}

/// Returns the angle θ, ±π, of an edge at which a surface folds onto itself. The voxels between the two sheets equal the
/// level. They are low, and the surface bends inwards around them, unless [`Foreground::Below`] makes them high.
pub(super) fn fold_of(foreground: Foreground) -> f64 {
    if foreground == Foreground::Below { 4.0 * IS_QUARTER_PI } else { -4.0 * IS_QUARTER_PI }
}

/// The measures of triangles, which are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) area: f64,
    pub(super) volume: f64,
    pub(super) curvature: f64,
    /// The sides that meet no other one.
    pub(super) borders: u64,
}

impl Sums {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            area: self.area + other.area,
            volume: self.volume + other.volume,
            curvature: self.curvature + other.curvature,
            borders: self.borders + other.borders,
        }
    }

    /// Returns the sum over a block by a tree: the second half is added to the first, item by item, until one item is left.
    fn of_block(mut block: [Self; IS_BLOCK]) -> Self {
        let mut half = IS_BLOCK / 2;
        while half > 0 {
            for at in 0..half {
                block[at] = block[at].plus(block[at + half]);
            }
            half /= 2;
        }
        block[0]
    }

    /// Returns the measures of a surface with these sums.
    pub(super) fn measures(self, level: f64, vertices: usize, triangles: usize, pieces: u64) -> Measures {
        let Self { area, volume, curvature, borders } = self;
        let edges = (3 * triangles as u64 + borders) / 2;
        Measures {
            level,
            area,
            volume: if borders == 0 { volume } else { f64::NAN },
            mean_curvature: if area > 0.0 { curvature / area } else { f64::NAN },
            border_edges: borders,
            pieces,
            euler: vertices as i64 - edges as i64 + triangles as i64,
        }
    }
}

/// Returns the measures of a triangle; `fold` is the angle of an edge with a fold by half a turn, whose sign its normals do
/// not give.
fn sums_of(mesh: &Mesh, sides: &[AtomicU32], fold: f64, index: usize) -> Sums {
    let (triangle, first) = (mesh.triangles[index], 3 * index);
    let borders = (first..first + 3).filter(|side| sides[*side].load(Relaxed) == NONE).count() as u64;
    let normal = normal(mesh, triangle);
    let twice = dot(normal, normal).sqrt();
    if twice == 0.0 {
        return Sums { borders, ..Sums::default() };
    }
    // The tetrahedron of the triangle and the first vertex of the surface.
    let corners = triangle.map(|vertex| mesh.vertices[vertex as usize]);
    let [a, b, c] = corners.map(|corner| minus(corner, mesh.vertices[0]));
    let mut found = Sums { area: twice / 2.0, volume: dot(a, cross(b, c)) / 6.0, curvature: 0.0, borders };
    for (place, [from, to]) in [[0, 1], [1, 2], [2, 0]].into_iter().enumerate() {
        // The edge is counted once, with the first of the two sides that meet.
        let Some((other, beyond)) = beyond(mesh, sides, first + place) else { continue };
        let along = minus(corners[to], corners[from]);
        let length = dot(along, along).sqrt();
        if other < first + place || length == 0.0 {
            continue;
        }
        let [sine, cosine] = [dot(cross(normal, beyond), along) / length, dot(normal, beyond)];
        // Most edges of a mask's surface are flat.
        let angle = if sine == 0.0 && cosine > 0.0 {
            0.0
        } else if sine.abs() < -cosine * IS_FOLD_TANGENT {
            fold
        } else {
            angle_of(sine, cosine)
        };
        found.curvature += length * angle / 2.0;
    }
    found
}

/// Measures a mesh.
fn measures(mesh: &Mesh, parts: &[Part], level: f64, foreground: Foreground, ticker: &Ticker) -> Result<Measures> {
    let Mesh { vertices, triangles } = mesh;
    let fold = fold_of(foreground);
    let sides = opposite_sides(triangles, parts, ticker)?;
    let tasks = par_collected((0..triangles.len().div_ceil(TASK_TRIANGLES)).into_par_iter().map(|task| {
        let first = task * TASK_TRIANGLES;
        let end = triangles.len().min(first + TASK_TRIANGLES);
        let mut blocks = [Sums::default(); TASK_TRIANGLES / IS_BLOCK];
        if !ticker.is_cancelled() {
            for (block, sums) in (first..end).step_by(IS_BLOCK).zip(&mut blocks) {
                let own = |at| if block + at < end { sums_of(mesh, &sides, fold, block + at) } else { Sums::default() };
                *sums = Sums::of_block(std::array::from_fn(own));
            }
        }
        blocks
    }))?;
    ticker.check()?;
    let sums = tasks.iter().flatten().fold(Sums::default(), |sums, block| sums.plus(*block));
    Ok(sums.measures(level, vertices.len(), triangles.len(), pieces(vertices.len(), triangles, ticker)?))
}

/// Returns the number of connected pieces, by union-find: each piece has one root, its smallest vertex.
fn pieces(vertices: usize, triangles: &[[u32; 3]], ticker: &Ticker) -> Result<u64> {
    let parents = par_collected((0..vertices as u32).into_par_iter().map(AtomicU32::new))?;
    let root = |mut vertex: u32| loop {
        let parent = parents[vertex as usize].load(Relaxed);
        if parent == vertex {
            return vertex;
        }
        let beyond = parents[parent as usize].load(Relaxed);
        if beyond != parent {
            // The exchange fails if another thread has already shortened this path: its parent stays.
            let _ = parents[vertex as usize].compare_exchange_weak(parent, beyond, Relaxed, Relaxed);
        }
        vertex = parent;
    };
    triangles.par_chunks(TASK_TRIANGLES).try_for_each(|block| {
        ticker.check()?;
        for [a, b, c] in block {
            for other in [b, c] {
                loop {
                    let [one, two] = [root(*a), root(*other)];
                    let [low, high] = [one.min(two), one.max(two)];
                    let joined = parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok();
                    if low == high || joined {
                        break;
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(parents.par_iter().enumerate().filter(|(vertex, parent)| parent.load(Relaxed) as usize == *vertex).count()
        as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_those_of_the_arc_tangent() {
        let mut largest = 0.0f64;
        for step in -100_000..=100_000 {
            let wanted = f64::from(step) * std::f64::consts::PI / 100_000.0;
            for length in [1.0, 1e-60, 3e70] {
                let [sine, cosine] = [length * wanted.sin(), length * wanted.cos()];
                let exact = sine.atan2(cosine);
                largest = largest.max((angle_of(sine, cosine) - exact).abs() / exact.abs().max(1e-300));
            }
        }
        assert!(largest < 4.5e-16, "{largest:e}");
        assert_eq!([angle_of(0.0, 0.0), angle_of(0.0, 2.0), angle_of(2.0, 2.0)], [0.0, 0.0, IS_QUARTER_PI]);
        assert_eq!([angle_of(0.0, -1.0), angle_of(-0.0, -1.0)], [4.0 * IS_QUARTER_PI, -4.0 * IS_QUARTER_PI]);
        assert_eq!([angle_of(-3.0, 0.0), angle_of(3.0, -0.0)], [-2.0 * IS_QUARTER_PI, 2.0 * IS_QUARTER_PI]);
    }
}
