//! Out of memory is an error, and never ends the process: every operation runs with each of its large allocations on the
//! host failing in turn, on the CPU and, where there is a GPU, on CUDA.
//!
//! The allocator of this program refuses the n-th allocation of at least [`LARGE`] bytes. Smaller ones are granted: of
//! these the standard library and the thread pool make some of a fixed size, where Rust ends the process. Each operation
//! runs in a process of its own, so that one that is ended is named.

#![allow(unsafe_code)]

use isoline::edge_drawing::{self, Segments};
use isoline::isolines::{self, Polylines};
use isoline::isosurface::{self, Surface};
use isoline::level_set::{self, LevelSet};
use isoline::objects::{self, Objects};
use isoline::snake::{self, Node, Overlap, Polygons, Schedule, Snake};
use isoline::{
    Context, DeviceKind, Dimensions, ErrorKind, PixelType, Result, Sink, Source, distance, edge_strength, mask,
};
use ndarray::{Array2, Array3};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The size from which an allocation is refused, in bytes. The images are so large that lists with an entry for each row,
/// tile, target or node are larger.
const LARGE: usize = 16 << 10;

/// The most allocations that are refused in turn; of more, some in between are left out. The environment variable
/// `ISOLINE_TEST_EVERY` refuses each.
const MOST: u64 = 8;

/// Refuses allocations while it is armed.
struct Refusing;

static ARMED: AtomicBool = AtomicBool::new(false);
/// The size from which allocations are refused, in bytes.
static SMALLEST: AtomicUsize = AtomicUsize::new(LARGE);
/// The number of large allocations since it was armed.
static COUNT: AtomicU64 = AtomicU64::new(0);
/// The first and the last of those that are refused.
static REFUSED: [AtomicU64; 2] = [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)];

fn refused(size: usize) -> bool {
    if size < SMALLEST.load(Ordering::Relaxed) || !ARMED.load(Ordering::Relaxed) {
        return false;
    }
    let index = COUNT.fetch_add(1, Ordering::Relaxed);
    let refused = (REFUSED[0].load(Ordering::Relaxed)..=REFUSED[1].load(Ordering::Relaxed)).contains(&index);
    if refused && std::env::var_os("ISOLINE_TEST_WHERE").is_some() {
        ARMED.store(false, Ordering::Relaxed);
        eprintln!("refused {size} bytes: {}", std::backtrace::Backtrace::force_capture());
        ARMED.store(true, Ordering::Relaxed);
    }
    refused
}

// SAFETY: the system's allocator does all the work; a refused request gives NULL, as an allocator may.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller ensures.
        if refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller ensures.
        if refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let grows = size > layout.size();
        // SAFETY: as the caller ensures.
        if grows && refused(size) { std::ptr::null_mut() } else { unsafe { System.realloc(memory, layout, size) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller ensures.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Makes a call during which allocations are counted and refused; those of the tests themselves are not.
fn armed<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    ARMED.store(true, Ordering::Relaxed);
    let result = call();
    ARMED.store(false, Ordering::Relaxed);
    result
}

/// An operation, which returns what it wrote.
type Operation = (&'static str, fn(&Context) -> Result<Vec<u8>>);

/// Returns an image with objects and some noise, the same every time.
fn image(shape: (usize, usize, usize)) -> Array3<u8> {
    let mut state = 1u32;
    Array3::from_shape_fn(shape, |(z, y, x)| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let inside = (x / 23 + y / 17 + z / 5) % 3 == 0;
        (if inside { 180 } else { 40 }) + (state >> 28) as u8
    })
}

fn on_cpu(context: &Context) -> bool {
    context.device().kind == DeviceKind::Cpu
}

fn bytes_of(values: &Array3<f32>) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

fn edge_strength(context: &Context, shape: (usize, usize, usize), params: &edge_strength::Params) -> Result<Vec<u8>> {
    let params = edge_strength::Params { threshold: 100.0, rho: 8.0, ..params.clone() };
    let mut strength = Array3::zeros(shape);
    let input = image(shape);
    armed(|| edge_strength::run(context, input.view().into(), &params, None, strength.view_mut().into()))?;
    Ok(bytes_of(&strength))
}

fn iterations(context: &Context) -> Result<Vec<u8>> {
    use edge_strength::{Params, Variant};
    let wide = edge_strength(context, (3, 9, 20_000), &Params::default())?;
    let many = edge_strength(context, (40, 90, 110), &Params::default())?;
    let volume = Params { dimensions: Dimensions::Volume, ..Params::default() };
    let volume = edge_strength(context, (40, 90, 110), &volume)?;
    let variant = if on_cpu(context) { Variant::Scalar } else { Variant::Shared };
    let other = Params { variant, mode: edge_strength::Mode::Iterate { iterations: 3 }, ..Params::default() };
    Ok([wide, many, volume, edge_strength(context, (2, 90, 110), &other)?].concat())
}

fn converged(context: &Context) -> Result<Vec<u8>> {
    use edge_strength::{Mode, Params};
    let mode = Mode::Converged { tolerance: 1e-3, max_cycles: 2 };
    let slices = Params { mode, ..Params::default() };
    let volume = Params { mode, dimensions: Dimensions::Volume, ..Params::default() };
    let tall = edge_strength(context, (1, 40_000, 5), &slices)?;
    let wide = edge_strength(context, (2, 70, 900), &slices)?;
    Ok([tall, wide, edge_strength(context, (20, 60, 70), &volume)?].concat())
}

fn drawing(context: &Context, params: &edge_drawing::Params) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    for shape in [(2, 200, 260), (1, 20_000, 9), (1, 12, 9000)] {
        let mut edges = Array3::<u8>::zeros(shape);
        let mut segments = Segments::new();
        let input = image(shape);
        armed(|| {
            edge_drawing::run(
                context,
                input.view().into(),
                params,
                None,
                Some(edges.view_mut().into()),
                Some(&mut segments),
            )
        })?;
        found.extend(edges.iter());
        found.extend(segments.points().iter().flat_map(|point| point.x.to_le_bytes()));
        found.extend(segments.mean_gradients().iter().flat_map(|gradient| gradient.to_bits().to_le_bytes()));
    }
    Ok(found)
}

