//! Coarse to fine: polygons are first searched on an image of half the size, and the search on the full image starts from
//! the result.
//!
//! The coarse snake is an ordinary [`Snake`], which may hold a coarser one for the next level of the pyramid. It has the
//! same targets as the full image, with windows and territories that lie within those of the full image. Steps and node
//! spacings are in pixels of each level.

use super::image::LevelScale;
use super::polygon::{self, Bounds};
use super::search::Target;
use super::territory::Territory;
use super::{MEASURING, Node, Noise, Params, Snake, Status, Watch, parameters};
use crate::device::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::image::Image;
use crate::memory::{collected, push, reserved};
use crate::parallel::try_par_indexed;
use crate::progress::{Progress, Ticker, part};
use crate::pyramid;
use crate::slice_io::Input;
use std::sync::Arc;

/// The name of the stage that progress callbacks get while a coarse level runs.
const COARSE_STAGE: &str = "moving the polygons, reduced image";
/// The share of a step's progress that the coarse levels take.
pub(super) const SHARE: f64 = 0.25;
/// The first distance d after a search on a coarse level. One pixel of that level is two pixels here, so this covers its
/// error with a margin.
const FINE_STEP: i32 = 4;
/// The number of pixels in a cell, which becomes one pixel of the reduced image.
const CELL: f64 = 4.0;
/// The least area, in pixels of its level, of a target that is searched on a coarse level.
const LEAST_AREA: i128 = 4;
/// The least distances between nodes that are tried, one after the other, until the reduced start does not cross itself.
const THINNING: [i32; 4] = [1, 2, 4, 8];

/// Refuses a pyramid of an image in device memory.
pub(super) fn check(params: &Params, input: &Image<'_>) -> Result<()> {
    match input {
        Image::Device(_) if params.pyramid_levels > 1 => Err(Error::unsupported(format!(
            "cannot reduce an image in CUDA memory: the pyramid of a region snake is made in host memory (got \
             pyramid_levels {}); give the image in host memory, or set pyramid_levels to 1",
            params.pyramid_levels
        ))),
        _ => Ok(()),
    }
}

/// Returns the snake of the next coarser level; `None` where there is none.
pub(super) fn start(
    context: &Context,
    input: &Image<'_>,
    params: &Params,
    level_scale: &LevelScale,
    targets: &[Target],
    watch: &mut Watch<'_, '_, '_>,
) -> Result<Option<Box<Snake>>> {
    let [width, height, _] = input.shape();
    let halved = pyramid::axes_to_halve([width, height, 1], &[1.0, 1.0]);
    if params.pyramid_levels <= 1 || halved != [true, true, false] {
        return Ok(None);
    }
    let binary = params.noise == Noise::Bernoulli;
    let (image, highest) = watch.run(context, |ticker| {
        let image = pyramid::means(input, halved, binary, ticker)?;
        let extremes = Image::from(image.view()).extremes_while(ticker)?;
        Ok((image, extremes.map_or(0.0, |[_, highest]| highest)))
    })?;
    let [low, high] = level_scale.range();
    let range = match params.noise {
        Noise::Bernoulli => [0.0, 1.0],
        _ if highest - low <= (high - low) / CELL => [low, low + (high - low) / CELL],
        _ => [low, high],
    };
    let params = reduced_params(params, level_scale, range);
    let targets = reduced_targets(context, targets, &Bounds::of_image([width, height]), &params, watch)?;
    let level_scale = LevelScale::new(context, &mut Input::from(image.view()), &params, watch.progress)?;
    let snake = Snake::on_level(context, image.view().into(), &params, level_scale, targets, watch)?;
    Ok(Some(Box::new(snake)))
}

