//! Calls as C programs make them, on tiny images whose memory ends with their last byte. They are for Miri above all
//! (`scripts/miri.sh`), which sees each access of the library beyond the caller's memory, of uninitialised memory, and by
//! pointers and references that exclude one another.

use super::buffer::*;
use super::context::*;
use super::distance::*;
use super::edge_drawing::*;
use super::edge_strength::*;
use super::image::*;
use super::isoline_status::{
    self, ISOLINE_CANCELLED, ISOLINE_INVALID_ARGUMENT, ISOLINE_NULL_POINTER, ISOLINE_OK, ISOLINE_UNSUPPORTED,
};
use super::isolines::*;
use super::isosurface::*;
use super::level_set::*;
use super::level_set_results::*;
use super::mask::*;
use super::objects::*;
use super::polygons::*;
use super::progress::*;
use super::segments::*;
use super::snake::*;
use super::snake_results::*;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const SIDE: usize = 9;

/// Returns a struct after its init function.
fn made<T>(init: unsafe extern "C" fn(*mut T, usize) -> isoline_status) -> T {
    let mut value = MaybeUninit::uninit();
    // SAFETY: the function writes the whole struct.
    unsafe {
        assert_eq!(init(value.as_mut_ptr(), size_of::<T>()), ISOLINE_OK);
        value.assume_init()
    }
}

/// Describes the pixels of a slice, in rows that are `row` bytes apart.
fn described<T>(pixels: &mut [T], row: usize) -> isoline_image {
    let pixel_type = [isoline_type::ISOLINE_U8, isoline_type::ISOLINE_U16, isoline_type::ISOLINE_F32];
    isoline_image {
        pixel_type: pixel_type[size_of::<T>() / 2] as u32,
        width: SIDE as u64,
        height: (size_of_val(pixels).div_ceil(row)) as u64,
        depth: 1,
        row_stride: row as u64,
        data: pixels.as_mut_ptr().cast(),
        ..made(isoline_image_init)
    }
}

fn context() -> *mut isoline_context {
    let mut context = null_mut();
    // SAFETY: a string with its end, and a place for the context.
    assert_eq!(unsafe { isoline_context_new(c"cpu".as_ptr(), &mut context) }, ISOLINE_OK);
    context
}

/// A bright square on a dark ground, whose rows have a gap of two bytes, but for the last one.
fn square() -> Vec<u8> {
    let row = SIDE + 2;
    (0..SIDE * row - 2)
        .map(|i| if (2..7).contains(&(i / row)) && (2..7).contains(&(i % row)) { 200 } else { 10 })
        .collect()
}

#[test]
fn structs_of_other_sizes_are_read_and_written_within_their_size() {
    let mut pixels = square();
    let image = described(&mut pixels, SIDE + 2);
    // A newer caller's struct is longer; the bytes that are not known are 0, or the struct is refused.
    for (last, wanted) in [(0, ISOLINE_OK), (1, ISOLINE_UNSUPPORTED)] {
        let mut longer = [0u64; size_of::<isoline_image>() / 8 + 2];
        let boxes = isoline_box { min: [0.0; 3], max: [1.0; 3] };
        // SAFETY: the struct fits into the memory, which is aligned for it.
        unsafe {
            longer.as_mut_ptr().cast::<isoline_image>().write(image);
            longer.as_mut_ptr().cast::<u32>().write(size_of_val(&longer) as u32);
            *longer.last_mut().unwrap() = last;
            assert_eq!(isoline_mask_fill_boxes(longer.as_ptr().cast(), &boxes, 1, 7), wanted);
        }
    }
    assert_eq!((pixels[0], pixels[SIDE + 3], pixels[2]), (7, 7, 10));
    // An older caller's is shorter, and nothing is written beyond it.
    let mut state = [0x5au8; size_of::<isoline_level_set_state>()];
    // SAFETY: the sizes are those of the memory.
    let status = unsafe { isoline_level_set_state_init(state.as_mut_ptr().cast(), 20) };
    assert_eq!(status, ISOLINE_INVALID_ARGUMENT);
    assert!(state.iter().all(|byte| *byte == 0x5a));
}