fn paper(context: &Context) -> Result<Vec<u8>> {
    drawing(context, &edge_drawing::Params::default())
}

fn reference(context: &Context) -> Result<Vec<u8>> {
    let profile = edge_drawing::Profile::Reference;
    drawing(context, &edge_drawing::Params { profile, ..edge_drawing::Params::default() })
}

fn validated(context: &Context) -> Result<Vec<u8>> {
    let validation = edge_drawing::Validation::FalseAlarms;
    // At this threshold there are many segments, of which few pass.
    let gradient_threshold = Some(4.0);
    drawing(context, &edge_drawing::Params { validation, gradient_threshold, ..edge_drawing::Params::default() })
}

fn distances(context: &Context) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    for (shape, dimensions) in [((3, 60, 9000), Dimensions::Slices), ((40, 90, 110), Dimensions::Volume)] {
        let params = distance::Params { dimensions, threshold: 100.0, ..distance::Params::default() };
        let mut distances = Array3::zeros(shape);
        let input = image(shape);
        armed(|| distance::run(context, input.view().into(), &params, None, distances.view_mut().into()))?;
        found.extend(bytes_of(&distances));
    }
    Ok(found)
}

/// Passes into images whose rows are not in one piece of memory, so that a pass needs a buffer.
fn distance_passes(context: &Context) -> Result<Vec<u8>> {
    let (input, params) = (image((40, 90, 110)), distance::Params { threshold: 100.0, ..distance::Params::default() });
    let [mut values, mut other] = [Array3::<f32>::zeros((40, 90, 111)), Array3::zeros((40, 90, 111))];
    let inner = ndarray::s![.., .., ..110];
    armed(|| {
        distance::pass(context, input.view().into(), 0, &params, None, values.slice_mut(inner).into())?;
        distance::pass(context, values.slice(inner).into(), 1, &params, None, other.slice_mut(inner).into())?;
        distance::pass(context, other.slice(inner).into(), 2, &params, None, values.slice_mut(inner).into())
    })?;
    Ok(bytes_of(&values))
}

/// A volume that functions read and write, with a temporary file.
fn distances_of_slices(context: &Context) -> Result<Vec<u8>> {
    let (input, params) = (image((40, 90, 110)), distance::Params { threshold: 100.0, ..distance::Params::default() });
    let (pixels, mut written) = (input.as_slice().unwrap(), Vec::with_capacity(4 * input.len()));
    let source = Source::new(PixelType::U8, [110, 90, 40], |slice, to| {
        to.copy_from_slice(&pixels[slice * to.len()..][..to.len()]);
        Ok::<_, String>(())
    });
    let sink = Sink::new(PixelType::F32, [110, 90, 40], |_, from| {
        written.extend_from_slice(from);
        Ok::<_, String>(())
    });
    armed(|| distance::run(context, source.into(), &params, None, sink.into()))?;
    Ok(written)
}

