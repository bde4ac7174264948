//! Least-squares fits of a circle and of an ellipse, by the geometric distances of points.

/// The iterations that find the nearest point of an ellipse. For points near the ellipse the error is then far below a
/// hundredth of a pixel.
const NEAREST_ITERATIONS: usize = 2;

/// The most iterations of a fit, and the relative decrease of the sum of squares that ends them.
const FIT_ITERATIONS: usize = 20;
const LEAST_DECREASE: f64 = 1e-3;

/// The most by which an iteration turns an ellipse, as the tangent of half of the angle.
const MOST_TURN: f64 = 0.2;

/// A fit is tried only if the root mean square distance of its start is at most this many times the allowed one.
const HOPELESS: f64 = 3.0;

/// The allowed root mean square distance is at most this, in pixels, plus a share of the smaller semi-axis: the pixels of
/// any small shape are near to some circle.
const ROUGHNESS: f64 = 0.25;
const ROUGHNESS_SHARE: f64 = 0.04;

/// An ellipse; a circle if both semi-axes are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub centre: [f64; 2],
    /// The semi-axes, the longer one first.
    pub axes: [f64; 2],
    /// The direction of the longer axis, of length 1.
    pub direction: [f64; 2],
}

/// A shape that was fitted to points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub shape: Shape,
    /// The root mean square distance of the points.
    pub rms: f64,
}

/// The point on a shape that is nearest to a given point.
pub(super) struct Nearest {
    /// The distance of the point, negative inside.
    pub distance: f64,
    /// The cosine and the sine of the eccentric anomaly of the nearest point.
    pub anomaly: [f64; 2],
    /// The normal outwards, along the axes of the shape.
    normal: [f64; 2],
}

/// A point on the outline of a shape, with its normal outwards.
pub(super) struct Sample {
    pub at: [f64; 2],
    pub normal: [f64; 2],
    /// A number that grows with the eccentric anomaly; see [`order`].
    pub order: f64,
}

impl Shape {
    /// Returns the largest root mean square distance that points of the shape may have.
    fn largest_rms(&self, tolerance: f64) -> f64 {
        tolerance.min(ROUGHNESS + ROUGHNESS_SHARE * self.axes[1])
    }

    pub fn is_circle(&self) -> bool {
        self.axes[0] == self.axes[1]
    }

    /// Returns a vector of the image along the axes of the shape.
    fn local(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [c, s] = self.direction;
        [c * x + s * y, c * y - s * x]
    }

    /// Returns a vector along the axes of the shape in the image.
    fn global(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [c, s] = self.direction;
        [c * x - s * y, s * x + c * y]
    }

    pub fn nearest(&self, [x, y]: [f64; 2]) -> Nearest {
        let [u, v] = self.local([x - self.centre[0], y - self.centre[1]]);
        let [a, b] = self.axes;
        if a == b {
            let anomaly = unit([u, v]);
            return Nearest { distance: length([u, v]) - a, anomaly, normal: anomaly };
        }
        // By symmetry, work in one quadrant. The nearest point is where the line from the centre of curvature through the
        // point meets the ellipse; iterate, because the centre of curvature depends on it.
        let p = [u.abs(), v.abs()];
        let mut t = unit([p[0] / a, p[1] / b]);
        for _ in 0..NEAREST_ITERATIONS {
            let focal = a * a - b * b;
            let evolute = [focal * t[0] * t[0] * t[0] / a, -focal * t[1] * t[1] * t[1] / b];
            let radius = length([a * t[0] - evolute[0], b * t[1] - evolute[1]]);
            let towards = unit([p[0] - evolute[0], p[1] - evolute[1]]);
            let next = |axis: usize, semi: f64| ((evolute[axis] + radius * towards[axis]) / semi).clamp(0.0, 1.0);
            t = unit([next(0, a), next(1, b)]);
        }
        let normal = unit([b * t[0], a * t[1]]);
        let distance = normal[0] * (p[0] - a * t[0]) + normal[1] * (p[1] - b * t[1]);
        let signed = |[x, y]: [f64; 2]| [x.copysign(u), y.copysign(v)];
        Nearest { distance, anomaly: signed(t), normal: signed(normal) }
    }

