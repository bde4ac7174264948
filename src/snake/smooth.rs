//! Smooth curves along polygons, for outlines whose length and shape are closer to those of the object.

use super::params::automatic_spacing;
use super::polygon::{Node, Polygons, check_coordinates};
use crate::error::{Error, Result, number};
use crate::memory::reserved;
use crate::progress::Ticker;

/// Control points are moved outwards from the nodes by this share of the nodes' second difference. A quadratic B-spline
/// cuts corners: for nodes on a circle, an angle θ apart, it has θ²/12 less area than the polygon. The shift increases each
/// radius by this share times θ², which restores the area.
const OUTWARDS: f64 = 1.0 / 24.0;

/// The name of the work for the ticker; no callback gets it.
const STAGE: &str = "smoothing polygons";

/// The most points of an edge.
pub const MAX_POINTS_PER_EDGE: u32 = 1024;

/// The largest number of points of all curves of a call, 64 GiB.
const MOST_POINTS: u64 = 1 << 32;

/// Smooth closed curves as flat arrays, in pixel corners: x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    points: Vec<[f64; 2]>,
    /// The index of each curve's first point, and the end of the last curve.
    offsets: Vec<u64>,
}

impl Curves {
    /// Returns the curve of each polygon: a closed quadratic B-spline near its nodes, with a continuous tangent. Edges
    /// longer than `longest_edge` (in pixels, greater than 0; `None`: for each polygon the automatic
    /// [`node_spacing`](super::Params::node_spacing) for its size) are first divided into equal parts, so that only the
    /// ends of long straight edges are rounded. Each edge, or part of one, gets `points_per_edge` points (1 to
    /// [`MAX_POINTS_PER_EDGE`]) at equal steps of the parameter. The first of them is half way between the control point of
    /// its first node and the one before.
    ///
    /// The control points lie outside the nodes by 1/24 of the nodes' second difference, so that the curve has about the
    /// polygon's area: the areas differ by 0.2 % for a regular polygon of 8 nodes, and by 0.01 % for 16. The curve is
    /// nowhere farther from the polygon than `longest_edge`/4. If edges of a polygon come closer to each other than twice
    /// that, the curve may touch itself.
    ///
    /// # Errors
    /// A number out of range; a polygon of less than 3 nodes; more than 2³² points in all; out of memory.
    pub fn new(polygons: &Polygons, longest_edge: Option<f64>, points_per_edge: u32) -> Result<Self> {
        let Self { offsets, .. } = Self::without_points(polygons, longest_edge, points_per_edge)?;
        let mut points = reserved(offsets[polygons.len()] as usize)?;
        let most = offsets.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        let mut nodes = reserved((most / u64::from(points_per_edge)) as usize)?;
        let ticker = Ticker::new(STAGE);
        for polygon in polygons.iter() {
            nodes.clear();
            let longest_edge = longest_edge.unwrap_or_else(|| automatic_spacing(polygon));
            for (a, b) in edges(polygon) {
                ticker.check()?;
                let parts = parts(a, b, longest_edge);
                let at = |from: i32, to: i32, part: u64| {
                    f64::from(from) + (f64::from(to) - f64::from(from)) * (part as f64 / parts as f64)
                };
                nodes.extend((0..parts).map(|part| [at(a.x, b.x, part), at(a.y, b.y, part)]));
            }
            append_spline(&mut points, &nodes, points_per_edge, &ticker)?;
        }
        Ok(Self { points, offsets })
    }