fn isolines(context: &Context) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    for shape in [(2, 200, 260), (1, 20_000, 9), (1, 12, 9000)] {
        let params = isolines::Params { level_count: 3, ..isolines::Params::default() };
        let mut polylines = Polylines::new();
        let input = image(shape);
        armed(|| isolines::run(context, input.view().into(), &params, None, &mut polylines))?;
        found.extend(polylines.points().iter().flatten().flat_map(|coordinate| coordinate.to_bits().to_le_bytes()));
        found.extend(polylines.polylines().iter().flat_map(|polyline| polyline.parent.to_le_bytes()));
    }
    Ok(found)
}

fn axes(context: &Context) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    for shape in [(3, 300, 320), (1, 20, 9000)] {
        let strength = image(shape).mapv(|pixel| (f32::from(pixel) + 1.0) / 300.0);
        let mut axes = Polylines::new();
        let params = edge_strength::AxisParams { min_length: 1.0, ..Default::default() };
        armed(|| edge_strength::axes(context, strength.view().into(), &params, None, &mut axes))?;
        found.extend(axes.points().iter().flatten().flat_map(|coordinate| coordinate.to_bits().to_le_bytes()));
        found.extend(axes.polylines().iter().flat_map(|axis| axis.flags.to_le_bytes()));
    }
    Ok(found)
}

fn isosurface(context: &Context) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    for shape in [(24, 90, 110), (1, 20_000, 9), (1, 12, 9000)] {
        let params = isosurface::Params { level: Some(110.0), ..isosurface::Params::default() };
        let mut surface = Surface::new();
        let input = image(shape);
        armed(|| isosurface::run(context, input.view().into(), &params, None, &mut surface))?;
        found.extend(
            surface.vertices().iter().chain(surface.normals()).flatten().flat_map(|number| number.to_le_bytes()),
        );
        found.extend(surface.triangles().iter().flatten().flat_map(|index| index.to_le_bytes()));
        found.extend(surface.measures().area.to_bits().to_le_bytes());
        // Slices that a function reads, and the mesh that was found, give the same surface.
        let pixels = input.as_slice().expect("packed");
        let source = Source::new(PixelType::U8, [shape.2, shape.1, shape.0], |slice, to: &mut [u8]| {
            to.copy_from_slice(&pixels[slice * to.len()..][..to.len()]);
            Ok::<_, String>(())
        });
        let mut other = Surface::new();
        armed(|| isosurface::run(context, source.into(), &params, None, &mut other))?;
        assert!(other == surface);
        armed(|| {
            isosurface::of_mesh(context, surface.vertices(), surface.triangles(), params.foreground, None, &mut other)
        })?;
        assert!(other.normals() == surface.normals());
    }
    Ok(found)
}

fn objects(context: &Context) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    for shape in [(24, 60, 70), (1, 30, 9000)] {
        let params = objects::Params { threshold: Some(110.0), iterations: 10, ..objects::Params::default() };
        let (mut labels, mut list) = (Array3::<f32>::zeros(shape), Objects::new());
        let input = image(shape);
        let output = labels.view_mut().into();
        armed(|| objects::run(context, input.view().into(), None, &params, None, output, &mut list))?;
        found.extend(bytes_of(&labels));
        found.extend(list.all().iter().flat_map(|object| object.mean.to_bits().to_le_bytes()));
    }
    Ok(found)
}

fn level_set(context: &Context, params: &level_set::Params) -> Result<Vec<u8>> {
    // Plain loops, and coarse levels, whose iterations end at rest, would take long on the larger image.
    let slow = params.variant == level_set::Variant::Scalar || params.pyramid_levels > 1;
    let shape = if slow { (24, 150, 130) } else { (24, 300, 260) };
    let input = image(shape);
    let inside = Array3::from_shape_fn(shape, |(z, y, x)| u8::from(z > 5 && z < 18 && y % 90 < 50 && x % 80 < 40));
    // The distances are renewed between the iterations.
    let params = level_set::Params { reinitialise_every: 2, ..params.clone() };
    let mut solver = armed(|| LevelSet::new(context, input.view().into(), inside.view().into(), &params))?;
    armed(|| solver.step(3, None))?;
    let mut phi = Array3::<f32>::zeros(shape);
    armed(|| solver.read_phi(phi.view_mut().into()))?;
    armed(|| solver.write_phi(phi.view().into()))?;
    armed(|| solver.step(2, None))?;
    let mut mask = Array3::<u8>::zeros(shape);
    armed(|| solver.read_mask(mask.view_mut().into()))?;
    Ok(mask.into_iter().chain(bytes_of(&phi)).collect())
}

