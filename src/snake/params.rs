//! The parameters of region snakes, as a caller gives them. Their table is in `parameters.rs`.

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
    /// All even nodes at once, then all odd ones (Algorithm 3 of Perrot et al. 2011).
    Parallel,
    /// Node after node, each moved at once (Algorithm 2 there).
    Sequential,
}

/// The pixels that a target is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Background {
    /// All of the image outside this target. For one target.
    Image,
    /// A window around the start: its bounding box, widened on each side by `margin` times its longer side (16 pixels
    /// at least) and clipped to the image. Nodes stay in it. For many targets: neighbours outside the window do not
    /// matter.
    Window {
        /// Greater than 0. Default 0.5.
        margin: f64,
    },
}

/// The pixels that several targets may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// Targets are independent: each is searched as if it were alone, and several may have the same pixels.
    Allowed,
    /// Targets compete, and a pixel belongs to one at most. Before the search each pixel is given to the target whose
    /// start is nearest (Euclidean between centres; at the same distance the first one): that is the target's
    /// *territory*. The pixels of a target are those of its polygon in its territory, and no node moves out of it.
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
    /// The distance d of the candidate positions at the start, in pixels: a power of two, 1 to 4096. A larger one comes over
    /// a larger distance past noise, a smaller one keeps to what is near: around a small target nodes that move far leave
    /// spikes, so that its perimeter is too long. `None` (default): for each target by itself the power of two that is at
    /// most 18 % of the root of its initial polygon's area, from 1 to 32; 32 for the default rectangle, which may be far
    /// from the object.
    pub largest_step: Option<u32>,
    /// Edges longer than this get another node, in pixels, at least 2. Smaller follows finer detail, and noise. `None`
    /// (default): for each target by itself two fifths of the root of its initial polygon's area, from 6 to 16; 16 for
    /// the default rectangle of images from 80 x 80 pixels on.
    pub node_spacing: Option<f64>,
    /// The most nodes of a target, 3 to 65536. Default 1024.
    pub max_nodes: u32,
    /// The most iterations of a target, at least 1. Default 10000.
    pub max_iterations: u64,
    /// The cost of a node, in logarithms of the number of pixels it is placed among (description length), 0 to 1e6: 1
    /// is what it takes to write the node down. At the end nodes are taken out where that pays, so that noise buys
    /// none. Default 0.5; with 0, which is faster, none is taken out.
    pub node_cost: f64,
    /// f32 images only: the pixel values of level 0 and of level 65535; pixels beyond count as those, in the statistics, too.
    /// `None` (default): the smallest finite pixel, for Poisson, Gamma and Rayleigh noise 0, and the largest, without single hot
    /// or dead ones, see [`edge_drawing::Params::range`](crate::edge_drawing::Params::range). For these models level 0 should
    /// be 0: their costs are of the levels.
    pub range: Option<[f64; 2]>,
    /// The levels of the pyramid, 1 to 4. Default 1: polygons are searched on the image alone. Otherwise each is first
    /// searched on the image reduced `pyramid_levels` − 1 times to half its size, then on the next larger one, and so on, with
    /// `largest_step` and `node_spacing` in pixels of each level (an automatic `largest_step` is halved with it). A target whose start has an area of fewer than 4 pixels on
    /// a level, or that vanishes on it, is not searched there. The image must be in host memory.
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

    /// Returns the distance d at the start of a target.
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

/// The automatic largest step as a share of the root of a start's area, and the largest of these steps in pixels. On discs of
/// 5 to 40 pixels in noise perimeters grow with twice this step and more; polygons that start from a rectangle round shapes
/// of 130 pixels at low contrast need 32 pixels to come over the noise.
const STEP_OF_SIZE: f64 = 0.18;
const LARGEST_AUTOMATIC_STEP: i32 = 32;

/// Returns the automatic [`Params::largest_step`] of a target that starts from a polygon.
fn automatic_step(start: &[Node]) -> i32 {
    let most = (root_of_area(start) * STEP_OF_SIZE).clamp(1.0, LARGEST_AUTOMATIC_STEP.into());
    1 << (most as u32).ilog2()
}

/// Returns the root of the area of a polygon.
fn root_of_area(nodes: &[Node]) -> f64 {
    (polygon::twice_area(nodes).abs() as f64 / 2.0).sqrt()
}

/// The automatic node spacing as a share of the root of a target's area, and its bounds in pixels. On discs of 10 to 40
/// pixels in noise these overlap most with the truth and have the best perimeters; below 6 pixels edges follow single
/// pixels, and above 16 finer ones gain nothing.
const SPACING_OF_SIZE: f64 = 2.0 / 5.0;
const AUTOMATIC_SPACINGS: [f64; 2] = [6.0, 16.0];

/// Returns the automatic [`Params::node_spacing`] of a target of the size of a polygon.
pub(super) fn automatic_spacing(nodes: &[Node]) -> f64 {
    (root_of_area(nodes) * SPACING_OF_SIZE).clamp(AUTOMATIC_SPACINGS[0], AUTOMATIC_SPACINGS[1])
}
