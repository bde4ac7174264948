//! The isosurface: the surface on which a volume has a value, the level, as a mesh of triangles, by marching cubes with
//! linear interpolation.
//!
//! A **cell** is the box between eight neighbouring voxel centres. A voxel is **high** if it is inside: above the level, or,
//! with [`Foreground::Below`], below it or equal to it. Else it is **low**. Where an edge of a cell has a high and a low
//! end, it has one vertex, at
//!
//! ```text
//! t = (level − a) / (b − a)        a: the value at the end of the smaller coordinate, b: at the other, in double precision
//! ```
//!
//! which all triangles around it share; within a slice it is the point of the isoline.
//!
//! * **Coordinates** are in the unit of the spacing; the origin is the centre of the first voxel. x runs to the right, y
//!   downwards and z with the slices. They and the normals are rounded to single precision.
//! * **Direction:** normals point outwards, from high to low voxels, and the vertices of a triangle run counterclockwise as
//!   seen from outside. The volume within a surface around high voxels is positive.
//! * **Faces:** a face of a cell whose two high corners are diagonally opposite has two segments. They separate the high
//!   corners unless the bilinear interpolation of the four corners is above the level at its saddle point: the asymptotic
//!   decider (Nielson and Hamann 1991), `(a − level)(c − level) > (b − level)(d − level)` for high a and c, low b and d;
//!   with [`Foreground::Below`] all four differences have the other sign. It depends on the four values alone, so that both
//!   cells of a face agree and surfaces have no holes. Whether the trilinear function joins two sheets inside a cell
//!   (interior ambiguity) is not tested: they are separate.
//! * **Triangles:** the segments of a cell's faces form loops. A loop becomes a triangle fan around one of its vertices:
//!   the one on the first edge (along x first, then y, then z; each in the order of its coordinates) from which no diagonal
//!   lies in a face. If there is none, as in loops of 8 edges or more that pass a face twice, an additional vertex at the
//!   mean of the loop's vertices is the centre of the fan. So every edge of the mesh has two triangles, or one at the
//!   border of an open surface.
//! * **Border:** closed ([`Params::close`]), as if all voxels beyond it were low; the vertices there are half a voxel
//!   beyond the centres of the outermost voxels, on the faces of the volume's bounding box. Without it surfaces end at the
//!   outermost voxels.
//! * **Voxels that are not finite** (NaN, infinite): a cell with such a corner has no surface.
//! * **Order:** vertices by slice and row, in a row those on edges along x, then y, then z, then the means; triangles by
//!   the cell's slice, row and column.
//! * **Coincident vertices:** where a voxel equals the level, vertices lie at its centre, and triangles have no area. They
//!   are kept, so that the mesh stays connected.

mod cells;
mod cpu;
mod cuda;
mod measure;
pub(crate) mod parameters;

use crate::device::{Context, DeviceNeeds, Own, Workload, in_host_memory};
use crate::error::{Result, finite};
pub use crate::image::Foreground;
use crate::image::{Image, MOST_ANISOTROPY, check_shapes, check_spacing};
use crate::parameter::FOREGROUNDS;
use crate::progress::{Progress, Ticker, part, run as run_with_progress};
use crate::report::Report;
use crate::slice_io::Input;
use std::time::Instant;

/// The share of the progress of a call on a [`Source`](crate::Source) in which the slabs' meshes are found; the rest joins
/// and measures them.
const SHARE_OF_MESH: f64 = 0.5;

/// The name of the stage that progress callbacks get.
const STAGE: &str = "isosurface";

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The level, finite, in the image's own units. `None` (default): the mean of the smallest and the largest finite
    /// voxel.
    pub level: Option<f64>,
    /// The side of the level on which voxels are inside. Default [`Foreground::Above`]; [`Foreground::Below`] suits
    /// functions that are negative inside: a level set's φ, a signed distance.
    pub foreground: Foreground,
    /// Closes the surface at the border of the volume, as if all voxels beyond it were outside. Default `true`.
    pub close: bool,
    /// The voxel's size along x, y, z, each from 1e-15 to 1e15 and at most 1e9 times another. Default 1, 1, 1.
    pub spacing: [f64; 3],
}

impl Default for Params {
    fn default() -> Self {
        Self {
            level: None,
            foreground: parameters::FOREGROUND.default_of(&FOREGROUNDS),
            close: parameters::CLOSE.default != 0.0,
            spacing: [1.0; 3],
        }
    }
}

impl Params {
    fn check(&self) -> Result<()> {
        if let Some(level) = self.level {
            finite("level", level)?;
        }
        check_spacing(&self.spacing, MOST_ANISOTROPY)
    }
}