fn band(context: &Context) -> Result<Vec<u8>> {
    level_set(context, &level_set::Params::default())
}

fn dense_slices(context: &Context) -> Result<Vec<u8>> {
    use level_set::{Params, Variant};
    let params = Params { variant: Variant::Dense, dimensions: Dimensions::Slices, ..Params::default() };
    level_set(context, &params)
}

fn scalar_level_set(context: &Context) -> Result<Vec<u8>> {
    level_set(context, &level_set::Params { variant: level_set::Variant::Scalar, ..level_set::Params::default() })
}

fn pyramids(context: &Context) -> Result<Vec<u8>> {
    let slices = level_set::Params {
        dimensions: Dimensions::Slices,
        range: Some(level_set::TargetRange { target: 180.0, epsilon: 70.0 }),
        pyramid_levels: 2,
        ..level_set::Params::default()
    };
    let mut starts = Polygons::new();
    for index in 0..600 {
        starts.push(&square(index % 30 * 16 - 3, index / 30 * 16 - 3, 12));
    }
    let params = snake::Params { overlap: Overlap::Excluded, pyramid_levels: 2, ..snake::Params::default() };
    Ok([level_set(context, &slices)?, snakes(context, (340, 500), &starts, &params, 2)?].concat())
}

fn snakes(
    context: &Context,
    shape: (usize, usize),
    starts: &Polygons,
    params: &snake::Params,
    iterations: u64,
) -> Result<Vec<u8>> {
    let input = image((1, shape.0, shape.1));
    let mut snake = armed(|| Snake::new(context, input.view().into(), Some(starts), params))?;
    armed(|| snake.step(iterations, None))?;
    let polygons = armed(|| snake.try_polygons())?;
    let mut found: Vec<u8> =
        polygons.nodes().iter().flat_map(|node| [node.x.to_le_bytes(), node.y.to_le_bytes()].concat()).collect();
    let sums = armed(|| snake.region_sums(&polygons))?;
    found.extend(sums.iter().flat_map(|sum| sum.z.to_le_bytes()));
    found.extend(
        armed(|| snake.try_statistics())?.iter().flat_map(|statistics| statistics.criterion.to_bits().to_le_bytes()),
    );
    let mut mask = Array2::<u8>::zeros(shape);
    armed(|| snake.read_mask(mask.view_mut().into()))?;
    found.extend(mask);
    let mut labels = Array2::<u16>::zeros(shape);
    armed(|| snake.read_labels(labels.view_mut().into()))?;
    found.extend(labels.iter().flat_map(|label| label.to_le_bytes()));
    armed(|| snake.restart(Some(starts), params))?;
    armed(|| snake.step(1, None))?;
    Ok(found)
}

fn square(x: i32, y: i32, side: i32) -> [Node; 4] {
    [Node::new(x, y), Node::new(x + side, y), Node::new(x + side, y + side), Node::new(x, y + side)]
}

fn many_snakes(context: &Context) -> Result<Vec<u8>> {
    let mut starts = Polygons::new();
    for index in 0..2100 {
        starts.push(&square(index % 50 * 8 - 3, index / 50 * 8 - 3, 6));
    }
    let params = snake::Params { largest_step: Some(2), ..snake::Params::default() };
    let apart = snake::Params { overlap: Overlap::Excluded, ..params.clone() };
    let shape = (340, 400);
    Ok([snakes(context, shape, &starts, &params, 2)?, snakes(context, shape, &starts, &apart, 2)?].concat())
}

fn large_snakes(context: &Context) -> Result<Vec<u8>> {
    // A comb, and a small square.
    let mut comb: Vec<Node> = (0..2498).map(|i| Node::new(10 + i, if i % 2 == 0 { 10 } else { 45 })).collect();
    comb.extend([Node::new(2520, 10), Node::new(2520, 55), Node::new(5, 55)]);
    let mut starts = Polygons::new();
    starts.push(&comb);
    starts.push(&square(100, 12, 30));
    let params =
        snake::Params { max_nodes: 4096, largest_step: Some(1), node_spacing: Some(4.0), ..snake::Params::default() };
    let sequential = snake::Params { schedule: Schedule::Sequential, ..params.clone() };
    let shape = (60, 2600);
    let mut found = snakes(context, shape, &starts, &params, 2)?;
    if on_cpu(context) {
        found.extend(snakes(context, shape, &starts, &sequential, 1)?);
    }
    Ok(found)
}

