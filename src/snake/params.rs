//! The parameters of region snakes, as a caller gives them. Names, ranges, defaults and help texts are in `parameters.rs`.

use super::polygon::{self, Bounds, Node};
use super::search::Plan;
use super::{Noise, criterion, parameters};
use crate::error::Result;
use crate::image::PixelType;
use crate::parameter::check_scaling;

/// The order in which nodes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// All even nodes at the same time, then all odd ones (Algorithm 3 of Perrot et al. 2011).
    Parallel,
    /// Node after node; each moves before the next one is examined (Algorithm 2 of Perrot et al. 2011).
    Sequential,
}

/// The pixels that a target is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Background {
    /// The whole image outside this target. Suitable for a single target.
    Image,
    /// A window around the start: its bounding box, widened on each side by `margin` times its longer side (16 pixels at
    /// least) and clipped to the image. Nodes stay in it. Suitable for many targets, because neighbours outside the window
    /// do not matter.
    Window {
        /// Greater than 0. Default 0.5.
        margin: f64,
    },
}

/// The rule for pixels that several targets may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// Targets are independent: each is searched as if it were alone, and they may share pixels.
    Allowed,
    /// Targets compete, and a pixel belongs to one target at most. Before the search each pixel is assigned to the target
    /// with the nearest start (Euclidean distance between pixel centres; at equal distances, the first target). These
    /// pixels are the target's *territory*. The pixels of a target are those of its polygon within its territory, and no
    /// node leaves the territory.
    Excluded,
}

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Default: Gaussian.
    pub noise: Noise,
    /// Default: parallel.
    pub schedule: Schedule,
    /// Default: the image.
    pub background: Background,
    /// Default: allowed.
    pub overlap: Overlap,
    /// The first distance d of the candidate positions, in pixels: a power of two, 1 to 4096. With a larger one nodes find
    /// an object farther away, past noise. A smaller one stays near the start, which suits small targets: nodes that move
    /// far leave spikes there, which make the perimeter too long. `None` (default): for each target the largest power of
    /// two that is at most 18 % of the square root of its initial polygon's area, from 1 to 32; 32 for the default
    /// rectangle, which may be far from the object.
    pub largest_step: Option<u32>,
    /// Edges longer than this, in pixels, get another node; at least 2. A smaller value follows finer detail, and noise.
    /// `None` (default): for each target two fifths of the square root of its initial polygon's area, from 6 to 16; for the
    /// default rectangle of images from 80 x 80 pixels on this is 16.
    pub node_spacing: Option<f64>,
    /// The most nodes of a target, 3 to 65536. Default 1024.
    pub max_nodes: u32,
    /// The most iterations of a target, at least 1. Default 10000.
    pub max_iterations: u64,
    /// The cost of a node, 0 to 1e6, in units of the logarithm of the number of pixels among which it is placed: 1 is the
    /// description length of a node. At the end, nodes that cost more than they improve the criterion are removed, so that
    /// the polygon does not follow noise. Default 0.5; with 0 no node is removed, which is faster.
    pub node_cost: f64,
    /// f32 images only: the pixel values of level 0 and of level 65535; pixels beyond are clamped, in the statistics, too.
    /// `None` (default): from the smallest finite pixel (0 for Poisson, Gamma and Rayleigh noise) to the largest, except
    /// for isolated hot or dead pixels, see [`edge_drawing::Params::range`](crate::edge_drawing::Params::range). For these
    /// three noise models level 0 should be 0, because their costs are computed from the levels.
    pub range: Option<[f64; 2]>,
    /// The levels of the pyramid, 1 to 4. Default 1: polygons are searched on the full image only. Otherwise each polygon
    /// is first searched on the image that is reduced `pyramid_levels` − 1 times to half its size, then on the next larger
    /// one, and so on. `largest_step` and `node_spacing` are in pixels of each level (an automatic `largest_step` is halved
    /// from level to level). A target whose start has an area of fewer than 4 pixels on a level, or that vanishes on it,
    /// keeps its start for the next level. The image must be in host memory.
    pub pyramid_levels: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            noise: parameters::NOISE.default_of(&parameters::noises(parameters::LOOKS.default)),
            schedule: parameters::SCHEDULE.default_of(&parameters::SCHEDULES),
            background: parameters::BACKGROUND
                .default_of(&[Background::Image, Background::Window { margin: DEFAULT_MARGIN }]),
            overlap: parameters::OVERLAP.default_of(&parameters::OVERLAPS),
            largest_step: None,
            node_spacing: None,
            max_nodes: parameters::MAX_NODES.default as u32,
            max_iterations: parameters::MAX_ITERATIONS.default as u64,
            node_cost: parameters::NODE_COST.default,
            range: None,
            pyramid_levels: parameters::PYRAMID_LEVELS.default as u32,
        }
    }
}