/// The measures of a surface. Lengths are in the unit of the spacing; sums are in double precision and in an order that
/// depends on the mesh alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// The level of the surface.
    pub level: f64,
    /// The area of all triangles.
    pub area: f64,
    /// The volume within a closed surface, by signed tetrahedra: a piece around low voxels counts negatively. NaN if the
    /// surface is not closed.
    pub volume: f64,
    /// The area mean of the mean curvature: `Σ l θ / 2 / area` over the edges, with the length l of an edge and the angle θ
    /// between the normals of its two triangles, positive where the surface bulges outwards. A ball has 1/R. Edges with one
    /// triangle count 0. Where a surface folds onto itself, on voxels equal to the level, θ is −π, or π with
    /// [`Foreground::Below`], which is the limit for levels just above. NaN if the surface has no area.
    pub mean_curvature: f64,
    /// The number of edges with only one triangle, where the surface ends; 0 for a closed surface.
    pub border_edges: u64,
    /// The number of connected pieces.
    pub pieces: u64,
    /// The Euler characteristic, vertices − edges + triangles: for a closed surface 2 for each piece, minus 2 for each
    /// tunnel.
    pub euler: i64,
}

impl Measures {
    /// Returns whether no edge has only one triangle.
    pub fn is_closed(&self) -> bool {
        self.border_edges == 0
    }
}

impl Default for Measures {
    /// Returns the measures of an empty surface.
    fn default() -> Self {
        Self { level: 0.0, area: 0.0, volume: 0.0, mean_curvature: f64::NAN, border_edges: 0, pieces: 0, euler: 0 }
    }
}

/// A mesh of triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    vertices: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
    measures: Measures,
}

impl Surface {
    /// Returns an empty surface.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns x, y and z of each vertex, in the unit of the spacing, from the centre of the first voxel.
    pub fn vertices(&self) -> &[[f32; 3]] {
        &self.vertices
    }

    /// Returns the unit normal of each vertex: the area-weighted mean of its triangles' normals. It is 0, 0, 0 if they have
    /// no area.
    pub fn normals(&self) -> &[[f32; 3]] {
        &self.normals
    }

    /// Returns the vertices of each triangle.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Returns what was measured.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }
}

/// One call: the checked parameters with the level.
struct Plan {
    level: f64,
    foreground: Foreground,
    close: bool,
    spacing: [f64; 3],
}

/// Computes the isosurface of the volume `input` (u8, u16 or f32) into `surface`, which is replaced only on success. The
/// bits are the same on every device and with any number of threads. A callback may supply the slices
/// ([`Source`](crate::Source)): then only the mesh, not the volume, has to fit into memory, and the call runs on the CPU
/// with every context.
///
/// # Errors
/// A parameter out of range, 2³² − 1 or more vertices or corners of triangles, out of memory, a device failure, or
/// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// use isoline::{Context, isosurface::{self, Params, Surface}};
/// use ndarray::Array3;
///
/// let distance = |z, y, x| ((x as f32 - 15.0).powi(2) + (y as f32 - 15.0).powi(2) + (z as f32 - 15.0).powi(2)).sqrt();
/// let ball = Array3::from_shape_fn((31, 31, 31), |(z, y, x)| 10.0 - distance(z, y, x));
/// let mut surface = Surface::new();
/// let params = Params { level: Some(0.0), ..Params::default() };
/// isosurface::run(&Context::new("cpu")?, ball.view().into(), &params, None, &mut surface)?;
/// let measures = surface.measures();
/// assert!(measures.is_closed() && measures.euler == 2);
/// assert!((measures.area / (4.0 * std::f64::consts::PI * 100.0) - 1.0).abs() < 0.01);
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn run(
    context: &Context,
    mut input: Input<'_>,
    params: &Params,
    mut progress: Option<&mut Progress<'_>>,
    surface: &mut Surface,
) -> Result<Report> {
    let started = Instant::now();
    let shape = input.shape();
    params.check()?;
    check_shapes(shape, shape)?;
    let _lock = context.lock()?;
    let &Params { foreground, close, spacing, .. } = params;
    let level = match params.level {
        Some(level) => level,
        None => {
            let [low, high] = context.extremes(STAGE, &mut input, &mut progress)?;
            // The halves are added so that the sum cannot overflow. Adding 0 turns a mean of -0 into 0.
            low / 2.0 + high / 2.0 + 0.0
        }
    };
    let plan = Plan { level, foreground, close, spacing };
    let (mut report, found) = match input {
        Input::Image(input) => of_image(context, &plan, &input, started, &mut progress)?,
        input => of_slices(context, &plan, input, started, &mut progress)?,
    };
    *surface = found;
    report.complete(started, format_args!("isosurface of {shape:?} voxels"));
    Ok(report)
}