fn masks(_: &Context) -> Result<Vec<u8>> {
    let mut filled = Array3::<u8>::zeros((3, 50, 4000));
    let corners: Vec<[f64; 2]> = (0..3000).map(|i| [f64::from(i), if i % 2 == 0 { 2.0 } else { 47.0 }]).collect();
    armed(|| mask::fill_polygon(filled.view_mut().into(), &corners, 0..3, 9))?;
    Ok(filled.into_iter().collect())
}

const OPERATIONS: [Operation; 23] = [
    ("iterations", iterations),
    ("converged", converged),
    ("paper", paper),
    ("reference", reference),
    ("validated", validated),
    ("distances", distances),
    ("distance_passes", distance_passes),
    ("distances_of_slices", distances_of_slices),
    ("isolines", isolines),
    ("axes", axes),
    ("isosurface", isosurface),
    ("objects", objects),
    ("band", band),
    ("dense_slices", dense_slices),
    ("scalar_level_set", scalar_level_set),
    ("pyramids", pyramids),
    ("many_snakes", many_snakes),
    ("large_snakes", large_snakes),
    ("masks", masks),
    ("lines", |context| {
        let input = image((3, 300, 300));
        let (mut segments, mut lines) = (Segments::new(), Vec::new());
        let drawing = edge_drawing::Params { gradient_threshold: Some(20.0), ..edge_drawing::Params::default() };
        edge_drawing::run(context, input.view().into(), &drawing, None, None, Some(&mut segments))?;
        let params = edge_drawing::LineParams { min_length: Some(2), validation: false, ..Default::default() };
        armed(|| edge_drawing::lines(context, input.view().into(), &segments, &params, None, &mut lines))?;
        let bytes = |line: &edge_drawing::Line| [line.x0, line.y0, line.x1, line.y1].map(f64::to_le_bytes).concat();
        Ok(lines.iter().flat_map(bytes).collect())
    }),
    ("ellipses", |context| {
        // Many discs, every second one without a part of its right side.
        let input = Array3::from_shape_fn((1, 1200, 1200), |(_, y, x)| {
            let [dx, dy] = [x, y].map(|at| (at % 24) as f64 - 11.7);
            let hidden = (x / 24 + y / 24) % 2 == 1 && dx > 4.0;
            if hidden { 40 } else { (40.0 + 160.0 * (8.5 - dx.hypot(dy)).clamp(0.0, 1.0)) as u8 }
        });
        let (mut segments, mut ellipses) = (Segments::new(), Vec::new());
        edge_drawing::run(context, input.view().into(), &Default::default(), None, None, Some(&mut segments))?;
        let params = edge_drawing::EllipseParams { validation: false, ..Default::default() };
        armed(|| edge_drawing::ellipses(context, input.view().into(), &segments, &params, None, &mut ellipses))?;
        let bytes =
            |one: &edge_drawing::Ellipse| [one.x, one.y, one.semi_major, one.coverage].map(f64::to_le_bytes).concat();
        Ok(ellipses.iter().flat_map(bytes).collect())
    }),
    ("slices", |context| {
        let (input, params) = (image((9, 300, 300)), edge_drawing::Params::default());
        let (mut segments, mut edges) = (Segments::new(), vec![0u8; input.len()]);
        let pixels = input.as_slice().unwrap();
        let source = Source::new(PixelType::U8, [300, 300, 9], |slice, to| {
            to.copy_from_slice(&pixels[slice * to.len()..][..to.len()]);
            Ok::<_, String>(())
        });
        let sink = Sink::new(PixelType::U8, [300, 300, 9], |slice, from| {
            edges[slice * from.len()..][..from.len()].copy_from_slice(from);
            Ok::<_, String>(())
        });
        let output = Some(sink.into());
        armed(|| edge_drawing::run(context, source.into(), &params, None, output, Some(&mut segments)))?;
        edges.extend(segments.len().to_le_bytes());
        Ok(edges)
    }),
    ("threshold", |context| {
        let (input, params) = (image((3, 300, 300)), edge_drawing::Params::default());
        let found = armed(|| edge_drawing::automatic_threshold(context, input.view().into(), &params))?;
        Ok(found.to_bits().to_le_bytes().to_vec())
    }),
];

