//! Tests of the isosurface through the public Rust API: against the definition of its vertices, against bodies whose area,
//! volume, curvature and topology are known, on noise, where every case of a cell occurs, and its invariants. These tests run on
//! the CPU; `cuda.rs` compares CUDA with it, where there is a CUDA device.

#[path = "../common/mod.rs"]
mod common;
mod cuda;

use common::Numbers;
use isoline::isolines::{self, Polylines};
use isoline::isosurface::{self, Foreground, Params, Surface};
use isoline::{Context, ErrorKind, Image, Input};
use ndarray::{Array3, ArrayView3, Axis, s};
use std::collections::HashMap;
use std::f64::consts::PI;
use std::ops::ControlFlow;

fn surface_on<'a>(context: &Context, input: impl Into<Input<'a>>, params: &Params) -> Surface {
    let mut found = Surface::new();
    isosurface::run(context, input.into(), params, None, &mut found).expect("a good call");
    found
}

fn surface_of<'a>(input: impl Into<Input<'a>>, params: &Params) -> Surface {
    surface_on(&Context::new("cpu").unwrap(), input, params)
}

fn at(level: f64) -> Params {
    Params { level: Some(level), ..Params::default() }
}

/// All bits of a surface.
fn bits(surface: &Surface) -> Vec<u64> {
    let measures = surface.measures();
    let numbers = [measures.level, measures.area, measures.volume, measures.mean_curvature].map(f64::to_bits);
    let counts = [measures.border_edges, measures.pieces, measures.euler as u64];
    let floats = surface.vertices().iter().chain(surface.normals()).flatten().map(|number| u64::from(number.to_bits()));
    let indices = surface.triangles().iter().flatten().map(|index| u64::from(*index));
    numbers.into_iter().chain(counts).chain(floats).chain(indices).collect()
}

/// Checks that every edge has two triangles of opposite directions, or one where the surface may end, that every vertex is
/// used and its triangles are one fan, and that the counts of the measures are those of the mesh.
fn assert_is_manifold(surface: &Surface, what: &str) {
    let mut sides = HashMap::new();
    for triangle in surface.triangles() {
        for place in 0..3 {
            let side = [triangle[place], triangle[(place + 1) % 3]];
            // The third corner is that of the neighbour to which the fan around the first one turns.
            let third = triangle[(place + 2) % 3];
            assert!(sides.insert(side, third).is_none(), "{what}: two triangles on one side of {side:?}");
        }
    }
    let single = sides.keys().filter(|[a, b]| !sides.contains_key(&[*b, *a])).count();
    let measures = surface.measures();
    assert_eq!(measures.border_edges, single as u64, "{what}");
    let edges = (sides.len() + single) / 2;
    let euler = surface.vertices().len() as i64 - edges as i64 + surface.triangles().len() as i64;
    assert_eq!(measures.euler, euler, "{what}");
    // Around each vertex: from the sides without a triangle before them, or from any, to the next until none is left. A
    // vertex has one fan, or two where it is the corner of two cells that a missing voxel separates.
    let mut around = vec![0; surface.vertices().len()];
    let mut starts = vec![Vec::new(); surface.vertices().len()];
    for side in sides.keys() {
        around[side[0] as usize] += 1;
        if !sides.contains_key(&[side[1], side[0]]) {
            starts[side[0] as usize].push(*side);
        }
    }
    for side in sides.keys() {
        if starts[side[0] as usize].is_empty() {
            starts[side[0] as usize].push(*side);
        }
    }
    for (vertex, starts) in starts.iter().enumerate() {
        assert!((1..=if single > 0 { 2 } else { 1 }).contains(&starts.len()), "{what}: fans around vertex {vertex}");
        let mut count = 0;
        for start in starts {
            let mut side = *start;
            while let Some(third) = sides.get(&side) {
                (side, count) = ([vertex as u32, *third], count + 1);
                if side == *start {
                    break;
                }
            }
        }
        assert_eq!(count, around[vertex], "{what}: the triangles around vertex {vertex}");
    }
    let mut piece: Vec<usize> = (0..surface.vertices().len()).collect();
    fn root(piece: &[usize], mut at: usize) -> usize {
        while piece[at] != at {
            at = piece[at];
        }
        at
    }
    for [a, b] in sides.keys() {
        let [a, b] = [a, b].map(|vertex| root(&piece, *vertex as usize));
        piece[a.max(b)] = a.min(b);
    }
    let pieces = piece.iter().enumerate().filter(|(vertex, root)| vertex == *root).count();
    assert_eq!(measures.pieces, pieces as u64, "{what}");
}

