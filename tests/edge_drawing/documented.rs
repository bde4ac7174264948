//! Numbers that docs/edge_drawing.md gives of the photographs in tests/data.

use crate::{PROFILES, draw, photograph};
use isoline::Context;
use isoline::edge_drawing::{self, Params, Point, Profile, Validation};
use ndarray::Axis;
use std::collections::BTreeSet;

#[test]
fn the_share_of_the_map_in_segments() {
    const NAMES: [&str; 3] = ["camera", "coins", "horse"];
    // Per profile and thresholds (20 and 0, and 36 and 8), of each photograph: percent of the map, segments.
    let documented = [
        [[(40, 902), (36, 531), (82, 7)], [(54, 757), (54, 375), (87, 6)]],
        [[(88, 1061), (90, 564), (99, 2)], [(91, 813), (93, 345), (98, 4)]],
    ];
    let cpu = Context::new("cpu").unwrap();
    for (profile, documented) in PROFILES.into_iter().zip(documented) {
        let higher = Params { profile, gradient_threshold: Some(36.0), anchor_threshold: 8.0, ..Params::default() };
        let lower = Params { gradient_threshold: Some(20.0), anchor_threshold: 0.0, ..higher.clone() };
        for (params, documented) in [lower, higher].into_iter().zip(documented) {
            let got = NAMES.map(|name| {
                let drawn = draw(&cpu, photograph(name).insert_axis(Axis(0)).view(), &params);
                let map = drawn.edges.iter().filter(|edge| **edge > 0).count() as f64;
                // A junction belongs to all segments that meet there, and counts once.
                let points: BTreeSet<_> = drawn.segments.points().iter().map(|Point { x, y }| (*x, *y)).collect();
                ((100.0 * points.len() as f64 / map).round() as u32, drawn.segments.len())
            });
            assert_eq!(got, documented, "{params:?}");
        }
    }
}

/// Validation at the automatic threshold: segments, and percent of the map without validation that is kept.
#[test]
fn what_validation_keeps() {
    let documented = [
        (Profile::Paper, [("camera", 224, 17), ("coins", 155, 10), ("cell", 147, 8)]),
        (Profile::Reference, [("camera", 200, 46), ("coins", 99, 37), ("cell", 217, 51)]),
    ];
    let cpu = Context::new("cpu").unwrap();
    for (profile, documented) in documented {
        for (name, segments, percent) in documented {
            let image = photograph(name).insert_axis(Axis(0));
            let params = Params { profile, validation: Validation::FalseAlarms, ..Params::default() };
            let threshold = edge_drawing::automatic_threshold(&cpu, image.view().into(), &params).unwrap();
            let kept = draw(&cpu, image.view(), &params);
            let all = Params { validation: Validation::None, gradient_threshold: Some(threshold), ..params };
            let [of_map, of_all] = [&kept, &draw(&cpu, image.view(), &all)]
                .map(|drawn| drawn.edges.iter().filter(|edge| **edge > 0).count() as f64);
            assert_eq!(
                (kept.segments.len(), (100.0 * of_map / of_all).round() as u32),
                (segments, percent),
                "{name}, {profile:?}"
            );
        }
    }
}

/// Step 1 rounds to whole numbers of the pixels' type, so that 8 bits times 257 have other edges.
#[test]
fn a_photograph_times_257_has_other_edges_near_the_same_places() {
    // The share of the 8-bit image's edge pixels, in per mille, that the other one does not have, nor within a pixel.
    let documented = [("camera", [[118, 10], [138, 41]]), ("coins", [[161, 26], [154, 76]])];
    let cpu = Context::new("cpu").unwrap();
    for (name, documented) in documented {
        let bytes = photograph(name).insert_axis(Axis(0));
        let words = bytes.mapv(|pixel| u16::from(pixel) * 257);
        for (profile, documented) in PROFILES.into_iter().zip(documented) {
            let params = |threshold| Params { profile, gradient_threshold: Some(threshold), ..Params::default() };
            let narrow = draw(&cpu, bytes.view(), &params(20.0)).edges;
            let wide = draw(&cpu, words.view(), &params(20.0 * 257.0)).edges;
            let count = |apart: usize| {
                let has = |y: usize, x: usize| {
                    let [rows, columns] = [y, x].map(|i| i.saturating_sub(apart)..i + apart + 1);
                    rows.flat_map(|y| columns.clone().map(move |x| [0, y, x])).any(|at| wide.get(at) == Some(&255))
                };
                narrow.indexed_iter().filter(|((_, y, x), edge)| **edge > 0 && !has(*y, *x)).count() as f64
            };
            let all = narrow.iter().filter(|edge| **edge > 0).count() as f64;
            let got = [0, 1].map(|apart| (1000.0 * count(apart) / all).round() as u32);
            assert_eq!(got, documented, "{name} {profile:?}");
        }
    }
}
