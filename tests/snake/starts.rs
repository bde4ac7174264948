//! Starts: far off, partly outside, in both orientations, with needless nodes; and those that are refused.

use super::{Random, converged, cpu, mask_of, overlap, polygon};
use isoline::snake::{Background, Node, Params, Polygons, Schedule, Snake, Status};
use isoline::{Context, ErrorKind};
use ndarray::Array2;

const WIDTH: usize = 240;
const HEIGHT: usize = 200;

fn ellipse() -> Array2<bool> {
    Array2::from_shape_fn((HEIGHT, WIDTH), |(y, x)| {
        let (u, v) = ((x as f64 - 150.0) / 50.0, (y as f64 - 95.0) / 36.0);
        u * u + v * v < 1.0
    })
}

/// At signal to noise 2.
fn image(truth: &Array2<bool>) -> Array2<u16> {
    let mut random = Random::new(77);
    truth.mapv(|inside| (500.0 + if inside { 160.0 } else { 0.0 } + 80.0 * random.normal()).round() as u16)
}

fn rectangle(x0: i32, y0: i32, x1: i32, y1: i32) -> [(i32, i32); 4] {
    [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
}

fn refusal(context: &Context, starts: &Polygons) -> String {
    let image = image(&ellipse());
    let error = Snake::new(context, image.view().into(), Some(starts), &Params::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.message().to_owned()
}

#[test]
fn distant_and_partly_outside_starts_find_the_same_split() {
    let truth = ellipse();
    let image = image(&truth);
    let starts = [
        // Beside it, without a pixel of it.
        rectangle(4, 150, 60, 196),
        rectangle(210, 5, 236, 40),
        rectangle(60, 60, 99, 140),
        // With a corner of it.
        rectangle(0, 0, 110, 95),
        // Half in it, within it, round everything.
        rectangle(90, 80, 110, 120),
        rectangle(140, 90, 150, 100),
        rectangle(0, 0, WIDTH as i32, HEIGHT as i32),
        // Partly, and mostly, outside the image.
        rectangle(120, 60, 400, 300),
        rectangle(-300, -200, 160, 100),
        rectangle(-5000, 80, 5000, 110),
    ];
    let share = |mask: &mut dyn Iterator<Item = bool>| {
        let (count, inside) = mask.fold((0, 0), |(count, inside), one| (count + 1, inside + usize::from(one)));
        inside as f64 / f64::from(count)
    };
    let of_image = share(&mut truth.iter().copied());
    for start in starts {
        // Target and background are alike to the criterion. What the start has more of than the image becomes the target.
        let inside = |x: usize, y: usize| {
            let [(x0, y0), _, (x1, y1), _] = start;
            (x0..x1).contains(&(x as i32)) && (y0..y1).contains(&(y as i32))
        };
        let of_start = share(&mut truth.indexed_iter().filter(|((y, x), _)| inside(*x, *y)).map(|(_, one)| *one));
        let wanted = truth.mapv(|inside| inside == (of_start >= of_image));
        for schedule in [Schedule::Parallel, Schedule::Sequential] {
            // The automatic step of a small start is for an object near it.
            let params = Params { schedule, largest_step: Some(32), ..Params::default() };
            let mut back = start;
            back.reverse();
            let [there, back] = [start, back].map(|start| mask_of(image.view(), Some(&polygon(&start)), &params));
            let found = overlap(&there, &wanted);
            assert!(found > 0.97, "{start:?}, {schedule:?}: {found}");
            assert_eq!(there, back, "{start:?}, {schedule:?}: the other way round");
        }
    }
}

#[test]
fn a_start_that_crosses_itself_is_refused_with_its_place() {
    let mut starts = polygon(&rectangle(10, 10, 50, 50));
    starts.push(&[Node::new(20, 20), Node::new(60, 60), Node::new(60, 20), Node::new(20, 60)]);
    let message = refusal(&cpu(), &starts);
    assert!(message.contains("polygon 1 crosses itself"), "{message}");
    assert!(message.contains("(20, 20)-(60, 60)") && message.contains("(60, 20)-(20, 60)"), "{message}");
}

#[test]
fn edges_that_share_a_node_or_lie_on_each_other_are_crossings() {
    let touching: [&[(i32, i32)]; 5] = [
        // Two loops that share a node.
        &[(20, 20), (40, 20), (30, 30), (40, 40), (20, 40), (30, 30)],
        // A node on another edge.
        &[(20, 20), (60, 20), (60, 60), (40, 20), (20, 60)],
        // A spike: two edges on each other.
        &[(20, 20), (40, 20), (40, 30), (60, 30), (40, 30), (40, 40), (20, 40)],
        // Edges on a line that overlap in part.
        &[(20, 20), (80, 20), (80, 40), (60, 20), (40, 20), (20, 40)],
        // The same edge twice.
        &[(20, 20), (40, 20), (40, 40), (20, 20), (40, 20), (60, 60)],
    ];
    for points in touching {
        let message = refusal(&cpu(), &polygon(points));
        assert!(message.contains("polygon 0 crosses itself") && message.contains("meet"), "{points:?}: {message}");
    }
    let message = refusal(&cpu(), &polygon(&[(5, 5), (5, 5), (9, 9), (9, 9), (5, 5)]));
    assert!(message.contains("at least 3 nodes at different places, but it has 2"), "{message}");
}

#[test]
fn edges_without_length_and_straight_nodes_do_not_matter_to_the_start() {
    let image = image(&ellipse());
    let snake = Snake::new(&cpu(), image.view().into(), None, &Params::default()).unwrap();
    let mut same = polygon(&rectangle(20, 20, 60, 50));
    // Nodes repeated, also the first one at the end; a node on a straight edge.
    same.push(&[(20, 20), (20, 20), (60, 20), (60, 50), (60, 50), (20, 50), (20, 20)].map(|(x, y)| Node::new(x, y)));
    same.push(&[(20, 20), (40, 20), (60, 20), (60, 50), (20, 50)].map(|(x, y)| Node::new(x, y)));
    let sums = snake.region_sums(&same).unwrap();
    assert!(sums[0].pixels == 40 * 30 && sums[1] == sums[0] && sums[2] == sums[0], "{sums:?}");
    let mut first_two = Polygons::new();
    first_two.push(same.get(0).unwrap());
    first_two.push(same.get(1).unwrap());
    let found = converged(image.view(), Some(&first_two), &Params::default()).polygons();
    assert_eq!(found.get(0), found.get(1));
}

#[test]
fn automatic_steps_and_node_spacings_are_those_of_each_start() {
    let mut random = Random::new(11);
    let mut image = Array2::from_shape_fn((160, 320), |_| (1000.0 + 100.0 * random.normal()).round() as u16);
    // A disc a start, of a size of its own, with the start's automatic step and spacing.
    let sides = [(8, 1, 6.0), (20, 2, 8.0), (30, 4, 12.0), (100, 16, 16.0)];
    let mut starts = Polygons::new();
    for (index, (side, ..)) in sides.into_iter().enumerate() {
        let (cx, cy) = (30 + 60 * index as i32 + if side == 100 { 40 } else { 0 }, 80);
        starts
            .push(&rectangle(cx - side / 2, cy - side / 2, cx + side / 2, cy + side / 2).map(|(x, y)| Node::new(x, y)));
        for ((y, x), pixel) in image.indexed_iter_mut() {
            let (dx, dy) = (x as f64 + 0.5 - f64::from(cx), y as f64 + 0.5 - f64::from(cy));
            *pixel += if dx.hypot(dy) < 0.55 * f64::from(side) { 600 } else { 0 };
        }
    }
    let background = Background::Window { margin: 0.5 };
    let params = Params { background, ..Params::default() };
    let together = converged(image.view(), Some(&starts), &params).polygons();
    let mut differ = [0; 2];
    for (index, (side, step, spacing)) in sides.into_iter().enumerate() {
        let mut alone = Polygons::new();
        alone.push(starts.get(index).unwrap());
        let with = |step, spacing| {
            let params = Params { largest_step: Some(step), node_spacing: Some(spacing), ..params.clone() };
            converged(image.view(), Some(&alone), &params).polygons()
        };
        assert_eq!(together.get(index), with(step, spacing).get(0), "side {side}");
        differ[0] += usize::from(with(step, spacing) != with(2 * step, spacing));
        differ[1] += usize::from(with(step, spacing) != with(step, spacing / 2.0));
    }
    // One of the discs is the same with the other step.
    assert_eq!(differ, [sides.len() - 1, sides.len()]);
    // The default rectangle of an image of 80 x 80 pixels has the largest ones.
    let square = image.slice(ndarray::s![40..120, 170..250]).to_owned();
    let found = |largest_step, node_spacing| {
        let params = Params { largest_step, node_spacing, ..Params::default() };
        converged(square.view(), None, &params).polygons()
    };
    assert_eq!(found(None, None), found(Some(32), Some(16.0)));
    assert_ne!(found(None, None), found(Some(32), Some(8.0)));
    assert_ne!(found(None, None), found(Some(4), Some(16.0)));
}

#[test]
fn results_never_touch_themselves_however_fine_and_noisy() {
    // Nodes two pixels apart in noise without a target, where polygons fold up as far as they may.
    let mut random = Random::new(3);
    let image = Array2::from_shape_fn((50, 60), |_| (200.0 + 60.0 * random.normal()).round() as u16);
    for schedule in [Schedule::Parallel, Schedule::Sequential] {
        for background in [Background::Image, Background::Window { margin: 0.4 }] {
            let params = Params { schedule, background, node_spacing: Some(2.0), node_cost: 0.0, ..Params::default() };
            let mut starts = polygon(&rectangle(12, 10, 50, 40));
            starts.push(&[Node::new(4, 4), Node::new(25, 8), Node::new(8, 29)]);
            let snake = converged(image.view(), Some(&starts), &params);
            for statistics in snake.statistics() {
                assert!(statistics.nodes > 20 && statistics.status == Status::Converged, "{statistics:?}");
            }
            // Refused if one does.
            let sums = snake.region_sums(&snake.polygons()).unwrap();
            for (sum, statistics) in sums.iter().zip(snake.statistics()) {
                assert_eq!(sum.pixels as u64, statistics.pixels);
            }
        }
    }
}
