//! Targets beside each other: those that compete for pixels, and what each is said to touch.

use super::{Random, converged, cpu};
use isoline::snake::{self, Background, Node, Noise, Overlap, Params, Polygons, Schedule, Snake};
use ndarray::Array2;

const WINDOW: Background = Background::Window { margin: 0.5 };

/// Discs of radius 20 at centres that may be so near that they touch, in noise, and a square start in each.
fn discs(width: usize, height: usize, centres: &[(f64, f64)], seed: u64) -> (Array2<u16>, Polygons) {
    let mut random = Random::new(seed);
    let image = Array2::from_shape_fn((height, width), |(y, x)| {
        let inside = |(cx, cy): &(f64, f64)| (x as f64 + 0.5 - cx).hypot(y as f64 + 0.5 - cy) < 20.0;
        let level = if centres.iter().any(inside) { 600.0 } else { 300.0 };
        (level + 60.0 * random.normal()).clamp(0.0, 65535.0) as u16
    });
    let mut starts = Polygons::new();
    for (x, y) in centres {
        let square = [(-8, -8), (8, -8), (8, 8), (-8, 8)];
        starts.push(&square.map(|(dx, dy)| Node::new(*x as i32 + dx, *y as i32 + dy)));
    }
    (image, starts)
}

/// Number and mean of the pixels that have a label.
fn labelled(image: &Array2<u16>, labels: &Array2<u16>, label: usize) -> (u64, f64) {
    let pixels = image.iter().zip(labels).filter(|(_, number)| usize::from(**number) == label);
    let (count, sum) = pixels.fold((0, 0.0), |(count, sum), (pixel, _)| (count + 1, sum + f64::from(*pixel)));
    (count, sum / count as f64)
}

/// Checks that the statistics are those of the labels' pixels.
fn check_labels(image: &Array2<u16>, snake: &Snake) {
    let mut labels = Array2::<u16>::zeros(image.dim());
    snake.read_labels(labels.view_mut().into()).unwrap();
    for (index, statistics) in snake.statistics().iter().enumerate() {
        let (count, mean) = labelled(image, &labels, index + 1);
        assert_eq!(count, statistics.pixels, "{index}: {statistics:?}");
        assert!(count == 0 || (mean - statistics.mean).abs() < 1e-9 * mean, "{index}: {mean} {statistics:?}");
    }
}

#[test]
fn touching_discs_become_one_target_each() {
    // Three in a row that touch, and one that is alone.
    let (image, starts) = discs(220, 80, &[(40.0, 40.0), (79.0, 40.0), (118.0, 41.0), (185.0, 40.0)], 3);
    for schedule in [Schedule::Parallel, Schedule::Sequential] {
        for noise in [Noise::Gaussian, Noise::Poisson, Noise::Gamma { looks: 1.0 }] {
            let params = Params {
                noise,
                schedule,
                background: Background::Window { margin: 2.0 },
                overlap: Overlap::Excluded,
                largest_step: Some(4),
                node_spacing: Some(6.0),
                ..Params::default()
            };
            let mut snake = Snake::new(&cpu(), image.view().into(), Some(&starts), &params).unwrap();
            snake.step(u64::MAX, None).unwrap();
            check_labels(&image, &snake);
            let told = snake.statistics();
            for (index, statistics) in told.iter().enumerate() {
                let area = std::f64::consts::PI * 400.0;
                let share = statistics.pixels as f64 / area;
                assert!((0.9..1.1).contains(&share), "{noise:?} {schedule:?}, {index}: {share}");
                assert_eq!(statistics.overlaps, index < 3, "{noise:?} {schedule:?}, {index}");
                assert!(!statistics.touches_image && !statistics.touches_window && !statistics.flat);
            }
            // Without competition the one in the middle takes the others in.
            let params = Params { overlap: Overlap::Allowed, ..params };
            let alone = converged(image.view(), Some(&starts), &params).statistics();
            assert!(alone[1].pixels > 2 * told[1].pixels && alone[1].overlaps, "{:?}", alone[1]);
            // The one without neighbours is the same.
            assert_eq!(alone[3], told[3]);
        }
    }
}

#[test]
fn a_pixel_belongs_to_one_target_whatever_the_starts() {
    // Starts that overlap, one that another one hides, one beyond the image, one that crosses half of it.
    let (image, mut starts) = discs(150, 130, &[(40.0, 40.0), (52.0, 44.0), (40.0, 40.0), (100.0, 90.0)], 8);
    starts.push(&[Node::new(-50, -40), Node::new(30, 10), Node::new(5, 60)]);
    starts.push(&[Node::new(200, 10), Node::new(220, 10), Node::new(210, 30)]);
    starts.push(&[Node::new(10, 120), Node::new(140, 70), Node::new(148, 128)]);
    for background in [WINDOW, Background::Image] {
        for noise in [Noise::Gaussian, Noise::Poisson] {
            let params =
                Params { noise, background, overlap: Overlap::Excluded, node_spacing: Some(6.0), ..Params::default() };
            let mut snake = Snake::new(&cpu(), image.view().into(), Some(&starts), &params).unwrap();
            for _ in 0..4 {
                check_labels(&image, &snake);
                let told = snake.statistics();
                assert_eq!(told[2].status, snake::Status::Vanished, "the start of the first one hides this one");
                assert!(told[0].overlaps && told[1].overlaps);
                snake.step(7, None).unwrap();
            }
        }
    }
}

