//! Tests of the multigrid solver on the CPU.

use super::*;

fn solved(fixed: &[u8], shape: [usize; 3], rho: f64, tolerance: f64) -> (Vec<f32>, Solution) {
    let mut field: Vec<f32> = fixed.iter().map(|&f| f32::from(f)).collect();
    let options = SolveOptions { lambda: 1.0 / (rho * rho), tolerance, max_cycles: 200 };
    let solution = solve(&mut field, fixed, shape, &options, &Ticker::new("test")).unwrap();
    (field, solution)
}

/// Solves by successive over-relaxation in float64 until no pixel changes.
fn reference(fixed: &[u8], shape: [usize; 3], rho: f64) -> Vec<f64> {
    let [width, height, depth] = shape;
    let mut v: Vec<f64> = fixed.iter().map(|&f| f64::from(f)).collect();
    loop {
        let mut largest_change = 0f64;
        for at in (0..v.len()).filter(|&at| fixed[at] == 0) {
            let (x, y, z) = (at % width, at / width % height, at / (width * height));
            let neighbours: Vec<usize> = [
                (x > 0).then(|| at - 1),
                (x + 1 < width).then(|| at + 1),
                (y > 0).then(|| at - width),
                (y + 1 < height).then(|| at + width),
                (z > 0).then(|| at - width * height),
                (z + 1 < depth).then(|| at + width * height),
            ]
            .into_iter()
            .flatten()
            .collect();
            let sum: f64 = neighbours.iter().map(|&n| v[n]).sum();
            let old = v[at];
            let new = sum / (neighbours.len() as f64 + 1.0 / (rho * rho));
            v[at] = old + 1.8 * (new - old);
            largest_change = largest_change.max((v[at] - old).abs());
        }
        if largest_change < 1e-12 {
            return v;
        }
    }
}

fn largest_error(field: &[f32], reference: &[f64]) -> f64 {
    field.iter().zip(reference).map(|(&v, &r)| (f64::from(v) - r).abs()).fold(0.0, f64::max)
}

/// Returns a mask of scattered shape pixels, the same every time; at least one.
fn scattered(shape: [usize; 3], one_in: u32, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut fixed: Vec<u8> = (0..shape.iter().product())
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::from((state >> 8).is_multiple_of(one_in))
        })
        .collect();
    let middle = fixed.len() / 2;
    fixed[middle] = 1;
    fixed
}

#[test]
fn line_gives_the_cosh_profile() {
    // One shape pixel at the left end, zero slope half a pixel beyond the right end.
    let (n, rho) = (1000usize, 64.0f64);
    let mut fixed = vec![0; n];
    fixed[0] = 1;
    // The discrete profile is cosh(k·(n − ½ − x)) with 2·cosh(k) − 2 = λ.
    let k = (1.0 + 0.5 / (rho * rho)).acosh();
    let profile = |x: usize| (k * (n as f64 - 0.5 - x as f64)).cosh() / (k * (n as f64 - 0.5)).cosh();
    for shape in [[n, 1, 1], [1, n, 1]] {
        let (field, solution) = solved(&fixed, shape, rho, 2e-6);
        let exact: Vec<f64> = (0..n).map(profile).collect();
        assert!(solution.converged, "{solution:?}");
        assert!(largest_error(&field, &exact) < 1e-5, "{:?} {solution:?}", largest_error(&field, &exact));
    }
}

#[test]
fn any_size_meets_its_tolerance() {
    let shapes = [
        [1, 2, 1],
        [2, 1, 1],
        [2, 2, 1],
        [3, 3, 1],
        [5, 1, 1],
        [17, 3, 1],
        [31, 33, 1],
        [65, 64, 1],
        [3, 129, 1],
        [257, 66, 1],
        [1, 1, 7],
        [2, 3, 4],
        [9, 8, 17],
        [17, 33, 18],
        [1, 20, 33],
        [40, 5, 9],
    ];
    for shape in shapes {
        for one_in in [3, 40, 100_000] {
            let fixed = scattered(shape, one_in, 7);
            for rho in [0.5, 3.0, 20.0] {
                let (field, solution) = solved(&fixed, shape, rho, 1e-5);
                let error = largest_error(&field, &reference(&fixed, shape, rho));
                assert!(solution.converged && error < 1.5e-5, "{shape:?} 1/{one_in} rho {rho}: {error:e} {solution:?}");
            }
        }
    }
}

