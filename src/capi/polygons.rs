//! Polygons as flat arrays, both as inputs and as results.

use super::sized::{self, Sized32, same_layout, sized_struct};
use super::{check, guard, isoline_status};
use crate::error::Error;
use crate::error::Result;
use crate::parameter::AUTOMATIC;
use crate::progress::Ticker;
use crate::snake::{Curves, Node, Polygons};

/// A node of a polygon, on a corner of pixels: (0, 0) is the upper left corner of the image, (width, height) the
/// lower right one, and (x, y) the corner that the pixels (x - 1, y - 1) and (x, y) share. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct isoline_node {
    /// The coordinate to the right.
    pub x: i32,
    /// The coordinate downwards.
    pub y: i32,
}

// Nodes are read and returned in the layout that they have in Rust's memory.
same_layout!(isoline_node, Node, x, y);

/// A point of a smooth curve, in the coordinates of isoline_node: whole numbers are corners of pixels. The struct never
/// changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_curve_point {
    /// The coordinate to the right.
    pub x: f64,
    /// The coordinate downwards.
    pub y: f64,
}

/// Closed polygons as flat arrays. Polygon i has the nodes from `offsets[i]` up to but not including
/// `offsets[i + 1]`; its last node is joined to its first.
///
/// A pixel is inside a polygon if its centre is; a centre on an edge belongs to the side to its right.
///
/// Polygons that are passed to a function belong to the caller; they are only read, and not kept after the call. Each
/// has 3 or more nodes at different positions with coordinates from -2^28 to 2^28, in either direction and beginning
/// with any node; a node that repeats the one before counts once. A polygon must not touch itself: its edges share
/// nothing but the nodes that join them.
///
/// Polygons that a function returns (isoline_snake_polygons) are borrowed: they belong to the library and must only
/// be read. Each runs clockwise on the screen, except those of ISOLINE_TARGET_LEFT_IMAGE, which are as they were given.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_polygons {
    /// The size of the struct, set by isoline_polygons_init.
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The number of polygons; may be 0.
    pub count: u64,
    /// The number of nodes of all polygons.
    pub node_count: u64,
    /// An array of `node_count` nodes; NULL if there are none.
    pub nodes: *const isoline_node,
    /// An array of `count` + 1 offsets that never decrease, from 0 to `node_count`. NULL only in an input with
    /// `count` 0.
    pub offsets: *const u64,
    /// An array of `count` slice numbers, counted from 0: each polygon is on one slice of an image. NULL in an input:
    /// all are on slice 0. Only isoline_snake_run takes other slices; sums and curves do not use them. NULL in a result
    /// if there are no polygons.
    pub slices: *const u32,
}

sized_struct!(isoline_polygons, 48);

impl isoline_polygons {
    /// Returns a copy of the caller's polygons, whose argument is named `name`.
    ///
    /// # Safety
    /// The requirements of [`sized::read`] hold, and the arrays have as many elements as their counts say.
    pub(super) unsafe fn read(polygons: *const Self, name: &str) -> Result<Polygons> {
        // SAFETY: as the caller ensures.
        let given = unsafe { sized::read(polygons, name) }?;
        check::reserved(given.reserved, name)?;
        if given.count == 0 && given.offsets.is_null() && given.node_count == 0 {
            return Ok(Polygons::new());
        }
        let [count, nodes] = [given.count.saturating_add(1), given.node_count];
        let [count, nodes] = [count, nodes].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        // SAFETY: arrays of these lengths, as the caller ensures; a node has the layout of a Node (asserted above).
        let (nodes, offsets, slices) = unsafe {
            (
                check::slice(given.nodes.cast::<Node>(), nodes, &format!("{name}->nodes"))?,
                check::slice(given.offsets, count, &format!("{name}->offsets"))?,
                (!given.slices.is_null()).then(|| check::slice(given.slices, count - 1, &format!("{name}->slices"))),
            )
        };
        Polygons::from_flat(nodes, offsets, slices.transpose()?)
    }