/// Makes a surface of a mesh, such as one that was joined from parts or smoothed: computes the normals and measures, bit
/// for bit as [`run`] does for the same mesh; [`Measures::level`] is NaN. `surface` is replaced only on success. The call
/// runs on the CPU with every context, fastest if the triangles are in about the order of their vertices.
///
/// Each edge should have one or two triangles, which pass it in opposite directions; if it has more, consecutive ones are
/// paired. A vertex without triangles counts as a piece and in the Euler characteristic: leave such vertices out.
/// `foreground` is the side of the level on which voxels were inside: where the surface folds onto itself,
/// [`Foreground::Above`] measures the curvature of a slit, as [`run`] does by default, and [`Foreground::Below`] that of a
/// sheet.
///
/// # Errors
/// A vertex that is not finite, a triangle with the number of a vertex that does not exist, 2³² − 1 or more vertices or
/// corners of triangles, out of memory, or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
pub fn of_mesh(
    context: &Context,
    vertices: &[[f32; 3]],
    triangles: &[[u32; 3]],
    foreground: Foreground,
    mut progress: Option<&mut Progress<'_>>,
    surface: &mut Surface,
) -> Result<Report> {
    let started = Instant::now();
    let _lock = context.lock()?;
    let ticker = Ticker::new("mesh");
    ticker.expect(2);
    *surface = in_pool(context, &mut progress, &ticker, || {
        let mesh = cpu::Mesh::checked(vertices, triangles, &ticker)?;
        measure::surface(mesh, f64::NAN, foreground, &ticker, 2)
    })?;
    let mut report = Report::on_cpu(context, started, 0);
    report.complete(started, format_args!("a mesh of {} triangles", triangles.len()));
    Ok(report)
}

/// Makes a surface on the worker threads, while the calling thread reports progress.
fn in_pool(
    context: &Context,
    progress: &mut Option<&mut Progress<'_>>,
    ticker: &Ticker,
    work: impl FnOnce() -> Result<Surface> + Send,
) -> Result<Surface> {
    let found = run_with_progress(context.pool(), progress, ticker, work)?;
    // The last call of the callback: a cancellation, however late, leaves the result untouched.
    ticker.report(progress)?;
    Ok(found)
}

/// Computes the surface of a volume in memory.
fn of_image(
    context: &Context,
    plan: &Plan,
    input: &Image<'_>,
    started: Instant,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Surface)> {
    let needs = DeviceNeeds {
        device_bytes: cuda::min_device_bytes(plan, input),
        cpu_only: false,
        host_memory: !matches!(input, Image::Device(_)),
    };
    let cpu_is_faster = context.cpu_is_faster(&needs, Some(workload(input.shape())), progress)?;
    context.run_on_device(
        // The CPU can compute it, too, even for voxels in device memory, which are copied.
        DeviceNeeds { host_memory: true, ..needs },
        cpu_is_faster,
        progress,
        |cuda, progress| cuda::run(context, cuda, plan, input, progress),
        |progress| on_cpu(context, plan, input, started, progress),
    )
}

/// Computes the surface of slices that a callback supplies, on the CPU, in slabs.
fn of_slices(
    context: &Context,
    plan: &Plan,
    input: Input<'_>,
    started: Instant,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Surface)> {
    let depth = input.shape()[2];
    // 1. Find the mesh of each slab.
    let meshes = part(progress, [0.0, SHARE_OF_MESH], STAGE, |progress| {
        context.by_slices(
            STAGE,
            Some(cpu::HALO),
            (input, []),
            progress,
            |context, input, own, [], progress| {
                let ticker = Ticker::new(STAGE);
                let found =
                    run_with_progress(context.pool(), progress, &ticker, || cpu::mesh(plan, input, &own, &ticker));
                Ok(vec![found?])
            },
            |slabs, _| Ok(slabs.into_iter().flat_map(|(_, meshes)| meshes).collect()),
        )
    })?;
    // 2. Join them, and measure the whole.
    let ticker = Ticker::after(STAGE, SHARE_OF_MESH);
    ticker.expect(2);
    let found = in_pool(context, progress, &ticker, || {
        let mut whole = cpu::Mesh::default();
        for mesh in meshes {
            whole.append(mesh, plan.level, &ticker)?;
        }
        measure::surface(whole, plan.level, plan.foreground, &ticker, 2)
    })?;
    Ok((Report::on_cpu(context, started, depth), found))
}

/// Computes the surface on the CPU. Voxels in device memory are copied to the host first: the surface had no room there.
fn on_cpu(
    context: &Context,
    plan: &Plan,
    input: &Image<'_>,
    started: Instant,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Surface)> {
    let mut copy = None;
    let input = &in_host_memory(context, input, &mut copy)?;
    let ticker = Ticker::new(STAGE);
    let all = Own { at: 0..input.shape()[2], first: 0 };
    let found = in_pool(context, progress, &ticker, || {
        let mesh = cpu::mesh(plan, input, &all, &ticker)?;
        measure::surface(mesh, plan.level, plan.foreground, &ticker, ticker.units_left())
    })?;
    Ok((Report::on_cpu(context, started, input.shape()[2]), found))
}

/// Describes a call for the choice of its device.
fn workload(shape: [usize; 3]) -> Workload {
    let run = |context: &Context, image: &ndarray::Array3<u8>| {
        let params = Params { level: Some(Workload::THRESHOLD), ..Params::default() };
        run(context, image.view().into(), &params, None, &mut Surface::new()).map(drop)
    };
    let is_volume = shape[2] > 1;
    let kind = format!("isosurface of {}", if is_volume { "a volume" } else { "a slice" });
    Workload { kind, pixels: shape.iter().product(), is_volume, run: Box::new(run) }
}
