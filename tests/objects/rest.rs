//! The end of the iterations: fronts that move slowly are not at rest.

use super::*;

/// Images in which a whole front moves by less than a voxel in ten iterations, with starts, the weight of the image, and the
/// voxels to which the object grows.
fn slow_fronts() -> [(Array3<u8>, Array3<u16>, f64, u64); 3] {
    let even = |size: [usize; 3], centre: Position, radius: f64, voxels| {
        let across = if size[2] == 1 { 1 } else { 2 };
        let image = array(size, [1.0; 3], |at| if at[across] < 3.0 { 20u8 } else { 200 });
        (image, array(size, [1.0; 3], |at| u16::from(Ball(centre, radius).has(at))), 0.3, voxels)
    };
    // A tube 4 voxels wide, whose tips curvature nearly holds.
    let inside = |[x, y, z]: Position| (x - 3.5).hypot(y - 3.5) <= 2.0 && (4.0..56.0).contains(&z);
    let image = array([9, 9, 60], [1.0; 3], |at| if inside(at) { 200u8 } else { 20 });
    let starts = array([9, 9, 60], [1.0; 3], |at| u16::from(inside(at) && (28.0..32.0).contains(&at[2])));
    [
        (image, starts, 0.5, 608),
        even([61, 61, 1], [30.0, 30.0, 0.0], 2.0, 61 * 58),
        even([41; 3], [20.0; 3], 3.0, 41 * 41 * 38),
    ]
}

#[test]
fn fronts_that_move_by_less_than_a_voxel_are_not_at_rest() {
    common::everywhere(|context, device| {
        for (case, (image, starts, alpha, voxels)) in slow_fronts().into_iter().enumerate() {
            for (check_interval, change_tolerance) in [(10, 0.02), (10, 0.0), (1, 0.02), (30, 0.02)] {
                let params = Params { alpha, check_interval, change_tolerance, ..Params::default() };
                let (_, found, report) = grow_on(context, image.view().into(), Some(&starts), &params);
                let what = format!("{device}, image {case}, {check_interval}, {change_tolerance}: {report:?}");
                assert!(report.converged, "{what}");
                assert_eq!(found[0].voxels, voxels, "{what}");
                if change_tolerance == 0.0 {
                    // Nothing changes any more.
                    let iterations = report.iterations as u32 + 100;
                    let params = Params { check_interval: 1000, iterations, ..params };
                    assert_eq!(grow_on(context, image.view().into(), Some(&starts), &params).1[0].voxels, voxels);
                }
            }
        }
    });
}

#[test]
fn the_end_is_that_of_flipped_images_and_of_any_number_of_threads() {
    let [(image, starts, alpha, _), (disc, start, ..), _] = slow_fronts();
    for (image, starts, alpha) in [(image, starts, alpha), (disc, start, 0.3)] {
        let params = Params { alpha, ..Params::default() };
        let (labels, _, report) = grow(image.view().into(), Some(&starts), &params);
        for threads in [1, 3] {
            let context = Context::with_threads("cpu", threads).unwrap();
            let (others, _, other) = grow_on(&context, image.view().into(), Some(&starts), &params);
            assert_eq!((others == labels, other.iterations), (true, report.iterations), "{threads} threads");
        }
        for axis in 0..3 {
            let (mut image, mut starts, mut labels) = (image.clone(), starts.clone(), labels.clone());
            image.invert_axis(Axis(axis));
            starts.invert_axis(Axis(axis));
            labels.invert_axis(Axis(axis));
            let starts = starts.as_standard_layout().into_owned();
            let (others, _, other) = grow(image.as_standard_layout().view().into(), Some(&starts), &params);
            assert_eq!((others == labels, other.iterations), (true, report.iterations), "axis {axis}");
        }
    }
}