    /// Returns a copy of the caller's polygons; `None` for NULL.
    ///
    /// # Safety
    /// The requirements of [`read`](Self::read) hold.
    pub(super) unsafe fn read_optional(polygons: *const Self, name: &str) -> Result<Option<Polygons>> {
        // SAFETY: as the caller ensures.
        if polygons.is_null() { Ok(None) } else { unsafe { Self::read(polygons, name) }.map(Some) }
    }

    /// Returns a description of polygons that borrows their arrays.
    pub(super) fn borrowed(polygons: &Polygons) -> Self {
        let nodes = polygons.nodes();
        Self {
            count: polygons.len() as u64,
            node_count: nodes.len() as u64,
            nodes: check::address(nodes).cast(),
            offsets: polygons.offsets().as_ptr(),
            slices: check::address(polygons.slices()),
            ..Self::defaults()
        }
    }
}

/// Sets `polygons` to no polygons; `struct_size` is sizeof *polygons, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_polygons_init(polygons: *mut isoline_polygons, struct_size: usize) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(polygons, struct_size, "polygons") })
}

/// Makes a smooth closed curve along each polygon, for outlines whose length and shape are closer to those of an object: a
/// quadratic B-spline near the nodes, with a continuous tangent and about the area of the polygon (they differ by 0.2 % for
/// a regular polygon of 8 nodes, and by 0.01 % for 16). The curve is nowhere farther from the polygon than longest_edge /
/// 4; if edges of a polygon come closer to each other than twice that, it may touch itself.
///
/// @param polygons not NULL; from isoline_snake_polygons, or any others. They may touch themselves.
/// @param longest_edge in pixels, more than 0; or ISOLINE_AUTOMATIC: for each polygon the automatic node_spacing of
///   isoline_snake_params for an initial polygon of its size. Longer edges are divided into equal parts first, so that
///   only the ends of long straight edges are rounded.
/// @param points_per_edge the number of points of each edge, or part of one, 1 to 1024; 8 is a good choice.
/// @param capacity the number of points that `points` has memory for; 0, with `points` NULL, to ask for the offsets only.
/// @param offsets memory for polygons->count + 1 elements: curve i has the points from `offsets[i]` up to but not
///   including `offsets[i + 1]`. The last one is the number of all points.
/// @param points memory for `capacity` points, at least as many as there are in all; or NULL, with a `capacity` of 0.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for a polygon of less than 3 nodes or a
///   capacity that is too small; _INVALID_SIZE for more than 2^32 points in all; _OUT_OF_MEMORY; _CANCELLED. Nothing is
///   written on another failure. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_polygons_smooth(
    polygons: *const isoline_polygons,
    longest_edge: f64,
    points_per_edge: u32,
    capacity: usize,
    offsets: *mut u64,
    points: *mut isoline_curve_point,
) -> isoline_status {
    guard(|| {
        // SAFETY: NULL or valid, as the caller ensures; NULL is refused.
        let polygons = unsafe { isoline_polygons::read(polygons, "polygons") }?;
        check::not_null(offsets, "offsets")?;
        check::array(points, capacity, "points")?;
        let longest_edge = (longest_edge != AUTOMATIC).then_some(longest_edge);
        let ticker = Ticker::new("copying points");
        let mut made = Curves::without_points(&polygons, longest_edge, points_per_edge)?;
        if !points.is_null() {
            // Check this before the points are computed, because there may be very many.
            let wanted = made.offsets()[polygons.len()];
            if wanted > capacity as u64 {
                return Err(Error::argument(format!(
                    "capacity must be at least the number of points, {wanted}, but it is {capacity}; ask for the offsets first"
                )));
            }
            made = Curves::new(&polygons, longest_edge, points_per_edge)?;
        }
        // SAFETY: not NULL, with memory for one offset more than there are polygons, and for `capacity` points, as the
        // caller ensures.
        unsafe {
            offsets.copy_from_nonoverlapping(made.offsets().as_ptr(), made.offsets().len());
            for (index, [x, y]) in made.points().iter().enumerate() {
                ticker.check()?;
                points.add(index).write(isoline_curve_point { x: *x, y: *y });
            }
        }
        Ok(())
    })
}
