//! Messages print a number that was given in its shortest form: a float may have 309 digits before its point, or 324 zeros
//! after it.

use isoline::edge_strength::{self, Mode};
use isoline::level_set::{self, LevelSet, Regions, TargetRange};
use isoline::objects::{self, Objects};
use isoline::snake::{Curves, Node, Noise, Polygons, Snake};
use isoline::{Context, Dimensions, Error, mask, snake};
use ndarray::{Array2, Array3};

const SHAPE: (usize, usize, usize) = (2, 20, 30);

/// Checks that a message has the number `got` and no longer one.
fn check(name: &str, error: Error, got: &str) {
    let message = error.message();
    let longest = message.split(|letter: char| !letter.is_ascii_digit() && letter != '.').map(str::len).max();
    assert!(longest < Some(20) && message.contains(got), "{name} prints {message}");
}

fn of_edge_strength(name: &str, params: edge_strength::Params, got: &str) {
    let context = Context::new("cpu").unwrap();
    let (input, mut output) = (Array3::<u8>::zeros(SHAPE), Array3::<f32>::zeros(SHAPE));
    let result = edge_strength::run(&context, input.view().into(), &params, None, output.view_mut().into());
    check(name, result.unwrap_err(), got);
}

#[test]
fn messages_of_edge_strength_have_short_numbers() {
    let defaults = edge_strength::Params { mode: Mode::Iterate { iterations: 1 }, ..Default::default() };
    let of = of_edge_strength;
    of("time_step", edge_strength::Params { time_step: Some(1e300), ..defaults.clone() }, "it is 1e300;");
    of("rho", edge_strength::Params { rho: 1e200, time_step: Some(0.3), ..defaults.clone() }, "rho = 1e200 in");
    let volume = edge_strength::Params { dimensions: Dimensions::Volume, spacing: [1e15; 3], ..defaults };
    of("spacing", edge_strength::Params { rho: 2e-18, ..volume }, "1e15, but it is 2e-18;");
}

#[test]
fn messages_of_level_sets_have_short_numbers() {
    let context = Context::new("cpu").unwrap();
    let mut image = Array3::<f32>::zeros(SHAPE);
    image[[0, 0, 0]] = -1e20;
    let start = Array3::from_shape_fn(SHAPE, |(_, y, x)| u8::from(x < 9 && y < 9));
    let of = |name: &str, params: level_set::Params, got: &str| {
        check(name, LevelSet::new(&context, image.view().into(), start.view().into(), &params).unwrap_err(), got);
    };
    let range = Some(TargetRange { target: 0.0, epsilon: 1e20 });
    let defaults = level_set::Params { range, spacing: [1e-9; 3], ..Default::default() };
    of("edge_sigma", level_set::Params { edge_sigma: Some(1e300), ..defaults.clone() }, "1e-9, but it is 1e300");
    of(
        "regions",
        level_set::Params { regions: Some(Regions::Poisson), ..Default::default() },
        "smallest is -1.0000000200408773e20;",
    );
    image.fill(0.0);
    let of = |name: &str, params: level_set::Params, got: &str| {
        check(name, LevelSet::new(&context, image.view().into(), start.view().into(), &params).unwrap_err(), got);
    };
    of("time_step", level_set::Params { time_step: Some(1e300), ..defaults.clone() }, "it is 1e300;");
    of("alpha", level_set::Params { alpha: Some(1e-300), ..defaults }, "(alpha 1e-300,");
}

#[test]
fn messages_of_objects_have_short_numbers() {
    let context = Context::new("cpu").unwrap();
    let image = Array3::<u8>::zeros(SHAPE);
    let labels = Array3::from_elem(SHAPE, 3e38f32);
    let of = |name: &str, params: objects::Params, got: &str| {
        let (mut output, mut objects) = (Array3::<f32>::zeros(SHAPE), Objects::new());
        let starts = Some(labels.view().into());
        let output = output.view_mut().into();
        let result = objects::run(&context, image.view().into(), starts, &params, None, output, &mut objects);
        check(name, result.unwrap_err(), got);
    };
    of("labels", objects::Params::default(), "(got 3e38)");
    of("sigma", objects::Params { sigma: Some(1e300), ..Default::default() }, "it is 1e300");
}

#[test]
fn messages_of_snakes_and_masks_have_short_numbers() {
    let mut polygons = Polygons::new();
    polygons.push(&[Node::new(2, 2), Node::new(9, 2), Node::new(2, 9)]);
    check("longest_edge", Curves::new(&polygons, Some(-1e300), 8).unwrap_err(), "it is -1e300;");
    let context = Context::new("cpu").unwrap();
    let image = Array2::from_elem((20, 30), -3e38f32);
    let params = snake::Params { noise: Noise::Poisson, ..Default::default() };
    let snake = Snake::new(&context, image.view().into(), Some(&polygons), &params);
    check("noise", snake.unwrap_err(), "(got -3.0000000054977558e38 as the largest)");
    let mut filled = Array3::<u8>::zeros(SHAPE);
    let sphere = mask::Sphere { centre: [1.0; 3], radius: -1e99 };
    check("radius", mask::fill_spheres(filled.view_mut().into(), [1.0; 3], &[sphere], 1).unwrap_err(), "(got -1e99)");
    let cuboid = mask::Cuboid { min: [1e99; 3], max: [-1e99; 3] };
    check("min", mask::fill_boxes(filled.view_mut().into(), &[cuboid], 1).unwrap_err(), "-1e99 (got 1e99)");
}