/// The vertices on the grid's edges by the definition, in their order, with the means left out.
fn vertices_by_definition(image: ArrayView3<'_, f64>, params: &Params, level: f64) -> Vec<[f32; 3]> {
    let border = isize::from(params.close);
    let size = [image.dim().2, image.dim().1, image.dim().0].map(|side| side as isize);
    let range = size.map(|side| -border..side + border);
    let inside = |at: [isize; 3]| (0..3).all(|axis| (0..size[axis]).contains(&at[axis]));
    let value = |at: [isize; 3]| inside(at).then(|| image[[at[2] as usize, at[1] as usize, at[0] as usize]]);
    let is_high = |at| value(at).is_some_and(|value| value > level);
    // A cell has a surface if it is in the volume with its border, and its corners there are finite.
    let is_cell = |at: [isize; 3]| {
        (0..8).all(|corner| {
            let at = [at[0] + (corner & 1), at[1] + (corner >> 1 & 1), at[2] + (corner >> 2)];
            (0..3).all(|axis| range[axis].contains(&at[axis])) && value(at).is_none_or(f64::is_finite)
        })
    };
    let mut vertices = Vec::new();
    for z in range[2].clone() {
        for y in range[1].clone() {
            for axis in 0..3 {
                for x in range[0].clone() {
                    let (from, mut to) = ([x, y, z], [x, y, z]);
                    to[axis] += 1;
                    let has_cell = (0..4).any(|place| {
                        let mut cell = from;
                        cell[(axis + 1) % 3] -= place & 1;
                        cell[(axis + 2) % 3] -= place >> 1;
                        is_cell(cell)
                    });
                    if !has_cell || is_high(from) == is_high(to) {
                        continue;
                    }
                    let share = match (value(from), value(to)) {
                        (Some(a), Some(b)) => (level - a) / (b - a),
                        _ => 0.5,
                    };
                    let mut vertex = from.map(|at| at as f64);
                    vertex[axis] += share;
                    vertices.push(std::array::from_fn(|axis| (vertex[axis] * params.spacing[axis]) as f32));
                }
            }
        }
    }
    vertices
}

fn assert_defined(surface: &Surface, image: ArrayView3<'_, f64>, params: &Params, what: &str) {
    assert_is_manifold(surface, what);
    // A mean is a centre of a fan: in order, it is what the definition does not name.
    let mut wanted = vertices_by_definition(image, params, surface.measures().level).into_iter().peekable();
    let means = surface.vertices().iter().filter(|vertex| wanted.next_if_eq(*vertex).is_none()).count();
    assert_eq!(wanted.next(), None, "{what}: vertices by definition");
    assert!(means * 50 <= surface.vertices().len(), "{what}: {means} means of {}", surface.vertices().len());
}

