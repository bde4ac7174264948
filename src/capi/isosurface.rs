//! The isosurface, and surfaces.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::sized::{self, sized_struct};
use super::{check, guard, isoline_status, object};
use crate::error::Result;
use crate::isosurface::{self, Params, Surface, parameters};
use crate::parameter::FOREGROUNDS;

/// The parameters of isoline_isosurface. isoline_isosurface_params_init fills them with the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_isosurface_params {
    /// The size of the struct, set by isoline_isosurface_params_init.
    pub struct_size: u32,
    /// 1 (default): the surface is closed at the border of the volume, half a voxel beyond the outermost centres, as if all
    /// voxels beyond the border were outside. 0: it is open there.
    pub close: u32,
    /// The level, in the image's own units. ISOLINE_AUTOMATIC (default): automatic, the mean of the smallest and the
    /// largest finite voxel.
    pub level: f64,
    /// The side of the level on which voxels are inside, an isoline_foreground. Default: ISOLINE_FOREGROUND_ABOVE.
    /// ISOLINE_FOREGROUND_BELOW, for which voxels equal to the level are also inside, suits volumes that are negative
    /// inside, such as a level set's φ or a signed distance.
    pub foreground: u32,
    /// Must be 0.
    pub reserved: u32,
}

params_of!(isoline_isosurface_params, 24, parameters::OPERATION, [reserved], close, level, foreground);

impl isoline_isosurface_params {
    fn translate(&self, spacing: [f64; 3]) -> Result<Params> {
        Ok(Params {
            level: parameters::LEVEL.unless_automatic(self.level),
            foreground: parameters::FOREGROUND.chosen(self.foreground, &FOREGROUNDS)?,
            close: self.close != 0,
            spacing,
        })
    }
}

/// A surface, created by isoline_isosurface or isoline_surface_new. The object never changes. Opaque.
pub struct isoline_surface(Surface);

/// A surface as flat arrays, with its measures. The arrays are borrowed: they are valid until the surface is freed, and
/// must only be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_surface_arrays {
    /// The size of the struct, set by isoline_surface_arrays_init.
    pub struct_size: u32,
    /// 1 if the surface is closed: no edge has only one triangle. Else 0.
    pub closed: u32,
    /// The number of vertices.
    pub vertex_count: u64,
    /// The number of triangles.
    pub triangle_count: u64,
    /// x, y and z of each vertex, in the unit of the image's spacing, relative to the centre of the first voxel: 3
    /// `vertex_count` numbers; NULL if there are none.
    pub vertices: *const f32,
    /// The outward unit normal of each vertex: the mean of the normals of its triangles, weighted by area; 0, 0, 0 if these
    /// have no area. 3 `vertex_count` numbers; NULL if there are none.
    pub normals: *const f32,
    /// The three vertices of each triangle, counterclockwise as seen from outside: 3 `triangle_count` indices; NULL if
    /// there are none.
    pub triangles: *const u32,
    /// The level of the surface, in the image's own units.
    pub level: f64,
    /// The area of all triangles, in the square of the unit of the image's spacing.
    pub area: f64,
    /// The volume within a closed surface, in the cube of the unit of the image's spacing: positive around voxels inside,
    /// negative around voxels outside. NaN if the surface is not closed.
    pub volume: f64,
    /// The mean of the mean curvature over the area: the sum, over all edges, of the edge's length times the angle between
    /// the normals of its two triangles, divided by twice the area. The angle is positive where the surface bulges
    /// outwards, so the result is 1/R for a ball. Where a surface folds onto itself, on voxels equal to the level, the
    /// angle is -pi, or pi with ISOLINE_FOREGROUND_BELOW, as for a level just above. NaN if the surface has no area.
    pub mean_curvature: f64,
    /// The number of edges with only one triangle, at which the surface ends.
    pub border_edge_count: u64,
    /// The number of connected pieces.
    pub piece_count: u64,
    /// The Euler characteristic: vertices - edges + triangles.
    pub euler: i64,
}

sized_struct!(isoline_surface_arrays, 104);

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_isosurface_params_init(
    params: *mut isoline_isosurface_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Computes the isosurface, the surface on which a volume has a value (the level), as a mesh of triangles, by marching cubes
/// with linear interpolation between voxel centres (Lorensen and Cline 1987). Every device and every number
/// of threads gives the same bits.
///
/// Voxels inside are high: above the level or, with ISOLINE_FOREGROUND_BELOW, below or equal to it. All others are low.
/// There is one vertex between a high voxel and a low neighbour, at (level - a) / (b - a) of the way from the voxel with
/// the smaller coordinate, which has the value a, to the other, which has the value b. A face of a cell whose high corners
/// face each other is ambiguous, and is decided by its four values (the asymptotic decider of Nielson and Hamann 1991). So
/// surfaces have no holes: every edge has two triangles, or one where the surface ends, which is at the border of the
/// volume, unless `close` is set, and at cells with a voxel that is NaN or infinite. The vertices within a slice are those
/// of its isolines; a few cells have an additional vertex at the mean of their vertices. Triangles without area remain
/// where a voxel equals the level.
///
/// Vertices are ordered by slice and row; within a row, vertices on edges along x come first, then y, then z, then the
/// means. Triangles are ordered by slice, row and column of their cells.
///
/// @param context not NULL.
/// @param input not NULL; any type; host or CUDA memory, or slices. With slices only the mesh has to fit into memory, not
///   the volume, and the CPU computes with every context. Its spacing is the size of a voxel: along each axis from 1e-15 to
///   1e15, and at most 1e9 times that along another axis.
/// @param params NULL for the defaults.
/// @param progress NULL for none.
/// @param surface not NULL; receives the surface, to be freed with isoline_surface_free. Not written on failure.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT; _INVALID_SIZE, also for 2^32 - 1 or more
///   vertices or corners of triangles; _INVALID_TYPE; _UNSUPPORTED for CUDA pixels with a CPU context; _OUT_OF_MEMORY;
///   _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called on any thread; calls on one context run one after
///   the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_isosurface(
    context: *mut isoline_context,
    input: *const isoline_image,
    params: *const isoline_isosurface_params,
    progress: *const isoline_progress,
    surface: *mut *mut isoline_surface,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let params = fields::read(params)?.translate(input.spacing())?;
            object::compute(progress, (surface, "surface"), report, isoline_surface, |progress, found| {
                isosurface::run(context, input.source()?, &params, progress, found)
            })
        }
    })
}