    /// Returns points along the outline, about a pixel apart, by their eccentric anomaly from 0 to 360 degrees.
    pub fn outline(&self) -> impl Iterator<Item = Sample> {
        let [a, b] = self.axes;
        let (mut t, mut turned, whole) = ([1.0, 0.0], 0.0, *self);
        std::iter::from_fn(move || {
            if turned >= std::f64::consts::TAU {
                return None;
            }
            let [x, y] = whole.global([a * t[0], b * t[1]]);
            let sample = Sample {
                at: [whole.centre[0] + x, whole.centre[1] + y],
                normal: whole.global(unit([b * t[0], a * t[1]])),
                order: order(t),
            };
            // The next point is about one pixel farther, and at most 1 radian. The tangent of half that angle is computed
            // by its series.
            let step = (1.0 / length([a * t[1], b * t[0]])).min(1.0);
            turned += step;
            let [c, s] = turn(step / 2.0 * (1.0 + step * step / 12.0));
            t = unit([c * t[0] - s * t[1], s * t[0] + c * t[1]]);
            Some(sample)
        })
    }
}

/// Returns a number from 0 to 4 that grows with the angle of a vector of length 1 from 0 to 360 degrees.
pub(super) fn order([x, y]: [f64; 2]) -> f64 {
    let share = y / (x.abs() + y.abs());
    match (x >= 0.0, y >= 0.0) {
        (true, true) => share,
        (false, _) => 2.0 - share,
        (true, false) => 4.0 + share,
    }
}

/// Returns the cosine and the sine of an angle from the tangent of its half.
fn turn(half: f64) -> [f64; 2] {
    let square = half * half;
    [(1.0 - square) / (1.0 + square), 2.0 * half / (1.0 + square)]
}

fn length([x, y]: [f64; 2]) -> f64 {
    (x * x + y * y).sqrt()
}

/// Returns a vector scaled to length 1; (1, 0) for the zero vector.
fn unit([x, y]: [f64; 2]) -> [f64; 2] {
    let length = length([x, y]);
    if length > 0.0 { [x / length, y / length] } else { [1.0, 0.0] }
}

impl Fit {
    /// Fits a circle to points. Returns `None` if their root mean square distance from it exceeds `tolerance` or the limit
    /// for small shapes.
    pub fn circle(points: &[[f64; 2]], tolerance: f64) -> Option<Self> {
        improved::<3>(points, start::<3>(points, |[x, y]| [x, y, 1.0])?, tolerance, |near, _| {
            [near.normal[0], near.normal[1], 1.0]
        })
    }

    /// Fits an ellipse to points, as [`circle`](Self::circle) does.
    pub fn ellipse(points: &[[f64; 2]], tolerance: f64) -> Option<Self> {
        let conic = |[x, y]: [f64; 2]| [x, y, 1.0, x * x - y * y, 2.0 * x * y];
        improved::<5>(points, start::<5>(points, conic)?, tolerance, |near, axes| {
            let ([nx, ny], [c, s]) = (near.normal, near.anomaly);
            [nx, ny, nx * c, ny * s, ny * axes[0] * c - nx * axes[1] * s]
        })
    }
}

/// Returns the conic x² + y² + Σ cᵢ basisᵢ(x, y) = 0 with the least sum of squares at the points, if it is an ellipse.
/// `basis` gets normalised coordinates: relative to the mean, and scaled so that the points have a root mean square length
/// of 1.
fn start<const N: usize>(points: &[[f64; 2]], basis: impl Fn([f64; 2]) -> [f64; N]) -> Option<Shape> {
    let count = points.len() as f64;
    let mean = [0, 1].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / count);
    let moved = |point: &[f64; 2]| [point[0] - mean[0], point[1] - mean[1]];
    let squares: f64 = points.iter().map(moved).map(|[x, y]| x * x + y * y).sum();
    let scale = (squares / count).sqrt();
    let mut system = System::<N>::default();
    for point in points {
        let [x, y] = moved(point).map(|value| value / scale);
        system.add(basis([x, y]), -(x * x + y * y));
    }
    let found = system.solved(0.0)?;
    // (1 + p) x² + 2 q x y + (1 − p) y² + d x + e y + f = 0
    let [d, e, f] = [found[0], found[1], found[2]];
    let [p, q] = if N > 3 { [found[3], found[4]] } else { [0.0, 0.0] };
    let tilt = length([p, q]);
    let determinant = 1.0 - tilt * tilt;
    if determinant <= 0.0 || determinant.is_nan() {
        return None;
    }
    let [x, y] = [(q * e - (1.0 - p) * d) / (2.0 * determinant), (q * d - (1.0 + p) * e) / (2.0 * determinant)];
    let level = -(f + (d * x + e * y) / 2.0);
    if level <= 0.0 || level.is_nan() {
        return None;
    }
    // The longer axis is the direction of the least curvature of the quadratic form.
    let direction = match N {
        3 => [1.0, 0.0],
        _ if p <= 0.0 => unit([tilt - p, -q]),
        _ => unit([-q, p + tilt]),
    };
    let axes = [1.0 - tilt, 1.0 + tilt].map(|value| scale * (level / value).sqrt());
    Some(Shape { centre: [mean[0] + scale * x, mean[1] + scale * y], axes, direction })
}