#[test]
fn surfaces_of_noise_have_the_vertices_of_the_definition_and_no_holes() {
    let mut numbers = Numbers(7);
    let shapes = [(1, 1, 1), (1, 5, 40), (2, 2, 2), (3, 7, 31), (4, 9, 32), (5, 6, 33), (3, 4, 65), (12, 23, 30)];
    for shape in shapes {
        for close in [true, false] {
            let what = format!("{shape:?}, close {close}");
            let spacing = [0.7, 1.0, 2.5];
            // Few values, so that many voxels equal the level.
            let bytes = Array3::from_shape_simple_fn(shape, || numbers.next(6) as u8);
            for level in [2.0, 2.5, -1.0, 4.0] {
                let params = Params { close, spacing, ..at(level) };
                let found = surface_of(bytes.view(), &params);
                assert!(found.measures().is_closed() || !close, "{what}");
                assert_defined(&found, bytes.mapv(f64::from).view(), &params, &what);
            }
            let wide = bytes.mapv(|value| 13000 * u16::from(value));
            let params = Params { close, ..at(30000.25) };
            assert_defined(&surface_of(wide.view(), &params), wide.mapv(f64::from).view(), &params, &what);
            let real = Array3::from_shape_simple_fn(shape, || numbers.rough(300));
            for level in [0.0, 0.1] {
                let params = Params { close, spacing, ..at(level) };
                assert_defined(&surface_of(real.view(), &params), real.mapv(f64::from).view(), &params, &what);
            }
        }
    }
}

#[test]
fn every_set_of_high_corners_with_every_decision_is_closed() {
    let mut numbers = Numbers(1);
    for case in 0..256u32 {
        for _ in 0..64 {
            let cell = Array3::from_shape_fn((2, 2, 2), |(z, y, x)| {
                let size = 1.0 + numbers.next(1000) as f32;
                if case >> (x + 2 * y + 4 * z) & 1 == 1 { size } else { -size }
            });
            let found = surface_of(cell.view(), &at(0.0));
            assert_is_manifold(&found, &format!("case {case}"));
            let measures = found.measures();
            assert!(measures.is_closed() && (measures.volume > 0.0) == (case > 0), "case {case}: {measures:?}");
            // Six tetrahedra around each high voxel at least, and not more than the boxes of eight voxels.
            assert!(measures.volume >= f64::from(case.count_ones()) / 750.0 && measures.volume < 8.0, "{measures:?}");
        }
    }
}

#[test]
fn a_voxel_is_an_octahedron() {
    let mut image = Array3::<u8>::zeros((3, 3, 3));
    image[[1, 1, 1]] = 255;
    let found = surface_of(image.view(), &Params::default());
    let measures = found.measures();
    assert_eq!((measures.level, found.vertices().len(), found.triangles().len()), (127.5, 6, 8));
    assert!((measures.volume - 1.0 / 6.0).abs() < 1e-15 && (measures.area - 3f64.sqrt()).abs() < 1e-15);
    // Twelve edges with the angle between the faces of an octahedron.
    let curvature = 12.0 * 0.5f64.sqrt() * (1f64 / 3.0).acos() / 2.0 / measures.area;
    assert!((measures.mean_curvature - curvature).abs() < 1e-14, "{measures:?}");
    assert_eq!((measures.pieces, measures.euler, measures.border_edges), (1, 2, 0));
    for (vertex, normal) in found.vertices().iter().zip(found.normals()) {
        let outwards = vertex.map(|at| 2.0 * (at - 1.0));
        assert_eq!(normal.map(|component| component + 0.0), outwards.map(|component| component + 0.0));
    }
    // The same of a hole, but for the sign; the box around it is cut off at its edges.
    let hole = image.mapv(|voxel| 255 - voxel);
    let open = Params { close: false, ..Params::default() };
    let measures = *surface_of(hole.view(), &open).measures();
    assert!((measures.volume + 1.0 / 6.0).abs() < 1e-15 && measures.is_closed(), "{measures:?}");
    assert!((measures.mean_curvature + curvature).abs() < 1e-14, "{measures:?}");
    let both = *surface_of(hole.view(), &Params::default()).measures();
    assert_eq!((both.pieces, both.euler), (2, 4));
}

