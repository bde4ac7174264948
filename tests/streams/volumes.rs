//! Volumes that functions read and write slice by slice, in batches that depend on slices of others: iterations of edge strength,
//! and isosurfaces.

use super::*;
use isoline::Foreground;
use isoline::isosurface::{self, Surface};

#[test]
fn volumes_of_edge_strength_have_the_bits_of_the_call_on_memory() {
    // A batch has eight of so large slices, so that the iterations reach into the batches before and after; the largest number
    // of iterations needs more slices than there are.
    let bytes = stack(WIDE, DEPTH).mapv(|pixel| (pixel / 256) as u8);
    for (iterations, start) in [(0, Start::Mask), (4, Start::Input(None)), (12, Start::Mask)] {
        let params = edge_strength::Params {
            dimensions: Dimensions::Volume,
            mode: Mode::Iterate { iterations },
            spacing: [1.0, 1.0, 1.5],
            start,
            threshold: 80.0,
            ..Default::default()
        };
        compare(&format!("{iterations} iterations, {start:?}"), |context, way| {
            let mut output = Array3::from_elem(bytes.dim(), -1.0f32);
            let input = way.input(&bytes, PixelType::U8);
            let report = edge_strength::run(context, input, &params, None, way.floats(&mut output)).unwrap();
            assert_eq!((report.slices_done, report.iterations), (DEPTH as u64, iterations));
            // Each device has at least twice as many slices of a batch as there are iterations.
            let most = if iterations == 0 { DEPTH } else { DEPTH / (2 * iterations as usize) };
            assert_eq!(report.device_count as usize, context.devices().len().min(most).max(1));
            bits(&output)
        });
    }
}

#[test]
fn volumes_in_parts_are_read_and_written_once_in_order() {
    for context in contexts() {
        // Batches of 8 slices, twice the halo, with those on which they depend.
        let shape = [1 << 11, 1 << 10, 33];
        let (read, written, most) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let source = Source::new(PixelType::U8, shape, |slice, pixels| {
            assert_eq!(slice, read.replace(slice + 1));
            pixels.fill(0);
            most.set(most.get().max(read.get() - written.get()));
            Ok::<_, String>(())
        });
        let sink = Sink::new(PixelType::F32, shape, |slice, _| {
            assert_eq!(slice, written.replace(slice + 1));
            Ok::<_, String>(())
        });
        let mode = Mode::Iterate { iterations: 4 };
        let params = edge_strength::Params { dimensions: Dimensions::Volume, mode, ..Default::default() };
        edge_strength::run(&context, source.into(), &params, None, sink.into()).unwrap();
        assert_eq!((read.get(), written.get()), (33, 33));
        assert!(most.get() <= 16 * context.devices().len() + 4, "{} slices in memory", most.get());
    }
}

/// Compares the isosurface of slices that a function reads with that of memory, on each context.
fn compare_surfaces(floats: &Array3<f32>, levels: &[Option<f64>], sides: &[(bool, Foreground)]) {
    for &(close, foreground) in sides {
        for &level in levels {
            let params = isosurface::Params { level, close, foreground, spacing: [0.7, 0.9, 2.5] };
            let mut expected = Surface::new();
            let cpu = Context::new("cpu").unwrap();
            isosurface::run(&cpu, floats.view().into(), &params, None, &mut expected).unwrap();
            // A single slice that is open has no cell.
            assert!(expected.triangles().len() > 1000 || (floats.dim().0 == 1 && !close));
            for context in contexts() {
                let mut found = Surface::new();
                let input = WAYS[0].input(floats, PixelType::F32);
                let report = isosurface::run(&context, input, &params, None, &mut found).unwrap();
                assert!(report.slices_done as usize == floats.dim().0);
                // NaN measures are equal, too.
                assert_eq!(format!("{:?}", found.measures()), format!("{:?}", expected.measures()));
                let [a, b] = [&found, &expected].map(|of| (of.vertices(), of.normals(), of.triangles()));
                assert!(a == b, "{params:?} on {}", context.device().id);
            }
        }
    }
}

#[test]
fn isosurfaces_have_the_bits_of_the_call_on_memory() {
    // Three batches, and the last one has a single slice.
    compare_surfaces(&stack(WIDE, DEPTH).mapv(f32::from), &[None], &[(true, Foreground::Above)]);
    // Every case of a cell, and cells that have no surface, in depths that parts divide in all ways. A context of several parts
    // divides a batch, too.
    let mut random = Random::new(3);
    for depth in [1, 2, 3, 4, 5, 8, 9, 12, 13, 30] {
        let noise = Array3::from_shape_fn((depth, 31, 67), |(z, _, x)| match random.normal() {
            height if height > 2.5 => f32::NAN,
            height if x % 19 == 0 && z % 3 == 0 => 7500.0 * (height > 0.0) as u8 as f32,
            height => 7500.0 + 3000.0 * height as f32,
        });
        compare_surfaces(&noise, &[None, Some(7500.0)], &[(true, Foreground::Above), (false, Foreground::Below)]);
    }
}