/// Improves a shape by Gauss–Newton iterations until the sum of squared distances no longer decreases. `slopes` returns how
/// far a nearest point moves along its normal per change of each parameter: the centre, the semi-axes, and the direction.
fn improved<const N: usize>(
    points: &[[f64; 2]],
    start: Shape,
    tolerance: f64,
    slopes: impl Fn(&Nearest, [f64; 2]) -> [f64; N],
) -> Option<Fit> {
    let count = points.len() as f64;
    let mut best: Option<(Shape, f64)> = None;
    let mut shape = start;
    for _ in 0..FIT_ITERATIONS {
        let mut system = System::<N>::default();
        let mut sum = 0.0;
        for point in points {
            let near = shape.nearest(*point);
            sum += near.distance * near.distance;
            system.add(slopes(&near, shape.axes), near.distance);
        }
        let before = best.map_or((HOPELESS * start.largest_rms(tolerance)).powi(2) * count, |(_, sum)| sum);
        if sum >= before || sum.is_nan() {
            break;
        }
        let settled = best.is_some() && sum > before * (1.0 - LEAST_DECREASE);
        best = Some((shape, sum));
        if settled {
            break;
        }
        // A little damping keeps a parameter without effect, such as the direction of a circle, at its value.
        let Some(change) = system.solved(1e-9 * count) else { break };
        let [x, y] = shape.global([change[0], change[1]]);
        shape.centre = [shape.centre[0] + x, shape.centre[1] + y];
        let [a, b] = shape.axes;
        shape.axes = [a + change[2], b + if N > 3 { change[3] } else { change[2] }];
        if N > 3 {
            let rotation = turn((change[4] / 2.0).clamp(-MOST_TURN, MOST_TURN));
            shape.direction = unit(shape.global(rotation));
        }
        if shape.axes[0] < shape.axes[1] {
            shape.axes.reverse();
            shape.direction = [-shape.direction[1], shape.direction[0]];
        }
        if shape.axes[1] <= 0.0 || shape.axes[1].is_nan() {
            break;
        }
    }
    let (shape, sum) = best?;
    let rms = (sum / count).sqrt();
    (rms <= shape.largest_rms(tolerance)).then_some(Fit { shape, rms })
}

/// The normal equations of a linear least-squares problem.
struct System<const N: usize> {
    matrix: [[f64; N]; N],
    right: [f64; N],
}

impl<const N: usize> Default for System<N> {
    fn default() -> Self {
        Self { matrix: [[0.0; N]; N], right: [0.0; N] }
    }
}

impl<const N: usize> System<N> {
    fn add(&mut self, row: [f64; N], value: f64) {
        for i in 0..N {
            for j in 0..N {
                self.matrix[i][j] += row[i] * row[j];
            }
            self.right[i] += row[i] * value;
        }
    }

