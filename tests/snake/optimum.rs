//! The result is a local optimum: no move of one node by one pixel improves the criterion, computed here from exact sums
//! with the standard library's logarithm. `super::converged` checks every result of these tests.

use super::polygon;
use isoline::snake::{Background, Node, Noise, Params, Polygons, RegionSum, Snake, Status};

fn criterion(noise: Noise, region: &RegionSum) -> f64 {
    if region.pixels == 0 {
        return 0.0;
    }
    let (n, z, zz) = (region.pixels as f64, region.z as f64, region.zz as f64);
    let mean = z / n;
    let entropy = |p: f64| if p > 0.0 { p * p.ln() } else { 0.0 };
    match noise {
        Noise::Gaussian => 0.5 * n * (zz / n - mean * mean).max(1.0 / 12.0).ln(),
        Noise::Poisson => -z * mean.max(1e-3).ln(),
        Noise::Gamma { looks } => looks * n * mean.max(1e-3).ln(),
        Noise::Rayleigh => n * (zz / n).max(1e-3).ln(),
        Noise::Bernoulli => -n * (entropy(mean) + entropy(1.0 - mean)),
        other => panic!("no optimum is known for {other:?}"),
    }
}

/// Returns the bounds of a target's nodes and of its background: left, top, right, bottom.
fn bounds(start: Option<&[Node]>, params: &Params, [width, height]: [i32; 2]) -> [i32; 4] {
    let (Background::Window { margin }, Some(start)) = (params.background, start) else { return [0, 0, width, height] };
    let extent = |values: Vec<i32>| (*values.iter().min().unwrap(), *values.iter().max().unwrap());
    let (x0, x1) = extent(start.iter().map(|node| node.x.clamp(0, width)).collect());
    let (y0, y1) = extent(start.iter().map(|node| node.y.clamp(0, height)).collect());
    let room = (margin * f64::from((x1 - x0).max(y1 - y0))).ceil().max(16.0) as i32;
    [(x0 - room).max(0), (y0 - room).max(0), (x1 + room).min(width), (y1 + room).min(height)]
}

/// Returns the criterion of a polygon; `None` when it crosses itself.
fn cost(snake: &Snake, noise: Noise, all: &RegionSum, nodes: &[Node]) -> Option<f64> {
    let mut one = Polygons::new();
    one.push(nodes);
    let inside = snake.region_sums(&one).ok()?[0];
    let outside = RegionSum { pixels: all.pixels - inside.pixels, z: all.z - inside.z, zz: all.zz - inside.zz };
    Some(criterion(noise, &inside) + criterion(noise, &outside))
}

/// Twice the area, positive when the nodes run clockwise on the screen.
fn twice_area(nodes: &[Node]) -> i64 {
    let pairs = nodes.iter().zip(nodes.iter().cycle().skip(1));
    pairs.map(|(a, b)| i64::from(a.x) * i64::from(b.y) - i64::from(b.x) * i64::from(a.y)).sum()
}

/// Checks every converged target of `snake`.
pub(crate) fn check(snake: &Snake, starts: Option<&Polygons>, params: &Params, size: [i32; 2]) {
    let found = snake.polygons();
    for (index, (nodes, statistics)) in found.iter().zip(snake.statistics()).enumerate() {
        if statistics.status != Status::Converged {
            continue;
        }
        let [x0, y0, x1, y1] = bounds(starts.and_then(|starts| starts.get(index)), params, size);
        let all = snake.region_sums(&polygon(&[(x0, y0), (x1, y0), (x1, y1), (x0, y1)])).unwrap()[0];
        let what = format!("target {index} of {:?}, {:?}, {:?}", params.noise, params.schedule, params.background);
        let reached = cost(snake, params.noise, &all, nodes).unwrap();
        let slack = 1e-9 * reached.abs().max(1.0);
        assert!((reached - statistics.criterion).abs() <= slack, "{what}: {reached} {statistics:?}");
        // The test of a polygon takes time with the square of its nodes.
        for node in (0..nodes.len()).step_by(if nodes.len() > 256 { nodes.len() / 16 } else { 1 }) {
            let (before, after) = (nodes[(node + nodes.len() - 1) % nodes.len()], nodes[(node + 1) % nodes.len()]);
            for (dx, dy) in [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)] {
                let mut moved = nodes.to_vec();
                let to = Node::new(nodes[node].x + dx, nodes[node].y + dy);
                moved[node] = to;
                // A node on its neighbour would be one node less, and a polygon turned inside out another one.
                let outside = !(x0..=x1).contains(&to.x) || !(y0..=y1).contains(&to.y);
                if outside || to == before || to == after || twice_area(&moved) <= 0 {
                    continue;
                }
                // A crossing polygon has no sums.
                if let Some(other) = cost(snake, params.noise, &all, &moved) {
                    assert!(
                        other > reached - slack,
                        "{what}: node {node} of {} by {dx} {dy}: {other} < {reached}",
                        nodes.len()
                    );
                }
            }
        }
    }
}