#[test]
fn a_full_volume_is_closed_on_the_boundary_of_its_boxes() {
    let image = Array3::<u16>::from_elem((4, 5, 6), 9);
    let params = Params { spacing: [2.0, 1.0, 0.5], ..at(3.0) };
    let found = surface_of(image.view(), &params);
    let [low, high] = [f32::min, f32::max]
        .map(|best| found.vertices().iter().copied().reduce(|a, b| std::array::from_fn(|i| best(a[i], b[i]))).unwrap());
    assert_eq!((low, high), ([-1.0, -0.5, -0.25], [11.0, 4.5, 1.75]));
    // The box less its edges, each cut off by half a voxel along both sides, and its corners.
    let edges = 4.0 * (5.0 + 4.0 + 3.0) / 8.0 + 8.0 * (1.0 / 8.0 - 1.0 / 48.0);
    assert!((found.measures().volume - (120.0 - edges)).abs() < 1e-12, "{:?}", found.measures());
    assert!(surface_of(image.view(), &Params { close: false, ..params.clone() }).triangles().is_empty());
    // A level that no voxel exceeds.
    let none = surface_of(image.view(), &at(9.0));
    let measures = none.measures();
    assert!(none.vertices().is_empty() && measures.is_closed() && measures.volume == 0.0 && measures.pieces == 0);
    assert!(measures.mean_curvature.is_nan());
}

fn field(shape: (usize, usize, usize), spacing: [f64; 3], value: impl Fn([f64; 3]) -> f64) -> Array3<f32> {
    Array3::from_shape_fn(shape, |(z, y, x)| {
        value([x as f64 * spacing[0], y as f64 * spacing[1], z as f64 * spacing[2]]) as f32
    })
}

#[test]
fn balls_have_their_area_volume_and_curvature() {
    for (radius, spacing) in [(20.3, [1.0; 3]), (11.7, [0.5, 0.5, 1.0]), (16.0, [1.0, 1.0, 1.0])] {
        let shape = spacing.map(|h: f64| (50.0 / h) as usize);
        let ball = field((shape[2], shape[1], shape[0]), spacing, |[x, y, z]| {
            radius - ((x - 24.2).powi(2) + (y - 23.9).powi(2) + (z - 24.7).powi(2)).sqrt()
        });
        let found = surface_of(ball.view(), &Params { spacing, ..at(0.0) });
        let measures = found.measures();
        assert_is_manifold(&found, "a ball");
        assert!((measures.area / (4.0 * PI * radius * radius) - 1.0).abs() < 3e-3, "{measures:?}");
        assert!((measures.volume / (4.0 / 3.0 * PI * radius.powi(3)) - 1.0).abs() < 4e-3, "{measures:?}");
        assert!((measures.mean_curvature * radius - 1.0).abs() < 3e-3, "{measures:?}");
        assert_eq!((measures.pieces, measures.euler, measures.is_closed()), (1, 2, true));
        for (vertex, normal) in found.vertices().iter().zip(found.normals()) {
            let outwards = [24.2, 23.9, 24.7].iter().zip(vertex).map(|(centre, at)| (f64::from(*at) - centre) / radius);
            let cosine: f64 = outwards.zip(normal).map(|(a, b)| a * f64::from(*b)).sum();
            assert!(cosine > 0.995, "{cosine} at {vertex:?}");
        }
    }
}

#[test]
fn a_torus_has_its_area_volume_curvature_and_tunnel() {
    let (major, minor) = (20.4, 8.3);
    let torus = field((30, 66, 66), [1.0; 3], |[x, y, z]| {
        let ring = ((x - 32.2).powi(2) + (y - 31.8).powi(2)).sqrt() - major;
        minor - (ring * ring + (z - 14.6).powi(2)).sqrt()
    });
    let measures = *surface_of(torus.view(), &at(0.0)).measures();
    let area = 4.0 * PI * PI * major * minor;
    assert!((measures.area / area - 1.0).abs() < 5e-3, "{measures:?}");
    assert!((measures.volume / (area * minor / 2.0) - 1.0).abs() < 5e-3, "{measures:?}");
    // The integral of the mean curvature is 2 pi^2 R.
    assert!((measures.mean_curvature / (2.0 * PI * PI * major / area) - 1.0).abs() < 1e-2, "{measures:?}");
    assert_eq!((measures.pieces, measures.euler, measures.is_closed()), (1, 0, true));
}