#[test]
fn images_to_images_and_objects() {
    let (mut pixels, row) = (square(), SIDE + 2);
    let mut distances = vec![-1f32; SIDE * SIDE];
    let mut edges = vec![7u8; SIDE * SIDE];
    let input = described(&mut pixels, row);
    let (floats, map) = (described(&mut distances, 4 * SIDE), described(&mut edges, SIDE));
    let context = context();
    let (mut segments, mut curves) = (null_mut(), null_mut());
    let params = isoline_edge_drawing_params { min_length: 1, ..made(isoline_edge_drawing_params_init) };
    // SAFETY: every pointer is NULL or of a struct of its type; the objects are freed once.
    unsafe {
        assert_eq!(isoline_distance(context, &input, null(), null(), &floats, null_mut()), ISOLINE_OK);
        let status = isoline_edge_drawing(context, &input, &params, null(), &map, &mut segments, null_mut());
        assert_eq!(status, ISOLINE_OK);
        let level = 100.0;
        let status = isoline_isolines(context, &input, &level, 1, null(), null(), &mut curves, null_mut());
        assert_eq!(status, ISOLINE_OK);
        isoline_context_free(context);
        let mut arrays = made(isoline_segment_arrays_init);
        assert_eq!(isoline_segments_all(segments, &mut arrays), ISOLINE_OK);
        assert_eq!(arrays.count as usize, isoline_segments_count(segments));
        let points = std::slice::from_raw_parts(arrays.points, arrays.point_count as usize);
        assert!(points.iter().all(|point| edges[point.y as usize * SIDE + point.x as usize] == 255));
        let mut all = made(isoline_polyline_arrays_init);
        assert_eq!(isoline_polylines_all(curves, &mut all), ISOLINE_OK);
        assert_eq!((all.count, (*all.polylines).flags), (1, 1));
        isoline_polylines_free(curves);
        isoline_segments_free(segments);
        isoline_segments_free(null_mut());
    }
    assert!(distances.iter().all(|distance| *distance != -1.0));
}

#[test]
fn lines_and_ellipses_along_segments() {
    // A disc, in the smallest image in which its outline is long enough.
    const SIDE: usize = 11;
    let mut pixels: Vec<u8> = (0..SIDE * SIDE)
        .map(|i| 4.0 - ((i % SIDE) as f64 - 5.0).hypot((i / SIDE) as f64 - 5.0))
        .map(|inside| (10.0 + 190.0 * inside.clamp(0.0, 1.0)) as u8)
        .collect();
    let input = isoline_image { width: SIDE as u64, ..described(&mut pixels, SIDE) };
    let context = context();
    let (mut segments, mut lines, mut ellipses) = (null_mut(), null_mut(), null_mut());
    let params = isoline_edge_drawing_params {
        min_length: 1,
        line_min_length: 2,
        line_validation: 0,
        ellipse_coverage: 0.3,
        ..made(isoline_edge_drawing_params_init)
    };
    let (mut first_line, mut line_count, mut first_ellipse, mut ellipse_count) = (null(), 0, null(), 0);
    // SAFETY: every pointer is NULL or of a struct of its type; the objects are freed once, after what was borrowed is read.
    unsafe {
        let status = isoline_edge_drawing(context, &input, &params, null(), null(), &mut segments, null_mut());
        assert_eq!(status, ISOLINE_OK);
        let status = isoline_edge_drawing_lines(context, &input, segments, &params, null(), &mut lines, null_mut());
        assert_eq!(status, ISOLINE_OK);
        let status =
            isoline_edge_drawing_ellipses(context, &input, segments, &params, null(), &mut ellipses, null_mut());
        assert_eq!(status, ISOLINE_OK);
        isoline_context_free(context);
        isoline_segments_free(segments);
        assert_eq!(isoline_lines_all(lines, &mut first_line, &mut line_count), ISOLINE_OK);
        assert_eq!(isoline_ellipses_all(ellipses, &mut first_ellipse, &mut ellipse_count), ISOLINE_OK);
        let found = std::slice::from_raw_parts(first_line, line_count);
        assert!(!found.is_empty() && found.iter().all(|line| line.x0 >= 0.0 && line.x0 < SIDE as f64));
        let found = std::slice::from_raw_parts(first_ellipse, ellipse_count);
        assert!(!found.is_empty() && found.iter().all(|ellipse| (ellipse.x - 5.0).abs() < 1.0));
        isoline_lines_free(lines);
        isoline_ellipses_free(ellipses);
    }
}

#[test]
fn the_arrays_of_a_surface_are_borrowed() {
    let mut pixels = square();
    let input = described(&mut pixels, SIDE + 2);
    let context = context();
    let mut surface = null_mut();
    // SAFETY: every pointer is NULL or of a struct of its type; the objects are freed once, after what was borrowed is read.
    unsafe {
        assert_eq!(isoline_isosurface(context, &input, null(), null(), &mut surface, null_mut()), ISOLINE_OK);
        isoline_context_free(context);
        let mut all = made(isoline_surface_arrays_init);
        assert_eq!(isoline_surface_all(surface, &mut all), ISOLINE_OK);
        assert_eq!((all.closed, all.piece_count, all.euler), (1, 1, 2));
        let triangles = std::slice::from_raw_parts(all.triangles, 3 * all.triangle_count as usize);
        assert!(triangles.iter().all(|vertex| u64::from(*vertex) < all.vertex_count));
        let coordinates = std::slice::from_raw_parts(all.vertices, 3 * all.vertex_count as usize);
        assert!(coordinates.iter().all(|coordinate| (-0.5..8.0).contains(coordinate)));
        isoline_surface_free(surface);
    }
}

