//! Targets on several slices, or on slices that a function reads. The slices that have targets are searched one after the
//! other, in ascending order. The image of a slice is freed before the next one is read; only the targets are kept.

use super::backend::Backend;
use super::image::LevelScale;
use super::polygon::{Bounds, normalise};
use super::search::Target;
use super::{Background, MEASURING, MOVING, Node, Overlap, Params, Polygons, Snake, Watch, check, territory};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::Image;
use crate::memory::{collected, push, sort_while};
use crate::parallel::try_par_indexed;
use crate::progress::{self, Progress, Ticker};
use crate::report::{Parts, Report};
use crate::slice_io::Input;
use std::sync::OnceLock;
use std::time::Instant;

/// Returns unmeasured targets without territories, and their slices: one target for each initial polygon, or for the
/// default polygon on each slice.
pub(super) fn initial_targets(
    context: &Context,
    params: &Params,
    initial: Option<&Polygons>,
    [width, height, depth]: [usize; 3],
    watch: &mut Watch<'_, '_, '_>,
) -> Result<(Vec<Target>, Vec<u32>)> {
    let image = Bounds::of_image([width, height]);
    let default;
    let polygons = match initial {
        Some(polygons) => polygons,
        None => {
            let corners = image.default_rectangle();
            let mut on_each_slice = Polygons::try_with_capacity(depth, corners.len() * depth)?;
            (0..depth as u32).for_each(|slice| on_each_slice.push_on(slice, &corners));
            default = on_each_slice;
            &default
        }
    };
    let slices = polygons.slices();
    if let Some(index) = slices.iter().position(|slice| *slice as usize >= depth) {
        return Err(Error::argument(format!(
            "cannot start polygon {index} on its slice: slices are counted from 0, and the image has {depth} (got slice \
             {}); give it one of the image's",
            slices[index]
        )));
    }
    for (index, polygon) in polygons.iter().enumerate() {
        if polygon.len() > params.max_nodes as usize {
            return Err(Error::argument(format!(
                "polygon {index} has {} nodes, but max_nodes is {}; raise it or leave out nodes",
                polygon.len(),
                params.max_nodes
            )));
        }
    }
    let start = |index: usize, ticker: &Ticker| {
        ticker.check()?;
        let polygon = polygons.get(index).unwrap_or_default();
        Ok(match normalise(polygon, &image, index)? {
            Some(nodes) => {
                let bounds = bounds_of(&nodes, params, &image);
                let spacing_squared = params.spacing_squared(&nodes);
                let distance = params.first_distance(&nodes, initial.is_none());
                Target::unmeasured(nodes, bounds, distance, spacing_squared)
            }
            None => Target::start_outside(collected(polygon.iter().copied())?, image),
        })
    };
    let targets = watch.run(context, |ticker| try_par_indexed(polygons.len(), |index| start(index, ticker)))?;
    Ok((targets, collected(slices.iter().copied())?))
}

/// Returns the bounds of a target's nodes: the window, or the image.
fn bounds_of(nodes: &[Node], params: &Params, image: &Bounds) -> Bounds {
    let Background::Window { margin } = params.background else { return *image };
    let Bounds { x0, y0, x1, y1 } = Bounds::of_nodes(nodes);
    let longer = f64::from((x1 - x0).max(y1 - y0));
    let margin = (margin * longer).ceil().clamp(16.0, f64::from(i32::MAX / 4)) as i32;
    Bounds {
        x0: (x0 - margin).max(image.x0),
        y0: (y0 - margin).max(image.y0),
        x1: (x1 + margin).min(image.x1),
        y1: (y1 + margin).min(image.y1),
    }
}

/// Returns the targets of one slice, with their territories if they compete.
pub(super) fn divided(
    context: &Context,
    params: &Params,
    mut targets: Vec<Target>,
    watch: &mut Watch<'_, '_, '_>,
) -> Result<Vec<Target>> {
    match params.overlap {
        Overlap::Allowed => Ok(targets),
        Overlap::Excluded => watch.run(context, |ticker| {
            territory::divide(&mut targets, ticker)?;
            Ok(targets)
        }),
    }
}

/// Returns the indices of all targets, sorted by slice.
pub(super) fn by_slice(slices: &[u32], ticker: &Ticker) -> Result<Vec<usize>> {
    let mut order = collected(0..slices.len())?;
    sort_while(&mut order, ticker, |a, b| (slices[*a], a).cmp(&(slices[*b], b)))?;
    Ok(order)
}