#[test]
fn curvature_passes_triangles_without_area() {
    // Whole numbers, at a level that many voxels equal; a little above it none does, and the same ones are low.
    let ball = field((60, 60, 60), [1.0; 3], |[x, y, z]| {
        200.0 - 2.0 * ((x - 29.2).powi(2) + (y - 28.9).powi(2) + (z - 29.7).powi(2)).sqrt()
    })
    .mapv(|value| value.round() as u8);
    let measures = [150.001, 150.0].map(|level| *surface_of(ball.view(), &at(level)).measures());
    assert!((measures[1].area / measures[0].area - 1.0).abs() < 1e-3, "{measures:?}");
    assert!((measures[1].mean_curvature / measures[0].mean_curvature - 1.0).abs() < 1e-2, "{measures:?}");
    assert_eq!((measures[1].pieces, measures[1].euler), (1, 2));
}

/// A volume in all 48 orientations.
fn orientations<T: Clone>(volume: &Array3<T>) -> Vec<Array3<T>> {
    let axes = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let all = axes.into_iter().flat_map(|axes| (0..8).map(move |flips| (axes, flips)));
    let turned = |(axes, flips): ([usize; 3], usize)| {
        let mut view = volume.view().permuted_axes(axes);
        (0..3).filter(|axis| flips >> axis & 1 == 1).for_each(|axis| view.invert_axis(Axis(axis)));
        view.to_owned()
    };
    all.map(turned).collect()
}

#[test]
fn folds_on_voxels_at_the_level_have_the_curvature_beside_it() {
    let context = Context::new("cpu").unwrap();
    let mut slot = Array3::from_elem((5, 5, 5), 2u8);
    slot.slice_mut(s![..3, 2, ..]).fill(1);
    let mut plate = Array3::from_elem((5, 5, 5), 2u8);
    plate.slice_mut(s![1..3, 2, 1..4]).fill(1);
    let mut block = Array3::from_elem((6, 6, 6), 2u8);
    block.slice_mut(s![1..4, 2, 1..5]).fill(1);
    block.slice_mut(s![3..5, 2..4, 2..4]).fill(0);
    for (name, volume) in [("slot", slot), ("plate", plate), ("block", block)] {
        for (foreground, spacing) in
            [Foreground::Above, Foreground::Below].map(|side| [(side, 1.0), (side, 0.7)]).concat()
        {
            for close in [true, false] {
                let params = |level| Params { foreground, close, spacing: [spacing; 3], ..at(level) };
                let found: Vec<Surface> = orientations(&volume)
                    .iter()
                    .map(|turned| {
                        let found = surface_of(turned.view(), &params(1.0));
                        let [own, moved] =
                            [*found.measures(), *surface_of(turned.view(), &params(1.0 + 1e-6)).measures()];
                        let difference = (own.mean_curvature / moved.mean_curvature - 1.0).abs();
                        assert!(
                            difference < 1e-5,
                            "{name}, {params:?}: {own:?} beside {moved:?}",
                            params = params(1.0)
                        );
                        found
                    })
                    .collect();
                let [first, others @ ..] = &found[..] else { unreachable!() };
                // Diagonals of polygons that are not flat may differ, and so may areas.
                let same = |other: &&Surface| (other.measures().area / first.measures().area - 1.0).abs() < 1e-6;
                assert!(others.iter().filter(same).count() >= 3, "{name}");
                for other in others.iter().filter(same) {
                    let [own, other] = [first, other].map(|surface| surface.measures().mean_curvature);
                    assert!((own / other - 1.0).abs() < 1e-6, "{name}, {foreground:?}: {own} and {other}");
                }
                let mut joined = Surface::new();
                isosurface::of_mesh(&context, first.vertices(), first.triangles(), foreground, None, &mut joined)
                    .unwrap();
                assert_eq!(joined.measures().mean_curvature, first.measures().mean_curvature, "{name}, a mesh");
            }
        }
    }
}