#[test]
fn objects_grow_from_their_starts() {
    let (mut pixels, row) = (square(), SIDE + 2);
    let (mut numbers, mut seeds) = (vec![7u16; SIDE * SIDE], vec![0u8; SIDE * SIDE]);
    seeds[4 * SIDE + 3..4 * SIDE + 6].fill(2);
    let (input, starts) = (described(&mut pixels, row), described(&mut seeds, SIDE));
    let labels = described(&mut numbers, 2 * SIDE);
    let context = context();
    let mut list = null_mut();
    let params = isoline_objects_params { iterations: 2, check_interval: 1, ..made(isoline_objects_params_init) };
    let (mut first, mut count) = (null(), 0);
    // SAFETY: every pointer is NULL or of a struct of its type; the objects are freed once, after what was borrowed is read.
    unsafe {
        let status = isoline_objects(context, &input, &starts, &params, null(), &labels, &mut list, null_mut());
        assert_eq!(status, ISOLINE_OK);
        isoline_context_free(context);
        assert_eq!(isoline_object_list_all(list, &mut first, &mut count), ISOLINE_OK);
        let objects = std::slice::from_raw_parts(first, count);
        let voxels = numbers.iter().filter(|label| **label == 2).count() as u64;
        assert_eq!((objects.len(), objects[0].label, objects[0].voxels), (1, 2, voxels));
        isoline_object_list_free(list);
    }
    assert!(numbers[4 * SIDE + 4] == 2 && numbers[0] == 0);
}

#[test]
fn edge_strength_iterates_and_converges() {
    let (mut pixels, row) = (square(), SIDE + 2);
    let context = context();
    for mode in [
        isoline_edge_strength_mode::ISOLINE_EDGE_STRENGTH_ITERATIONS,
        isoline_edge_strength_mode::ISOLINE_EDGE_STRENGTH_CONVERGED,
    ] {
        let mut strengths = vec![-1f32; SIDE * SIDE];
        let (input, output) = (described(&mut pixels, row), described(&mut strengths, 4 * SIDE));
        let params = isoline_edge_strength_params {
            mode: mode as u32,
            threshold: 100.0,
            iterations: 2,
            max_cycles: 1,
            ..made(isoline_edge_strength_params_init)
        };
        // SAFETY: every pointer is NULL or of a struct of its type.
        let status = unsafe { isoline_edge_strength(context, &input, &params, null(), &output, null_mut()) };
        assert_eq!(status, ISOLINE_OK);
        assert!(strengths.iter().all(|strength| *strength >= 0.0) && strengths.iter().any(|strength| *strength > 0.0));
    }
    // SAFETY: it is freed once.
    unsafe { isoline_context_free(context) };
}

unsafe extern "C" fn go_on(user: *mut std::ffi::c_void, _fraction: f64, _stage: *const std::ffi::c_char) -> i32 {
    // SAFETY: the number of calls.
    unsafe { *user.cast::<u32>() += 1 };
    0
}

#[test]
fn a_level_set_keeps_its_state() {
    let (mut pixels, row) = (square(), SIDE + 2);
    let mut start = vec![0u8; SIDE * SIDE];
    let (input, mask) = (described(&mut pixels, row), described(&mut start, SIDE));
    let context = context();
    let mut level_set = null_mut();
    let params = isoline_level_set_params {
        dimensions: 2,
        target: 200.0,
        epsilon: 50.0,
        alpha: 0.5,
        ..made(isoline_level_set_params_init)
    };
    let ball = isoline_sphere { centre: [4.0, 4.0, 0.0], radius: 1.5 };
    let mut calls = 0u32;
    let mut written = 0;
    let mut statistics = [MaybeUninit::<isoline_iteration_statistics>::uninit(); 3];
    // SAFETY: every pointer is NULL or of a struct of its type; the objects are freed once.
    unsafe {
        assert_eq!(isoline_mask_fill_spheres(&mask, &ball, 1, 255), ISOLINE_OK);
        assert_eq!(isoline_level_set_new(context, &input, &mask, &params, &mut level_set), ISOLINE_OK);
        isoline_context_free(context);
        let user = (&raw mut calls).cast();
        let progress = isoline_progress { callback: Some(go_on), user, ..made(isoline_progress_init) };
        // scripts/miri.sh says why.
        let progress = if cfg!(miri) { null() } else { &raw const progress };
        assert_eq!(isoline_level_set_step(level_set, 2, progress, null_mut()), ISOLINE_OK);
        let out = statistics.as_mut_ptr().cast();
        assert_eq!(isoline_level_set_statistics(level_set, 0, 3, out, &mut written), ISOLINE_OK);
        assert_eq!((written, statistics[1].assume_init().iteration), (2, 2));
        assert_eq!(isoline_level_set_read_mask(level_set, &mask), ISOLINE_OK);
        isoline_level_set_free(level_set);
    }
    assert!((calls > 0 || cfg!(miri)) && start[4 * SIDE + 4] == 255 && start[0] == 0);
}