/// Runs an operation while the large allocations from `first` to `last` are refused; returns its result and their number.
fn attempt((_, run): Operation, context: &Context, first: u64, last: u64) -> (Result<Vec<u8>>, u64) {
    // Memory that is kept between calls would spare the next one an allocation.
    context.trim();
    COUNT.store(0, Ordering::Relaxed);
    REFUSED[0].store(first, Ordering::Relaxed);
    REFUSED[1].store(last, Ordering::Relaxed);
    let result = run(context);
    (result, COUNT.load(Ordering::Relaxed))
}

/// Refuses the large allocations of an operation in turn.
fn refuse_in_turn(operation: Operation, context: &Context) {
    let (wanted, count) = attempt(operation, context, u64::MAX, u64::MAX);
    let wanted = wanted.unwrap();
    assert!(count > 0, "{}: it makes no large allocation", operation.0);
    let stride = if std::env::var_os("ISOLINE_TEST_EVERY").is_some() { 1 } else { count.div_ceil(MOST) as usize };
    let mut failures = 0;
    for first in (0..count).step_by(stride) {
        // By turns one alone, or it and all after it.
        let last = if (first / stride as u64).is_multiple_of(2) { first } else { u64::MAX };
        match attempt(operation, context, first, last).0 {
            Ok(result) => assert!(result == wanted, "{first} of {count}: another result"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{first} of {count}: {error}");
                failures += 1;
            }
        }
        if (first / stride as u64).is_multiple_of(16) {
            let (again, _) = attempt(operation, context, u64::MAX, u64::MAX);
            assert!(again.unwrap() == wanted, "{} of {count}: the context is not as before", first);
        }
    }
    println!("{}: {count} large allocations, {failures} calls out of memory", operation.0);
    // CUDA can go on without what it keeps for later calls.
    assert!(failures > 0 || !on_cpu(context), "{}", operation.0);
}

/// Runs operations, each in a process of its own that runs the test again.
fn each_in_a_process(test: &str, operations: &[&str], context: &Context) {
    let chosen = std::env::var("ISOLINE_TEST_OPERATION");
    if let Ok(chosen) = chosen {
        let operation = OPERATIONS.iter().find(|(name, _)| *name == chosen).expect("an operation");
        return refuse_in_turn(*operation, context);
    }
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run_next = || {
        while let Some(name) = operations.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut program = std::process::Command::new(std::env::current_exe().unwrap());
            program.args(["--exact", test, "--nocapture"]);
            let output = program.env("ISOLINE_TEST_OPERATION", name).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            println!("{}", text(&output.stdout).lines().find(|line| line.starts_with(name)).unwrap_or(name));
            if !output.status.success() {
                failed.lock().unwrap().push(format!("{name}: {}: {}", output.status, text(&output.stderr)));
            }
        }
    };
    // There are as many at a time as cores; on a GPU there is one, since two would share its memory.
    let at_once = if on_cpu(context) { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(run_next);
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_large_allocation_may_fail() {
    let context = Context::with_threads("cpu", 1).unwrap();
    each_in_a_process("every_large_allocation_may_fail", &OPERATIONS.map(|(name, _)| name), &context);
}

/// Skipped, and said so, without a GPU. The operations are those that compute there.
#[test]
fn every_large_allocation_of_cuda_may_fail() {
    let context = match Context::with_threads("cuda", 1) {
        Ok(context) => context,
        Err(error) => return println!("skipped: {error}"),
    };
    let operations = [
        "iterations",
        "converged",
        "paper",
        "validated",
        "distances",
        "isosurface",
        "band",
        "dense_slices",
        "many_snakes",
        "large_snakes",
        "slices",
        "threshold",
    ];
    each_in_a_process("every_large_allocation_of_cuda_may_fail", &operations, &context);
}

/// Lists with an entry for each thread or band are small, and longer the more threads there are.
#[test]
fn every_list_of_16_threads_may_fail() {
    SMALLEST.store(1600, Ordering::Relaxed);
    let operations =
        ["iterations", "paper", "reference", "validated", "ellipses", "distances", "isolines", "threshold"];
    let context = Context::with_threads("cpu", 16).unwrap();
    each_in_a_process("every_list_of_16_threads_may_fail", &operations, &context);
}