#[test]
fn vertices_in_slices_are_those_of_the_isolines() {
    let mut numbers = Numbers(3);
    let noise = Array3::from_shape_simple_fn((6, 20, 30), || numbers.next(1 << 20) as f32);
    let level = 500_000.3;
    let params = Params { close: false, ..at(level) };
    let found = surface_of(noise.view(), &params);
    let mut curves = Polylines::new();
    let of_slices = isolines::Params { levels: vec![level], ..isolines::Params::default() };
    isolines::run(&Context::new("cpu").unwrap(), noise.view().into(), &of_slices, None, &mut curves).unwrap();
    for z in 0..6 {
        let all = &curves;
        let curves = all.polylines().iter().filter(|curve| curve.slice == z);
        let mut wanted: Vec<[f32; 3]> =
            curves.flat_map(|curve| all.points_of(curve)).map(|[x, y]| [*x as f32, *y as f32, z as f32]).collect();
        let mut got: Vec<[f32; 3]> = found.vertices().iter().copied().filter(|vertex| vertex[2] == z as f32).collect();
        for list in [&mut wanted, &mut got] {
            list.sort_by(|a, b| a.partial_cmp(b).unwrap());
        }
        assert_eq!(got, wanted);
    }
}

#[test]
fn mirrored_and_transposed_volumes_have_mirrored_surfaces() {
    let mut numbers = Numbers(5);
    let volume = Array3::from_shape_simple_fn((11, 14, 17), || numbers.next(1000) as f32);
    let params = at(400.5);
    let found = surface_of(volume.view(), &params);
    // The transposed volume, and where it takes a vertex.
    type Moved<'a> = (Array3<f32>, Box<dyn Fn([f32; 3]) -> [f32; 3] + 'a>);
    let moved: [Moved<'_>; 4] = [
        (volume.slice(s![.., .., ..;-1]).to_owned(), Box::new(|[x, y, z]| [16.0 - x, y, z])),
        (volume.slice(s![..;-1, ..;-1, ..]).to_owned(), Box::new(|[x, y, z]| [x, 13.0 - y, 10.0 - z])),
        (volume.view().permuted_axes([1, 2, 0]).to_owned(), Box::new(|[x, y, z]| [z, x, y])),
        (volume.view().permuted_axes([0, 2, 1]).to_owned(), Box::new(|[x, y, z]| [y, x, z])),
    ];
    let sorted = |mut vertices: Vec<[f32; 3]>| {
        // To a thousandth, so that rounding does not change the order.
        let key = |vertex: &[f32; 3]| vertex.map(|at| (f64::from(at) * 1000.0).round() as i64);
        vertices.sort_by_key(key);
        vertices
    };
    for (volume, to) in &moved {
        let other = surface_of(volume.view(), &params);
        let [wanted, got] =
            [found.vertices().iter().map(|vertex| to(*vertex)).collect(), other.vertices().to_vec()].map(sorted);
        assert_eq!(got.len(), wanted.len());
        for (got, wanted) in got.iter().zip(&wanted) {
            assert!((0..3).all(|axis| (got[axis] - wanted[axis]).abs() < 2e-3), "{got:?} instead of {wanted:?}");
        }
        let [own, other] = [found.measures(), other.measures()];
        assert_eq!((own.pieces, own.euler, own.border_edges), (other.pieces, other.euler, other.border_edges));
        // Diagonals of polygons that are not flat may differ.
        assert!((own.area / other.area - 1.0).abs() < 0.02 && (own.volume / other.volume - 1.0).abs() < 0.01);
    }
}