#[test]
fn polygons_of_a_snake_are_borrowed() {
    let (mut pixels, row) = (square(), SIDE + 2);
    let mut numbers = vec![7u16; SIDE * SIDE];
    let (input, labels) = (described(&mut pixels, row), described(&mut numbers, 2 * SIDE));
    let nodes = [(1, 1), (6, 1), (6, 6), (1, 6)].map(|(x, y)| isoline_node { x, y });
    let offsets = [0, 4];
    let given = isoline_polygons {
        count: 1,
        node_count: 4,
        nodes: nodes.as_ptr(),
        offsets: offsets.as_ptr(),
        ..made(isoline_polygons_init)
    };
    let context = context();
    let mut snake = null_mut();
    let params = isoline_snake_params { largest_step: 1, ..made(isoline_snake_params_init) };
    let mut sum = MaybeUninit::<isoline_region_sum>::uninit();
    let mut points = [isoline_curve_point { x: 0.0, y: 0.0 }; 16];
    let mut ends = [0u64; 2];
    // SAFETY: every pointer is NULL or of a struct of its type; the objects are freed once.
    unsafe {
        assert_eq!(isoline_snake_new(context, &input, &given, &params, &mut snake), ISOLINE_OK);
        assert_eq!(isoline_snake_step(snake, 2, null(), null_mut()), ISOLINE_OK);
        assert_eq!(isoline_snake_region_sums(snake, &given, sum.as_mut_ptr()), ISOLINE_OK);
        assert_eq!(sum.assume_init().pixels, 25);
        // The borrowed polygons are an input until the call that ends them.
        let mut borrowed = made(isoline_polygons_init);
        assert_eq!(isoline_snake_polygons(snake, &mut borrowed), ISOLINE_OK);
        assert_eq!(isoline_polygons_smooth(&borrowed, 1e6, 2, 16, ends.as_mut_ptr(), points.as_mut_ptr()), ISOLINE_OK);
        assert_eq!(ends[1], 2 * borrowed.node_count);
        assert_eq!(isoline_snake_restart(snake, &borrowed, &params), ISOLINE_OK);
        assert_eq!(isoline_snake_draw_labels(snake, &labels), ISOLINE_OK);
        isoline_context_free(context);
        isoline_snake_free(snake);
    }
    assert!(numbers.iter().all(|number| *number <= 1) && numbers[4 * SIDE + 4] == 1);
}

#[test]
fn buffers_and_the_cancel_flag_are_memory_of_the_caller() {
    let context = context();
    let mut memory = null_mut();
    let flag = std::sync::atomic::AtomicI32::new(1);
    // SAFETY: every pointer is NULL or of a struct of its type; the objects are freed once; the flag is taken back.
    unsafe {
        assert_eq!(isoline_buffer_new(context, SIDE * SIDE, null_mut()), ISOLINE_NULL_POINTER);
        assert_eq!(isoline_buffer_new(context, SIDE * SIDE, &mut memory), ISOLINE_OK);
        isoline_context_free(context);
        let pixels = std::slice::from_raw_parts_mut(memory.cast::<u8>(), SIDE * SIDE);
        pixels.fill(0);
        let mask = described(pixels, SIDE);
        let boxes = isoline_box { min: [0.0; 3], max: [8.0, 8.0, 0.0] };
        assert_eq!(isoline_set_cancel_flag(flag.as_ptr()), ISOLINE_OK);
        assert_eq!(isoline_mask_fill_boxes(&mask, &boxes, 1, 3), ISOLINE_CANCELLED);
        flag.store(0, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(isoline_mask_fill_boxes(&mask, &boxes, 1, 3), ISOLINE_OK);
        assert_eq!(isoline_set_cancel_flag(null()), ISOLINE_OK);
        isoline_buffer_free(memory);
        isoline_buffer_free(memory);
    }
}