/// Makes a surface from the caller's mesh, for example one that was joined from parts or smoothed: computes its normals and
/// measures, with the same bits as isoline_isosurface for the same mesh. Its level in isoline_surface_all is NaN. The CPU
/// computes with every context; this is fastest if triangles are roughly in the order of their vertices.
///
/// Each edge should have one or two triangles, whose vertices are counterclockwise as seen from outside; if an edge has
/// more triangles, successive ones are paired. A vertex without triangles counts as a piece, and in the Euler
/// characteristic, so leave such vertices out.
///
/// @param context not NULL.
/// @param vertices x, y and z of each vertex, finite; NULL if there is none.
/// @param vertex_count the number of vertices, at most 2^32 - 2.
/// @param triangles three indices of vertices, from 0, for each triangle; NULL if there is none.
/// @param triangle_count the number of triangles, at most (2^32 - 2) / 3.
/// @param foreground an isoline_foreground: the side of the level on which voxels were inside. Where the surface folds onto
///   itself, the curvature is that of a slit with ISOLINE_FOREGROUND_ABOVE, as for isoline_isosurface, and that of a sheet
///   with _BELOW.
/// @param progress NULL for none.
/// @param surface not NULL; receives the surface, with copies of the arrays, to be freed with isoline_surface_free. Not written
///   on failure.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for a vertex that is not finite, an index out of
///   range, and an unknown foreground; _INVALID_SIZE; _OUT_OF_MEMORY; _CANCELLED; _BUSY. May be called on any thread; calls
///   on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_surface_new(
    context: *mut isoline_context,
    vertices: *const f32,
    vertex_count: usize,
    triangles: *const u32,
    triangle_count: usize,
    foreground: u32,
    progress: *const isoline_progress,
    surface: *mut *mut isoline_surface,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader. An array of
        // three numbers is aligned like one.
        unsafe {
            let context = self::context(context)?;
            let vertices = check::slice(vertices.cast::<[f32; 3]>(), vertex_count, "vertices")?;
            let triangles = check::slice(triangles.cast::<[u32; 3]>(), triangle_count, "triangles")?;
            let foreground = parameters::FOREGROUND.chosen(foreground, &FOREGROUNDS)?;
            object::compute(progress, (surface, "surface"), report, isoline_surface, |progress, found| {
                isosurface::of_mesh(context, vertices, triangles, foreground, progress, found)
            })
        }
    })
}

/// Fills `arrays` with zeros; `struct_size` is sizeof *arrays, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_surface_arrays_init(
    arrays: *mut isoline_surface_arrays,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(arrays, struct_size, "arrays") })
}

/// Returns the vertices, normals and triangles of a surface, without a copy, and what was measured.
///
/// @param surface not NULL.
/// @param arrays a struct after isoline_surface_arrays_init; written on success. Its pointers are borrowed: valid until the
///   surface is freed.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for a struct_size that is too small.
///   May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_surface_all(
    surface: *const isoline_surface,
    arrays: *mut isoline_surface_arrays,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let found = &unsafe { object::borrow(surface, "surface") }?.0;
        let measures = found.measures();
        let all = isoline_surface_arrays {
            closed: measures.is_closed().into(),
            vertex_count: found.vertices().len() as u64,
            triangle_count: found.triangles().len() as u64,
            vertices: check::address(found.vertices()).cast(),
            normals: check::address(found.normals()).cast(),
            triangles: check::address(found.triangles()).cast(),
            level: measures.level,
            area: measures.area,
            volume: measures.volume,
            mean_curvature: measures.mean_curvature,
            border_edge_count: measures.border_edges,
            piece_count: measures.pieces,
            euler: measures.euler,
            ..sized::Sized32::defaults()
        };
        // SAFETY: as the caller ensures.
        unsafe { sized::write(arrays, &all, "arrays") }
    })
}

/// Frees a surface, after which every pointer into it dangles. It must not be used again. May be called on any thread,
/// before or after its context is freed.
///
/// @param surface may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_surface_free(surface: *mut isoline_surface) {
    // SAFETY: as the caller ensures.
    unsafe { object::free(surface, "surface") }
}