    /// Returns the solution, with `damping` added to the diagonal; `None` if there is not exactly one.
    fn solved(mut self, damping: f64) -> Option<[f64; N]> {
        let largest = (0..N).map(|i| self.matrix[i][i]).fold(0.0, f64::max);
        (0..N).for_each(|i| self.matrix[i][i] += damping);
        for i in 0..N {
            let pivot = (i..N).max_by(|a, b| self.matrix[*a][i].abs().total_cmp(&self.matrix[*b][i].abs()))?;
            self.matrix.swap(i, pivot);
            self.right.swap(i, pivot);
            let size = self.matrix[i][i].abs();
            if size <= 1e-13 * largest || size.is_nan() {
                return None;
            }
            for j in i + 1..N {
                let factor = self.matrix[j][i] / self.matrix[i][i];
                for k in i..N {
                    self.matrix[j][k] -= factor * self.matrix[i][k];
                }
                self.right[j] -= factor * self.right[i];
            }
        }
        for i in (0..N).rev() {
            let known: f64 = (i + 1..N).map(|j| self.matrix[i][j] * self.right[j]).sum();
            self.right[i] = (self.right[i] - known) / self.matrix[i][i];
        }
        Some(self.right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(shape: Shape, from: f64, to: f64) -> Vec<[f64; 2]> {
        let all = (0..200).map(|i| from + (to - from) * f64::from(i) / 199.0);
        all.map(|angle| {
            let [x, y] = shape.global([shape.axes[0] * angle.cos(), shape.axes[1] * angle.sin()]);
            [shape.centre[0] + x, shape.centre[1] + y]
        })
        .collect()
    }

    #[test]
    fn fits_find_shapes_of_which_points_are_given() {
        for (axes, degrees) in [([40.0, 40.0], 0.0), ([40.0, 39.0], 10.0), ([80.0, 20.0], 70.0), ([30.0, 6.0], 160.0)] {
            let angle = f64::to_radians(degrees);
            let shape = Shape { centre: [300.25, 4000.5], axes, direction: [angle.cos(), angle.sin()] };
            for to in [6.25, 3.5] {
                let points = points(shape, 0.3, 0.3 + to);
                let fit = Fit::ellipse(&points, 1.0).unwrap();
                assert!(fit.rms < 1e-6, "{fit:?}");
                let [x, y] = [0, 1].map(|axis| fit.shape.centre[axis] - shape.centre[axis]);
                assert!(length([x, y]) < 1e-4, "{shape:?} {fit:?}");
                assert!((fit.shape.axes[0] - axes[0]).abs() < 1e-4 && (fit.shape.axes[1] - axes[1]).abs() < 1e-4);
                if axes[0] > axes[1] {
                    let [_, across] = shape.local(fit.shape.direction);
                    assert!(across.abs() < 1e-4, "{shape:?} {fit:?}");
                }
                let circle = Fit::circle(&points, 1.5);
                // A half of a long ellipse is near to a circle.
                assert!(to < 6.0 || circle.is_some() == (axes[0] - axes[1] < 5.0), "{circle:?}");
            }
        }
        let line: Vec<[f64; 2]> = (0..50).map(|i| [f64::from(i), 2.0 * f64::from(i)]).collect();
        assert!(Fit::circle(&line, 1.0).is_none() && Fit::ellipse(&line, 1.0).is_none());
        assert!(Fit::circle(&[[3.0, 4.0]; 9], 1.0).is_none());
    }

    #[test]
    fn distances_are_those_of_the_nearest_of_many_points() {
        let shape = Shape { centre: [50.0, 60.0], axes: [40.0, 10.0], direction: [0.8, 0.6] };
        let outline = points(shape, 0.0, std::f64::consts::TAU);
        for (index, on) in outline.iter().enumerate() {
            let angle = std::f64::consts::TAU * index as f64 / 199.0;
            let normal = shape.global(unit([10.0 * angle.cos(), 40.0 * angle.sin()]));
            for distance in [-1.5, -0.5, 0.0, 0.5, 1.5, 5.0] {
                let near = shape.nearest([on[0] + distance * normal[0], on[1] + distance * normal[1]]);
                assert!((near.distance - distance).abs() < 1e-2, "{index} {distance} {}", near.distance);
            }
        }
    }

    #[test]
    fn the_outline_goes_around_once_in_steps_of_a_pixel() {
        for axes in [[40.0, 40.0], [80.0, 5.0], [3.0, 2.0], [1.5, 1.0]] {
            let shape = Shape { centre: [0.0, 0.0], axes, direction: [0.6, 0.8] };
            let samples: Vec<Sample> = shape.outline().collect();
            assert!(samples.windows(2).all(|pair| pair[0].order < pair[1].order), "{axes:?}");
            let perimeter: f64 = points(shape, 0.0, std::f64::consts::TAU)
                .windows(2)
                .map(|pair| length([pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]]))
                .sum();
            assert!((samples.len() as f64 - perimeter).abs() < 0.05 * perimeter + 4.0, "{axes:?} {}", samples.len());
        }
    }
}