/// Divides the result of [`by_slice`] into one group of indices for each slice.
pub(super) fn groups<'a>(order: &'a [usize], slices: &'a [u32]) -> impl Iterator<Item = &'a [usize]> {
    order.chunk_by(|a, b| slices[*a] == slices[*b])
}

impl Snake {
    /// Starts, and searches until every target has ended: does what [`run`](super::run) does, but returns the snake. For
    /// one slice in memory the snake keeps the image, as after [`new`](Self::new). Otherwise it keeps only the targets:
    /// results can be read, but it cannot be restarted or compute sums.
    ///
    /// # Errors
    /// Those of [`run`](super::run).
    pub fn run(
        context: &Context,
        input: Input<'_>,
        initial: Option<&Polygons>,
        params: &Params,
        mut progress: Option<&mut Progress<'_>>,
    ) -> Result<(Self, Report)> {
        let started = Instant::now();
        let (snake, mut report) = match input {
            Input::Image(image) if image.shape()[2] == 1 => {
                let mut snake = Self::start(context, image, initial, params, &mut progress)?;
                let report = snake.step(u64::MAX, progress)?;
                (snake, report)
            }
            input => Self::run_by_slice(context, input, initial, params, &mut progress)?,
        };
        report.seconds_total = started.elapsed().as_secs_f64();
        Ok((snake, report))
    }

    fn run_by_slice(
        context: &Context,
        mut input: Input<'_>,
        initial: Option<&Polygons>,
        params: &Params,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<(Self, Report)> {
        let started = Instant::now();
        let shape @ [width, height, depth] = input.shape();
        check(params, &input)?;
        let _lock = context.lock()?;
        let mut watch = Watch { ticker: &Ticker::new(MEASURING), progress };
        let (mut targets, slices) = initial_targets(context, params, initial, shape, &mut watch)?;
        let level_scale = LevelScale::new(context, &mut input, params, progress)?;
        let mut report = search(context, input, (params, level_scale), (&mut targets, &slices), progress)?;
        let snake = Self {
            context: context.clone(),
            level_scale,
            backend: Backend::Released([width, height]),
            params: params.clone(),
            targets,
            slices,
            depth,
            coarse: None,
            most_levels: params.pyramid_levels,
            is_at_start: false,
            overlapping: OnceLock::new(),
        };
        snake.complete(&mut report, started);
        Ok((snake, report))
    }
}

/// Searches targets, slice after slice, until all have ended. Every target keeps its index.
fn search(
    context: &Context,
    input: Input<'_>,
    (params, level_scale): (&Params, LevelScale),
    (targets, slices): (&mut [Target], &[u32]),
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<Report> {
    let ticker = Ticker::new(MEASURING);
    let order = by_slice(slices, &ticker)?;
    let mut with_targets = Vec::new();
    groups(&order, slices).try_for_each(|group| push(&mut with_targets, slices[group[0]] as usize))?;
    let (mut waiting, mut done, count) = (groups(&order, slices), 0, targets.len() as f64);
    let mut report: Option<Report> = None;
    let mut search = |image: Image<'_>| {
        let group = waiting.next().unwrap_or_default();
        let own = group.iter().map(|index| std::mem::replace(&mut targets[*index], Target::none()));
        let own = collected(own)?;
        let share = [done, done + group.len()].map(|targets| targets as f64 / count);
        let (found, of_slice) = progress::part(progress, share, MOVING, |progress| {
            let mut watch = Watch { ticker: &Ticker::following(MOVING), progress };
            let own = divided(context, params, own, &mut watch)?;
            let mut snake = Snake::on_level(context, image, params, level_scale, own, &mut watch)?;
            let report = snake.advance(u64::MAX, progress)?;
            Ok((snake.targets, report))
        })?;
        for (index, mut target) in group.iter().zip(found) {
            target.end_search();
            targets[*index] = target;
        }
        done += group.len();
        report = Some(match report.take() {
            None => of_slice,
            Some(before) => Report::joined(vec![(0, before), (0, of_slice)], Parts::InTurn)?,
        });
        Ok(())
    };
    match input {
        Input::Image(image) => {
            with_targets.into_iter().try_for_each(|slice| search(image.slices(&(slice..slice + 1))))?
        }
        Input::Source(mut source) => {
            context.each_slice(&mut source, with_targets, &ticker, |_, image| search(image.reborrow()))?;
        }
    }
    Ok(report.unwrap_or_else(|| Report::new(context.device())))
}
