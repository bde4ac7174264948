//! The least-squares line through some points, by their distances across the line.

use super::super::segments::Point;

/// The number of points, and the exact sums of their coordinates and of the products of these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub count: u64,
    x: i64,
    y: i64,
    xx: i128,
    xy: i128,
    yy: i128,
}

impl Sums {
    pub fn of(point: Point) -> Self {
        let [x, y] = [i64::from(point.x), i64::from(point.y)];
        let product = |a: i64, b: i64| i128::from(a) * i128::from(b);
        Self { count: 1, x, y, xx: product(x, x), xy: product(x, y), yy: product(y, y) }
    }

    pub fn add(&mut self, point: Point) {
        *self = [*self, Self::of(point)].into_iter().sum();
    }

    pub fn remove(&mut self, point: Point) {
        let one = Self::of(point);
        self.count -= 1;
        self.x -= one.x;
        self.y -= one.y;
        self.xx -= one.xx;
        self.xy -= one.xy;
        self.yy -= one.yy;
    }

    /// Returns the line with the least sum of squared distances. The sign of its direction is arbitrary.
    pub fn fit(&self) -> Fit {
        // The sums about the mean. Multiplied by the number of points they are integers, so they are rounded only once.
        let count = self.count as f64;
        let about = |product: i128, [a, b]: [i64; 2]| {
            (i128::from(self.count) * product - i128::from(a) * i128::from(b)) as f64 / count
        };
        let (xx, xy, yy) = (about(self.xx, [self.x; 2]), about(self.xy, [self.x, self.y]), about(self.yy, [self.y; 2]));
        // The eigenvector of the larger eigenvalue of the matrix (xx xy, xy yy).
        let root = ((xx - yy) * (xx - yy) + 4.0 * xy * xy).sqrt();
        let largest = (xx + yy + root) / 2.0;
        let along = if xx >= yy { [largest - yy, xy] } else { [xy, largest - xx] };
        let length = (along[0] * along[0] + along[1] * along[1]).sqrt();
        let smallest = if largest > 0.0 { ((xx * yy - xy * xy) / largest).max(0.0) } else { 0.0 };
        let [x, y] = [self.x, self.y].map(|sum| sum as f64 / count);
        Fit {
            centre: [x, y],
            direction: if length > 0.0 { [along[0] / length, along[1] / length] } else { [1.0, 0.0] },
            rms: (smallest / count).sqrt(),
        }
    }
}

impl std::iter::Sum for Sums {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            count: a.count + b.count,
            x: a.x + b.x,
            y: a.y + b.y,
            xx: a.xx + b.xx,
            xy: a.xy + b.xy,
            yy: a.yy + b.yy,
        })
    }
}

/// A line that was fitted to points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// The mean of the points.
    pub centre: [f64; 2],
    /// It has length 1.
    pub direction: [f64; 2],
    /// The root mean square distance of the points.
    pub rms: f64,
}

impl Fit {
    pub fn distance_of(&self, [x, y]: [f64; 2]) -> f64 {
        let [dx, dy] = [x - self.centre[0], y - self.centre[1]];
        (self.direction[0] * dy - self.direction[1] * dx).abs()
    }

    pub fn distance(&self, point: Point) -> f64 {
        self.distance_of([f64::from(point.x), f64::from(point.y)])
    }

    /// Tells whether `next` continues the line in the direction from `first` to `last`, and does not run back along the
    /// other side of a thin structure. Half a pixel backwards is allowed, because a step across the line may go back that
    /// far.
    pub fn goes_on(&self, [first, last, next]: [Point; 3]) -> bool {
        let along = |from: Point, to: Point| {
            let [dx, dy] = [f64::from(to.x) - f64::from(from.x), f64::from(to.y) - f64::from(from.y)];
            self.direction[0] * dx + self.direction[1] * dy
        };
        along(last, next) * along(first, last).signum() >= -0.5
    }

    /// Returns the point of the line that is nearest to a point.
    pub fn nearest(&self, point: Point) -> [f64; 2] {
        let [dx, dy] = [f64::from(point.x) - self.centre[0], f64::from(point.y) - self.centre[1]];
        let along = self.direction[0] * dx + self.direction[1] * dy;
        [self.centre[0] + along * self.direction[0], self.centre[1] + along * self.direction[1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_is_exact_far_from_the_origin_and_in_every_direction() {
        // Points of a line through whole positions have no distance from it, wherever they are.
        for [dx, dy] in [[1i64, 0], [0, 1], [1, 1], [3, -1], [-2, 5], [7, 3]] {
            for origin in [100i64, 4_000_000_000] {
                let on_line = |i: i64| Point { x: (origin + dx * i) as u32, y: (origin + dy * i) as u32 };
                let sums: Sums = (0..12).map(|i| Sums::of(on_line(i))).sum();
                let fit = sums.fit();
                assert!(fit.rms < 1e-6, "{fit:?}");
                let length = (dx as f64).hypot(dy as f64);
                let along = (fit.direction[0] * dx as f64 + fit.direction[1] * dy as f64) / length;
                assert!((along.abs() - 1.0).abs() < 1e-12, "{fit:?}");
                let [x, y] = fit.nearest(on_line(11));
                assert!((x - (origin + 11 * dx) as f64).hypot(y - (origin + 11 * dy) as f64) < 1e-5, "{x} {y}");
            }
        }
        // Two rows at a distance of 2: each point is 1 away from the line between them.
        let two_rows: Sums =
            (0..20).flat_map(|x| [[x, 4], [x, 6]]).map(|at| Sums::of(Point { x: at[0], y: at[1] })).sum();
        let fit = two_rows.fit();
        assert_eq!((fit.centre, fit.rms), ([9.5, 5.0], 1.0));
        // Adding and removing gives the same bits as never adding.
        let mut more = two_rows;
        more.add(Point { x: 7, y: 90 });
        more.remove(Point { x: 7, y: 90 });
        assert_eq!((more.fit().centre, more.fit().rms), (fit.centre, fit.rms));
    }
}