#[test]
fn spacing_scales_the_vertices() {
    let mut numbers = Numbers(9);
    let volume = Array3::from_shape_simple_fn((9, 10, 11), || numbers.next(200) as u8);
    let plain = surface_of(volume.view(), &at(90.5));
    let wide = surface_of(volume.view(), &Params { spacing: [2.0, 0.5, 8.0], ..at(90.5) });
    assert_eq!(plain.triangles(), wide.triangles());
    for (plain, wide) in plain.vertices().iter().zip(wide.vertices()) {
        assert_eq!([2.0 * plain[0], 0.5 * plain[1], 8.0 * plain[2]], *wide);
    }
    assert!((wide.measures().volume / (8.0 * plain.measures().volume) - 1.0).abs() < 1e-12);
    let double = surface_of(volume.view(), &Params { spacing: [2.0; 3], ..at(90.5) });
    assert_eq!(double.measures().area, 4.0 * plain.measures().area);
    assert_eq!(2.0 * double.measures().mean_curvature, plain.measures().mean_curvature);
    assert_eq!(double.normals(), plain.normals());
}

#[test]
fn surfaces_end_at_the_border_and_at_missing_voxels() {
    let slope = Array3::from_shape_fn((7, 8, 9), |(_, _, x)| x as f32);
    let open = Params { close: false, ..at(4.25) };
    let sheet = surface_of(slope.view(), &open);
    let measures = *sheet.measures();
    assert_eq!((measures.area, measures.euler, measures.border_edges), (42.0, 1, 26));
    assert!(measures.volume.is_nan() && !measures.is_closed() && measures.mean_curvature == 0.0);
    assert!(sheet.normals().iter().all(|normal| *normal == [-1.0, 0.0, 0.0]), "towards lower values");
    let mut missing = slope.clone();
    missing[[3, 4, 5]] = f32::NAN;
    let measures = *surface_of(missing.view(), &open).measures();
    assert_eq!((measures.area, measures.euler, measures.border_edges), (38.0, 0, 34));
    let closed = *surface_of(missing.view(), &at(4.25)).measures();
    assert!(!closed.is_closed() && closed.volume.is_nan() && closed.border_edges > 0);
}

#[test]
fn threads_and_strides_do_not_change_a_bit() {
    let mut numbers = Numbers(11);
    let volume = Array3::from_shape_simple_fn((40, 90, 110), || numbers.next(200) as f32 / 7.0);
    let params = Params { spacing: [0.3, 0.3, 0.9], ..Params::default() };
    let whole = bits(&surface_of(volume.view(), &params));
    let backwards = volume.slice(s![.., .., ..;-1]).to_owned();
    assert!(bits(&surface_of(backwards.slice(s![.., .., ..;-1]), &params)) == whole, "strides");
    for threads in [1, 3, 8] {
        let context = Context::with_threads("cpu", threads).unwrap();
        assert!(bits(&surface_on(&context, volume.view(), &params)) == whole, "{threads} threads");
    }
}

#[test]
fn the_level_is_the_middle_of_the_range_unless_given() {
    let mut volume = Array3::from_shape_fn((4, 4, 8), |(_, _, x)| 2.0 + x as f32);
    volume[[0, 0, 0]] = f32::NAN;
    volume[[3, 3, 7]] = f32::INFINITY;
    assert_eq!(surface_of(volume.view(), &Params::default()).measures().level, 5.5);
    let extreme = Array3::from_shape_fn((2, 2, 2), |(_, _, x)| if x == 0 { f32::MAX } else { 0.9 * f32::MAX });
    let wanted = f64::from(f32::MAX) / 2.0 + f64::from(0.9 * f32::MAX) / 2.0;
    assert_eq!(surface_of(extreme.view(), &Params::default()).measures().level, wanted);
}