    /// Returns curves that have offsets but no points.
    pub(crate) fn without_points(polygons: &Polygons, longest_edge: Option<f64>, points_per_edge: u32) -> Result<Self> {
        if let Some(longest_edge) = longest_edge
            && !(longest_edge > 0.0 && longest_edge.is_finite())
        {
            return Err(Error::argument(format!(
                "longest_edge must be greater than 0 (pixels), or automatic, but it is {}; leave it \
                 automatic, or give the node spacing",
                number(longest_edge)
            )));
        }
        if !(1..=MAX_POINTS_PER_EDGE).contains(&points_per_edge) {
            return Err(Error::argument(format!(
                "points_per_edge must be from 1 to {MAX_POINTS_PER_EDGE}, but it is {points_per_edge}; take 8"
            )));
        }
        let ticker = Ticker::new(STAGE);
        let mut offsets = reserved(polygons.len() + 1)?;
        let mut end = 0u64;
        offsets.push(end);
        for (index, polygon) in polygons.iter().enumerate() {
            ticker.check()?;
            if polygon.len() < 3 {
                return Err(Error::argument(format!(
                    "polygon {index} must have at least 3 nodes, but it has {}; leave it out",
                    polygon.len()
                )));
            }
            check_coordinates(polygon, index)?;
            let longest_edge = longest_edge.unwrap_or_else(|| automatic_spacing(polygon));
            for (a, b) in edges(polygon) {
                end = end.saturating_add(parts(a, b, longest_edge).saturating_mul(points_per_edge.into()));
            }
            offsets.push(end);
        }
        if end > MOST_POINTS {
            let longest_edge = longest_edge.map_or("automatic".into(), number);
            return Err(Error::size(format!(
                "cannot make curves of more than {MOST_POINTS} points in all; raise longest_edge ({longest_edge}), or lower \
                 points_per_edge ({points_per_edge})"
            )));
        }
        Ok(Self { points: Vec::new(), offsets })
    }

    /// Returns the points of curve `index`, or `None` beyond the last.
    pub fn get(&self, index: usize) -> Option<&[[f64; 2]]> {
        let end = *self.offsets.get(index.checked_add(1)?)?;
        self.points.get(self.offsets[index] as usize..end as usize)
    }

    /// Returns all points, curve after curve.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// Returns the index in [`points`](Self::points) of each curve's first point, and the end of the last curve.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }
}

/// Returns the ends of each edge.
fn edges(polygon: &[Node]) -> impl Iterator<Item = (Node, Node)> {
    polygon.iter().copied().zip(polygon.iter().copied().cycle().skip(1))
}

/// Returns the number of equal parts of an edge that are no longer than `longest_edge`.
fn parts(a: Node, b: Node, longest_edge: f64) -> u64 {
    let [dx, dy] = [f64::from(b.x) - f64::from(a.x), f64::from(b.y) - f64::from(a.y)];
    ((dx * dx + dy * dy).sqrt() / longest_edge).ceil().max(1.0) as u64
}