#[test]
fn competing_targets_do_not_depend_on_threads_or_steps() {
    let centres: Vec<(f64, f64)> =
        (0..30).map(|i| (f64::from(i % 6) * 39.0 + 30.0, f64::from(i / 6) * 38.0 + 30.0)).collect();
    let (image, starts) = discs(260, 220, &centres, 5);
    let params =
        Params { background: WINDOW, overlap: Overlap::Excluded, node_spacing: Some(8.0), ..Params::default() };
    let (polygons, told, _) = snake::run(&cpu(), image.view().into(), Some(&starts), &params, None).unwrap();
    for threads in [1, 3, 90] {
        let context = isoline::Context::with_threads("cpu", threads).unwrap();
        let mut snake = Snake::new(&context, image.view().into(), Some(&starts), &params).unwrap();
        while !snake.step(2, None).unwrap().converged {}
        assert_eq!(snake.polygons(), polygons, "{threads} threads");
        assert_eq!(snake.statistics(), told, "{threads} threads");
        // The option may change on the same image.
        snake.restart(Some(&starts), &Params { overlap: Overlap::Allowed, ..params.clone() }).unwrap();
        snake.step(u64::MAX, None).unwrap();
        assert_ne!(snake.polygons(), polygons);
        snake.restart(Some(&starts), &params).unwrap();
        snake.step(u64::MAX, None).unwrap();
        assert_eq!(snake.polygons(), polygons);
    }
}

#[test]
fn targets_are_said_to_touch_image_and_window_and_to_have_no_contrast() {
    let (image, _) = discs(120, 100, &[(14.0, 60.0), (80.0, 50.0)], 2);
    let mut starts = Polygons::new();
    for [x0, y0, x1, y1] in [[2, 52, 22, 68], [75, 45, 85, 55]] {
        starts.push(&[(x0, y0), (x1, y0), (x1, y1), (x0, y1)].map(|(x, y)| Node::new(x, y)));
    }
    // The window of the second start ends 16 pixels beside it, within the disc's reach.
    let params = Params { background: WINDOW, node_spacing: Some(6.0), ..Params::default() };
    let told = converged(image.view(), Some(&starts), &params).statistics();
    assert!(told[0].touches_image && !told[0].flat, "{:?}", told[0]);
    let grey = Array2::from_elem((100, 120), 7u16);
    let told = snake::run(&cpu(), grey.view().into(), Some(&starts), &params, None).unwrap().1;
    assert!(told.iter().all(|target| target.flat && target.status == snake::Status::Converged), "{told:?}");
    // A ground that rises steadily has no end within the window.
    let ramp = Array2::from_shape_fn((100, 120), |(y, x)| (x * x + y) as u16);
    let told = snake::run(&cpu(), ramp.view().into(), Some(&starts), &params, None).unwrap().1;
    assert!(told[1].touches_window && !told[1].flat, "{told:?}");
}

#[test]
fn targets_that_share_pixels_overlap_and_no_others() {
    const SIDE: i32 = 700;
    let image = Array2::<u8>::from_shape_fn((SIDE as usize, SIDE as usize), |(y, x)| ((x * 7 + y * 13) % 251) as u8);
    // Few targets, and more than are compared by their bounding rectangles.
    for count in [300, 4300] {
        let mut random = Random::new(count);
        let mut starts = Polygons::new();
        let mut covered = Array2::<u16>::zeros(image.dim());
        // Rectangles at random, all but the last rows.
        let rectangles: Vec<[i32; 4]> = (0..count)
            .map(|_| {
                let mut below = |n: i32| (random.uniform() * f64::from(n)) as i32;
                let (x, y, width, height) = (below(SIDE - 20), below(SIDE - 60), 2 + below(16), 2 + below(16));
                [x, y, x + width, y + height]
            })
            .collect();
        let pixels = |[x0, y0, x1, y1]: [i32; 4]| ndarray::s![y0..y1, x0..x1];
        for rectangle @ [x0, y0, x1, y1] in rectangles.iter().copied() {
            starts.push(&[Node::new(x0, y0), Node::new(x1, y0), Node::new(x1, y1), Node::new(x0, y1)]);
            covered.slice_mut(pixels(rectangle)).mapv_inplace(|n| n + 1);
        }
        // Both halves of squares below them, whose bounding rectangles are the same.
        for x in (10..SIDE - 40).step_by(40) {
            let [a, b, c, d] = [(0, 0), (30, 0), (30, 30), (0, 30)].map(|(dx, dy)| Node::new(x + dx, SIDE - 35 + dy));
            starts.push(&[a, b, d]);
            starts.push(&[b, c, d]);
        }
        let params = Params { background: WINDOW, ..Params::default() };
        let told = Snake::new(&cpu(), image.view().into(), Some(&starts), &params).unwrap().statistics();
        for (index, statistics) in told.iter().enumerate() {
            let shares = rectangles.get(index).is_some_and(|one| covered.slice(pixels(*one)).iter().any(|n| *n > 1));
            assert_eq!(statistics.overlaps, shares, "{index} of {count}");
        }
        let shares = told.iter().filter(|one| one.overlaps).count();
        assert!(shares > 10 && shares < told.len() - 10, "{shares} of {}", told.len());
    }
}