/// The default of [`Background::Window`]'s margin.
pub const DEFAULT_MARGIN: f64 = parameters::MARGIN.default;

impl Params {
    pub(super) fn check(&self, pixel_type: PixelType) -> Result<()> {
        if let Noise::Gamma { looks } = self.noise {
            parameters::LOOKS.check(looks)?;
        }
        if let Background::Window { margin } = self.background {
            parameters::MARGIN.check(margin)?;
        }
        parameters::LARGEST_STEP.check_if_given(self.largest_step)?;
        parameters::NODE_SPACING.check_if_given(self.node_spacing)?;
        parameters::MAX_NODES.check(f64::from(self.max_nodes))?;
        parameters::MAX_ITERATIONS.check(self.max_iterations as f64)?;
        parameters::NODE_COST.check(self.node_cost)?;
        parameters::PYRAMID_LEVELS.check(f64::from(self.pyramid_levels))?;
        check_scaling(&parameters::RANGE_MIN, &parameters::RANGE_MAX, self.range, pixel_type)
    }

    /// Returns the first distance d of a target.
    pub(super) fn first_distance(&self, start: &[Node], is_default: bool) -> i32 {
        match self.largest_step {
            Some(step) => step as i32,
            None if is_default => LARGEST_AUTOMATIC_STEP,
            None => automatic_step(start),
        }
    }

    /// Returns the square of the length above which an edge of a target that starts from `nodes` gets another node.
    pub(super) fn spacing_squared(&self, nodes: &[Node]) -> i64 {
        let spacing = self.node_spacing.unwrap_or_else(|| automatic_spacing(nodes));
        (spacing * spacing).min(1e18) as i64
    }

    /// Returns the plan of the search of a target within `bounds`.
    pub(super) fn plan(&self, bounds: &Bounds) -> Plan {
        let pixels = f64::from(bounds.x1 - bounds.x0) * f64::from(bounds.y1 - bounds.y0);
        Plan {
            noise: self.noise,
            schedule: self.schedule,
            max_nodes: self.max_nodes as usize,
            max_iterations: self.max_iterations,
            node_cost: self.node_cost * criterion::ln(pixels.max(1.0)),
            parallel: false,
        }
    }
}

/// The automatic largest step as a share of the square root of the start's area, and its upper bound in pixels. For discs
/// of 5 to 40 pixels in noise, twice this step and more makes perimeters longer. Polygons that start from a rectangle
/// around shapes of 130 pixels at low contrast need a step of 32 pixels to move past the noise.
const STEP_OF_SIZE: f64 = 0.18;
const LARGEST_AUTOMATIC_STEP: i32 = 32;

/// Returns the automatic [`Params::largest_step`] of a target that starts from a polygon.
fn automatic_step(start: &[Node]) -> i32 {
    let most = (root_of_area(start) * STEP_OF_SIZE).clamp(1.0, LARGEST_AUTOMATIC_STEP.into());
    1 << (most as u32).ilog2()
}

/// Returns the square root of the area of a polygon.
fn root_of_area(nodes: &[Node]) -> f64 {
    (polygon::twice_area(nodes).abs() as f64 / 2.0).sqrt()
}

/// The automatic node spacing as a share of the square root of a target's area, and its bounds in pixels. For discs of 10
/// to 40 pixels in noise these values give the best overlap with the true shape and the best perimeters. Edges below 6
/// pixels follow single pixels; for large targets, a spacing finer than 16 gains nothing.
const SPACING_OF_SIZE: f64 = 2.0 / 5.0;
const AUTOMATIC_SPACINGS: [f64; 2] = [6.0, 16.0];

/// Returns the automatic [`Params::node_spacing`] of a target of the size of a polygon.
pub(super) fn automatic_spacing(nodes: &[Node]) -> f64 {
    (root_of_area(nodes) * SPACING_OF_SIZE).clamp(AUTOMATIC_SPACINGS[0], AUTOMATIC_SPACINGS[1])
}