#[test]
fn bad_calls_are_refused_and_leave_the_result() {
    let volume = Array3::from_shape_fn((60, 60, 60), |(z, y, x)| ((x * y + z) % 251) as u8);
    let context = Context::new("cpu").unwrap();
    let mut found = surface_of(volume.view(), &at(100.0));
    let before = bits(&found);
    let bad = [
        at(f64::NAN),
        at(f64::INFINITY),
        Params { spacing: [1.0, 0.0, 1.0], ..Params::default() },
        Params { spacing: [1.0, 1.0, 1e16], ..Params::default() },
        Params { spacing: [1.0, 1.0, 1e10], ..Params::default() },
    ];
    for params in bad {
        let error = isosurface::run(&context, volume.view().into(), &params, None, &mut found).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    let empty = Array3::<u8>::zeros((0, 4, 4));
    let error = isosurface::run(&context, empty.view().into(), &Params::default(), None, &mut found).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSize);
    for most in 0..3 {
        let mut calls = 0;
        let mut cancel = |_: f64, stage: &str| {
            assert_eq!(stage, "isosurface");
            calls += 1;
            if calls > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let done = isosurface::run(&context, volume.view().into(), &at(9.0), Some(&mut cancel), &mut found);
        if calls > most {
            assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(bits(&found) == before, "untouched");
        }
    }
    let error =
        isosurface::run(&context, volume.view().into(), &at(9.0), Some(&mut |_, _| ControlFlow::Break(())), &mut found);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn what_is_below_the_level_may_be_inside() {
    // A volume with the other sign has the same surface, also in ambiguous cells.
    let mut numbers = Numbers(7);
    let noise = Array3::from_shape_fn((9, 10, 40), |_| numbers.next(1000) as f32 - 500.25);
    for close in [true, false] {
        let above = surface_of(noise.view(), &Params { close, ..at(3.5) });
        let params = Params { close, foreground: Foreground::Below, ..at(-3.5) };
        let below = surface_of(noise.mapv(|value| -value).view(), &params);
        assert_eq!(above.vertices(), below.vertices());
        assert_eq!((above.normals(), above.triangles()), (below.normals(), below.triangles()));
        assert_eq!(above.measures().area, below.measures().area);
    }
    // Voxels that equal the level are inside.
    let mut spot = Array3::from_elem((3, 3, 3), 5u8);
    spot[[1, 1, 1]] = 2;
    let found = surface_of(spot.view(), &Params { foreground: Foreground::Below, ..at(2.0) });
    assert!(found.measures().pieces == 1 && found.measures().border_edges == 0);
    assert_eq!(surface_of(spot.view(), &Params { foreground: Foreground::Below, ..at(1.0) }).triangles().len(), 0);
}

#[test]
fn the_front_of_a_level_set_is_a_surface_around_its_object() {
    let dim = (40, 40, 40);
    let radius =
        |z: usize, y: usize, x: usize| [z, y, x].iter().map(|&at| (at as f64 - 19.5).powi(2)).sum::<f64>().sqrt();
    let image = Array3::from_shape_fn(dim, |(z, y, x)| if radius(z, y, x) <= 12.0 { 200u8 } else { 50 });
    let start = Array3::from_shape_fn(dim, |(z, y, x)| u8::from(radius(z, y, x) <= 9.0));
    let context = Context::new("cpu").unwrap();
    let params = isoline::level_set::Params::default();
    let mut front =
        isoline::level_set::LevelSet::new(&context, image.view().into(), start.view().into(), &params).unwrap();
    assert!(front.step(3000, None).unwrap().converged);
    let mut phi = Array3::<f32>::zeros(dim);
    front.read_phi(phi.view_mut().into()).unwrap();
    let found = surface_of(phi.view(), &Params { foreground: Foreground::Below, ..at(0.0) });
    let measures = found.measures();
    assert!(measures.is_closed() && measures.euler == 2, "{measures:?}");
    let inside = front.state().inside as f64;
    assert!((measures.volume / inside - 1.0).abs() < 0.03, "{measures:?}, {inside} voxels");
    let ball = (inside * 3.0 / (4.0 * PI)).cbrt();
    assert!((measures.area / (4.0 * PI * ball * ball) - 1.0).abs() < 0.03, "{measures:?}");
    assert!((measures.mean_curvature * ball - 1.0).abs() < 0.05, "{measures:?}");
}