/// Appends the spline along closed `nodes`. Each node adds the arc of its control point, between the middles of the two
/// edges of the control polygon that meet there.
fn append_spline(points: &mut Vec<[f64; 2]>, nodes: &[[f64; 2]], points_per_edge: u32, ticker: &Ticker) -> Result<()> {
    let count = nodes.len();
    let control = |index: usize| {
        let [before, here, after] = [index + count - 1, index, index + 1].map(|index| nodes[index % count]);
        [0, 1].map(|axis| here[axis] - OUTWARDS * (before[axis] - 2.0 * here[axis] + after[axis]))
    };
    for index in 0..count {
        ticker.check()?;
        let [before, here, after] = [index + count - 1, index, index + 1].map(control);
        points.extend((0..points_per_edge).map(|point| {
            let t = f64::from(point) / f64::from(points_per_edge);
            [0, 1].map(|axis| {
                let [from, to] = [(before[axis] + here[axis]) / 2.0, (here[axis] + after[axis]) / 2.0];
                (1.0 - t) * (1.0 - t) * from + 2.0 * t * (1.0 - t) * here[axis] + t * t * to
            })
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn polygons(nodes: &[(f64, f64)]) -> Polygons {
        let nodes: Vec<Node> =
            nodes.iter().map(|&(x, y)| Node::new((1e6 * x).round() as i32, (1e6 * y).round() as i32)).collect();
        let mut polygons = Polygons::new();
        polygons.push(&nodes);
        polygons
    }

    fn area(points: &[[f64; 2]]) -> f64 {
        let next = points.iter().cycle().skip(1);
        points.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>() / 2.0
    }

    fn perimeter(points: &[[f64; 2]]) -> f64 {
        let next = points.iter().cycle().skip(1);
        points.iter().zip(next).map(|(a, b)| (b[0] - a[0]).hypot(b[1] - a[1])).sum()
    }

    #[test]
    fn a_circle_comes_back_from_polygons_of_its_area() {
        for count in [8, 9, 12, 16, 32, 100] {
            // A search gives a polygon of the object's area, whose nodes therefore lie outside the circle.
            let angle = 2.0 * PI / f64::from(count);
            let radius = (angle / angle.sin()).sqrt();
            let node = |index| (radius * (angle * f64::from(index)).cos(), radius * (angle * f64::from(index)).sin());
            let polygons = polygons(&(0..count).map(node).collect::<Vec<_>>());
            let curves = Curves::new(&polygons, Some(1e9), 16).unwrap();
            let points: Vec<[f64; 2]> = curves.get(0).unwrap().iter().map(|point| point.map(|x| x / 1e6)).collect();
            assert_eq!(points.len(), 16 * count as usize);
            let [area, perimeter] = [area(&points) / PI, perimeter(&points) / (2.0 * PI)];
            assert!((area - 1.0).abs() < 0.005 && (perimeter - 1.0).abs() < 0.005, "{count}: {area} {perimeter}");
            // The polygon itself is that much longer.
            let longer = f64::from(count) * 2.0 * radius * (angle / 2.0).sin() / (2.0 * PI);
            assert!(longer > 1.0 + 0.04 * angle * angle, "{count}: {longer}");
        }
    }

    #[test]
    fn only_the_ends_of_long_edges_are_rounded() {
        let square = polygons(&[(0.0, 0.0), (1e-4, 0.0), (1e-4, 1e-4), (0.0, 1e-4)]);
        let curves = Curves::new(&square, Some(10.0), 4).unwrap();
        let points = curves.get(0).unwrap();
        assert_eq!((points.len(), curves.offsets()), (160, &[0, 160][..]));
        assert!((area(points) - 1e4).abs() < 10.0, "{}", area(points));
        for [x, y] in points {
            let border = x.abs().min(y.abs()).min((x - 100.0).abs()).min((y - 100.0).abs());
            let corner = x.min(100.0 - x).max(y.min(100.0 - y));
            assert!(border < 2.5 && (corner < 16.0 || border < 1e-9), "{x} {y}");
        }
        // The automatic spacing of a square of 100 x 100 pixels is 16.
        assert_eq!(Curves::new(&square, None, 4).unwrap(), Curves::new(&square, Some(16.0), 4).unwrap());
        // There is one curve for each polygon, and with 1 point an edge as many points as nodes.
        let mut two = square.clone();
        two.push(&[Node::new(0, 0), Node::new(4, 0), Node::new(0, 4)]);
        let curves = Curves::new(&two, Some(1e3), 1).unwrap();
        assert_eq!(curves.offsets(), [0, 4, 7]);
        assert_eq!(curves.points().len(), 7);
        assert!(curves.get(2).is_none());
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let square = polygons(&[(0.0, 0.0), (1e-4, 0.0), (1e-4, 1e-4), (0.0, 1e-4)]);
        for (longest_edge, points_per_edge, wanted) in [
            (0.0, 8, "longest_edge"),
            (f64::NAN, 8, "longest_edge"),
            (f64::INFINITY, 8, "longest_edge"),
            (8.0, 0, "points_per_edge"),
            (8.0, 1025, "points_per_edge"),
        ] {
            let error = Curves::new(&square, Some(longest_edge), points_per_edge).unwrap_err();
            assert!(error.message().contains(wanted), "{error}");
        }
        let mut line = Polygons::new();
        line.push(&[Node::new(0, 0), Node::new(4, 0)]);
        assert!(Curves::new(&line, None, 8).unwrap_err().message().contains("polygon 0 must have at least 3 nodes"));
        // More points than memory can hold are an error.
        assert!(Curves::new(&square, Some(1e-300), 1024).is_err());
    }
}