/// Returns the parameters of the next coarser level, whose pixels are in `range`.
///
/// The likelihood of a cell must weigh as much as that of its four pixels, compared with the cost of nodes. That is so if
/// the noise model describes the sum of the four pixels. For Poisson noise, whose variance depends on the level, the levels
/// are therefore those of the sum if they fit; otherwise nodes cost less. Nodes also cost less in Rayleigh noise, which has
/// no number of looks that could be multiplied by four.
fn reduced_params(params: &Params, level_scale: &LevelScale, range: [f64; 2]) -> Params {
    let is_sum = range != level_scale.range();
    let weight = match params.noise {
        Noise::Poisson if !is_sum => 1.0 / CELL,
        Noise::Rayleigh => 1.0 / CELL,
        _ => 1.0,
    };
    let noise = match params.noise {
        Noise::Gamma { looks } => Noise::Gamma { looks: (CELL * looks).min(parameters::LOOKS.maximum) },
        // The mean of binary pixels is a share between 0 and 1.
        Noise::Bernoulli => Noise::Gaussian,
        noise => noise,
    };
    Params {
        noise,
        range: Some(range),
        node_cost: params.node_cost * weight,
        pyramid_levels: params.pyramid_levels.saturating_sub(1),
        ..params.clone()
    }
}

/// Returns the targets on the image of half the size, unmeasured. Targets that are too small there are not searched on it.
fn reduced_targets(
    context: &Context,
    targets: &[Target],
    image: &Bounds,
    params: &Params,
    watch: &mut Watch<'_, '_, '_>,
) -> Result<Vec<Target>> {
    watch.run(context, |ticker| {
        try_par_indexed(targets.len(), |index| {
            ticker.check()?;
            reduced_target(&targets[index], image, params)
        })
    })
}

fn reduced_target(target: &Target, image: &Bounds, params: &Params) -> Result<Target> {
    let half = |value: i32| (value + 1) / 2;
    // If the number of pixels is odd, the last one is a cell by itself.
    let end = |value: i32, last: i32| if value == last { half(value) } else { value / 2 };
    let Bounds { x0, y0, x1, y1 } = target.bounds;
    let bounds = Bounds { x0: half(x0), y0: half(y0), x1: end(x1, image.x1), y1: end(y1, image.y1) };
    let not_searched = || Ok(Target::start_outside(collected(target.nodes.iter().copied())?, bounds));
    if target.status != Status::Running {
        return not_searched();
    }
    for least in THINNING {
        let mut nodes: Vec<Node> = reserved(target.nodes.len())?;
        for node in target.nodes.iter().map(|node| Node::new(half(node.x), half(node.y))) {
            let is_far = |other: &Node| (node.x - other.x).abs().max((node.y - other.y).abs()) >= least;
            if nodes.last().is_none_or(is_far) && nodes.first().is_none_or(is_far) {
                nodes.push(node);
            }
        }
        let Some(nodes) = valid(&nodes, &bounds)? else { continue };
        if polygon::twice_area(&nodes).abs() < 2 * LEAST_AREA {
            break;
        }
        let spacing_squared = params.spacing_squared(&nodes);
        let distance = params.largest_step.map_or((target.distance / 2).max(1), |step| step as i32);
        let mut reduced = Target::unmeasured(nodes, bounds, distance, spacing_squared);
        if let Some(territory) = &target.territory {
            reduced.territory = Some(Arc::new(reduced_territory(territory, &bounds, image)?));
        }
        return Ok(reduced);
    }
    not_searched()
}

/// Returns a polygon in the form that the search needs; `None` if it crosses itself or has no area.
fn valid(nodes: &[Node], bounds: &Bounds) -> Result<Option<Vec<Node>>> {
    match polygon::normalise(nodes, bounds, 0) {
        Err(error) if error.kind() == ErrorKind::InvalidArgument => Ok(None),
        found => found,
    }
}