#[test]
fn empty_shape_gives_zero_and_full_shape_gives_one() {
    let shape = [70, 65, 1];
    let options = SolveOptions { lambda: 0.01, tolerance: 1e-5, max_cycles: 10 };
    let mut field = vec![0.5; 70 * 65];
    let solution = solve(&mut field, &vec![0; 70 * 65], shape, &options, &Ticker::new("test")).unwrap();
    assert!(solution.converged && field.iter().all(|&v| v == 0.0));
    let solution = solve(&mut field, &vec![1; 70 * 65], shape, &options, &Ticker::new("test")).unwrap();
    assert!(solution.converged && field.iter().all(|&v| v == 1.0));
    for (fixed, value) in [(0, 0.0), (1, 1.0)] {
        let (field, solution) = solved(&[fixed], [1, 1, 1], 5.0, 1e-5);
        assert!(solution.converged);
        assert_eq!(field, [value]);
    }
}

#[test]
fn volume_of_one_slice_matches_the_slice() {
    let fixed = scattered([40, 50, 1], 200, 3);
    let (flat, _) = solved(&fixed, [40, 50, 1], 16.0, 2e-6);
    let (upright, _) = solved(&fixed, [1, 40, 50], 16.0, 2e-6);
    let reference: Vec<f64> = flat.iter().map(|&v| f64::from(v)).collect();
    assert!(largest_error(&upright, &reference) < 5e-6);
}

#[test]
fn result_is_independent_of_the_number_of_threads() {
    let fixed = scattered([700, 300, 1], 20_000, 9);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solved(&fixed, [700, 300, 1], 500.0, 1e-5))
    };
    let (one, first) = with(1);
    let (three, second) = with(3);
    assert_eq!(first.cycles, second.cycles);
    assert!(one.iter().zip(&three).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn too_few_cycles_are_reported() {
    let fixed = scattered([200, 200, 1], 5000, 1);
    let options = SolveOptions { lambda: 1e-4, tolerance: 1e-5, max_cycles: 2 };
    let mut field = vec![0.0; fixed.len()];
    let solution = solve(&mut field, &fixed, [200, 200, 1], &options, &Ticker::new("test")).unwrap();
    assert!(!solution.converged && solution.cycles == 2 && solution.residual > 1e-5);
    assert!(field.iter().all(|v| (-0.1..=1.1).contains(v)));
}

#[test]
fn cancellation_ends_the_solve() {
    let ticker = Ticker::new("test");
    ticker.cancel();
    let options = SolveOptions { lambda: 1e-4, tolerance: 1e-5, max_cycles: 2 };
    let outcome = solve(&mut [0.0; 64], &scattered([8, 8, 1], 9, 1), [8, 8, 1], &options, &ticker);
    assert_eq!(outcome.unwrap_err().kind(), crate::ErrorKind::Cancelled);
}

#[test]
fn the_monitor_ends_a_solve_that_stagnates_and_no_other() {
    use super::convergence::IDLE_CYCLES;
    let options = SolveOptions { lambda: 0.01, tolerance: 1e-300, max_cycles: 10_000_000 };
    // The changes fall slowly: the solve goes on.
    let mut monitor = ConvergenceMonitor::new();
    let mut change = 1.0;
    for _ in 0..100 * IDLE_CYCLES {
        monitor.note(change);
        change *= 0.999;
        assert!(monitor.goes_on(&options), "{}", monitor.cycles);
    }
    // They swing around a value: the solve ends after as many cycles as are allowed without a smaller one.
    for cycle in 0..IDLE_CYCLES {
        assert!(monitor.goes_on(&options), "{cycle}");
        monitor.note(1e-3 * if cycle % 2 == 0 { 1.0 } else { 1.5 });
    }
    assert!(!monitor.goes_on(&options) && !monitor.solution(&options).converged);
    assert_eq!(monitor.solution(&options).cycles, 101 * IDLE_CYCLES);
}
