//! Polygons as flat arrays, handed in and lent out.

use super::sized::{self, Sized32};
use super::{check, guard, isoline_status};
use crate::error::{Error, Result};
use crate::snake::{Node, Polygons};
use std::mem::{align_of, offset_of};

/// A polygon's node, on a corner of pixels: (0, 0) is the upper left corner of the image, (width, height) the lower right
/// one, and (x, y) the one that the pixels (x - 1, y - 1) and (x, y) share. Frozen: it never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct isoline_node {
    /// To the right.
    pub x: i32,
    /// Downwards.
    pub y: i32,
}

// Nodes are read and handed out as they lie in Rust's memory.
const _: () =
    assert!(size_of::<isoline_node>() == size_of::<Node>() && align_of::<isoline_node>() == align_of::<Node>());
const _: () =
    assert!(offset_of!(isoline_node, x) == offset_of!(Node, x) && offset_of!(isoline_node, y) == offset_of!(Node, y));

/// Closed polygons as flat arrays. Polygon i has the nodes `offsets[i]` up to, not including, `offsets[i + 1]`; its last
/// node is joined to its first.
///
/// A pixel lies in a polygon when its centre does; a centre on an edge belongs to the side to its right.
///
/// Handed in they are the caller's, only read, and not kept after the call. Each has 3 nodes or more at different places,
/// coordinates from -2^28 to 2^28, and runs in either direction, from any of its nodes on; a node that repeats the one before
/// counts once. A polygon must not touch itself: edges have nothing in common but the nodes that join them.
///
/// Lent out (isoline_snake_polygons) they are the library's, only to be read; each runs clockwise on the screen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_polygons {
    /// Set by isoline_polygons_init.
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// How many polygons there are; may be 0.
    pub count: u64,
    /// How many nodes they have in all.
    pub node_count: u64,
    /// `node_count` nodes; NULL when there are none.
    pub nodes: *const isoline_node,
    /// `count` + 1 numbers that never fall, from 0 to `node_count`. NULL only when handed in with `count` 0.
    pub offsets: *const u64,
}

// SAFETY: repr(C), struct_size first; integers and raw pointers.
unsafe impl Sized32 for isoline_polygons {
    const NAME: &'static str = "isoline_polygons";
    const FIRST_SIZE: usize = 40;
    fn defaults() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            reserved: 0,
            count: 0,
            node_count: 0,
            nodes: std::ptr::null(),
            offsets: std::ptr::null(),
        }
    }
}
const _: () = assert!(size_of::<isoline_polygons>() == <isoline_polygons as Sized32>::FIRST_SIZE);

impl isoline_polygons {
    /// A copy of the caller's polygons, whose argument is called `name`.
    ///
    /// # Safety
    /// As [`sized::read`], and the arrays have the elements that their counts say.
    pub(super) unsafe fn read(polygons: *const Self, name: &str) -> Result<Polygons> {
        // SAFETY: as the caller vouches.
        let given = unsafe { sized::read(polygons, name) }?;
        if given.reserved != 0 {
            return Err(Error::argument(format!("{name}->reserved must be 0, but it is {}", given.reserved)));
        }
        if given.count == 0 && given.offsets.is_null() && given.node_count == 0 {
            return Ok(Polygons::new());
        }
        let [count, nodes] = [given.count.saturating_add(1), given.node_count];
        let [count, nodes] = [count, nodes].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        // SAFETY: arrays of these lengths, as the caller vouches; a node has the layout of a Node (asserted above).
        let (nodes, offsets) = unsafe {
            (
                check::slice(given.nodes.cast::<Node>(), nodes, &format!("{name}->nodes"))?,
                check::slice(given.offsets, count, &format!("{name}->offsets"))?,
            )
        };
        Polygons::from_flat(nodes, offsets)
    }

    /// As [`read`](Self::read); `None` for NULL.
    ///
    /// # Safety
    /// As [`read`](Self::read).
    pub(super) unsafe fn read_optional(polygons: *const Self, name: &str) -> Result<Option<Polygons>> {
        // SAFETY: as the caller vouches.
        if polygons.is_null() { Ok(None) } else { unsafe { Self::read(polygons, name) }.map(Some) }
    }

    /// Their arrays, borrowed.
    pub(super) fn lend(polygons: &Polygons) -> Self {
        let nodes = polygons.nodes();
        Self {
            count: polygons.len() as u64,
            node_count: nodes.len() as u64,
            nodes: address(nodes),
            offsets: polygons.offsets().as_ptr(),
            ..Self::defaults()
        }
    }
}

/// The first node's address; NULL for none, which C must not be given a dangling pointer for.
pub(super) fn address(nodes: &[Node]) -> *const isoline_node {
    if nodes.is_empty() { std::ptr::null() } else { nodes.as_ptr().cast() }
}

/// Fills `polygons` with none. `struct_size`: sizeof(isoline_polygons).
/// Errors: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT for a size that is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_polygons_init(polygons: *mut isoline_polygons, struct_size: usize) -> isoline_status {
    // SAFETY: as the caller vouches.
    guard(|| unsafe { sized::init(polygons, struct_size, "polygons") })
}