/// Returns the cells all of whose pixels belong to a territory.
fn reduced_territory(territory: &Territory, bounds: &Bounds, image: &Bounds) -> Result<Territory> {
    let mut reduced =
        Territory { y0: bounds.y0, first: reserved((bounds.y1 - bounds.y0) as usize + 1)?, runs: Vec::new() };
    reduced.first.push(0);
    for y in bounds.y0..bounds.y1 {
        let rows = [2 * y, (2 * y + 1).min(image.y1 - 1)].map(|y| territory.row(y.into()));
        let [mut above, mut below] = rows.map(|runs| runs.iter().peekable());
        while let (Some([a, b]), Some([c, d])) = (above.peek(), below.peek()) {
            let (from, to) = (*a.max(c), *b.min(d));
            let cells = [(from + 1) / 2, if to == image.x1 { (to + 1) / 2 } else { to / 2 }];
            let cells = [cells[0].max(bounds.x0), cells[1].min(bounds.x1)];
            if cells[0] < cells[1] {
                push(&mut reduced.runs, cells)?;
            }
            // The run that ends first cannot overlap the next run of the other row.
            if b <= d {
                above.next()
            } else {
                below.next()
            };
        }
        reduced.first.push(reduced.runs.len() as u32);
    }
    Ok(reduced)
}

/// Returns an unmeasured target that starts from the result of the coarse level or, if there is none, from its own start.
fn enlarged_target(own: &Target, coarse: &Target, image: &Bounds) -> Result<Target> {
    if own.status != Status::Running {
        return own.try_clone();
    }
    let mut found = None;
    if matches!(coarse.status, Status::Converged | Status::IterationLimit) {
        let enlarged = coarse.nodes.iter().map(|n| Node::new((2 * n.x).min(image.x1), (2 * n.y).min(image.y1)));
        found = valid(&collected(enlarged)?, &own.bounds)?;
    }
    let (nodes, distance) = match found {
        Some(nodes) => (nodes, own.distance.min(FINE_STEP)),
        None => (collected(own.nodes.iter().copied())?, own.distance),
    };
    let mut target = Target::unmeasured(nodes, own.bounds, distance, own.spacing_squared);
    target.territory = own.territory.clone();
    Ok(target)
}

impl Snake {
    /// Sets the parameters before the search starts again.
    pub(super) fn set_params(&mut self, params: &Params) {
        (self.params, self.is_at_start) = (params.clone(), true);
        if let Some(coarse) = &mut self.coarse {
            let range = coarse.params.range.unwrap_or_default();
            coarse.set_params(&reduced_params(params, &self.level_scale, range));
        }
    }

    /// Searches the targets on the coarser levels, and starts them from the result. A cancelled call changes nothing, and
    /// the next one begins anew.
    pub(super) fn start_from_coarse(&mut self, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        let Self { context, coarse, targets, backend, params, .. } = self;
        let Some(coarse) = coarse else { return Ok(()) };
        let image = Bounds::of_image(backend.size());
        part(progress, [0.0, SHARE], COARSE_STAGE, |progress| {
            let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress };
            let mut reduced = reduced_targets(context, targets, &image, &coarse.params, &mut watch)?;
            coarse.backend.measure(context, &coarse.params, &mut reduced, &mut watch)?;
            coarse.targets = reduced;
            coarse.is_at_start = true;
            coarse.advance(u64::MAX, progress)
        })?;
        let enlarged = |index: usize| enlarged_target(&targets[index], &coarse.targets[index], &image);
        let mut enlarged = context.pool().install(|| try_par_indexed(targets.len(), enlarged))?;
        part(progress, [SHARE, SHARE], COARSE_STAGE, |progress| {
            let mut watch = Watch { ticker: &Ticker::following(MEASURING), progress };
            backend.measure(context, params, &mut enlarged, &mut watch)
        })?;
        self.targets = enlarged;
        log::info!(
            "region snakes: at most {} iterations on a reduced image of {:?} pixels",
            coarse.targets.iter().map(|target| target.iterations).max().unwrap_or(0),
            coarse.backend.size()
        );
        Ok(())
    }
}
