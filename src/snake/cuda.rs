//! The CUDA backend: the levels, the prefix sums and the whole search are on the device; only polygons and states are
//! downloaded. Kernels are launched in [`launch`].

mod launch;

use super::search::Target;
use super::sums::{PrefixSum, RegionSum};
use super::{Bounds, MOVING, Node, Noise, Params, Schedule, Watch};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, DeviceRows, DeviceSlices, Side, Stream, Upload, check_device_pixels};
use crate::device::kernels::snake::{RegionSum as DeviceSum, SECTOR_BYTES};
use crate::error::{Error, Result};
use crate::image::{Image, PixelType};
use crate::levels::QuantiseF64;
use crate::memory::{collected, push, reserved, zeroed};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use launch::{CONTROL_OFFSET, DeviceTarget, Kernels, LevelImage, Pixels, SearchJob};
use std::sync::Arc;
use std::time::Instant;

/// The time that a launch should take, in seconds: the host polls for cancellation between two.
const LAUNCH_SECONDS: f64 = 0.03;

/// The number of iterations of the first launch if no target has more than `FIRST_NODES` nodes. The time of an iteration
/// grows with the square of the number of nodes.
const FIRST_ITERATIONS: u64 = 16;
const FIRST_NODES: usize = 2048;

/// The number of targets that are measured between two polls for cancellation.
const MEASURED_AT_ONCE: usize = 16384;

/// The total number of nodes of polygons that are summed together, each of which has memory for as many nodes as the
/// longest: with the sums of their edges, 0.5 GiB.
const SUMMED_NODES: usize = 1 << 24;

/// Returns the number of bytes of a level: 1 for 8-bit and binary images, else 2.
fn level_bytes(input: &Image<'_>, params: &Params) -> usize {
    if params.noise == Noise::Bernoulli || input.pixel_type() == PixelType::U8 { 1 } else { 2 }
}

/// Returns the number of prefix sums of a row. The last one is for the sector that begins at or after the row's end.
fn sectors(width: usize, level_bytes: usize) -> usize {
    width / (SECTOR_BYTES / level_bytes) + 1
}

/// Returns the device memory of the levels and of the prefix sums of an image, in bytes.
fn image_bytes([width, height]: [usize; 2], level_bytes: usize) -> [usize; 2] {
    let pitch = (width * level_bytes).next_multiple_of(SECTOR_BYTES);
    [pitch * height, sectors(width, level_bytes) * height * size_of::<PrefixSum>()]
}

/// Refuses the sequential schedule, in which a node must move before the sums of the next one can be computed.
pub(super) fn check_schedule(params: &Params) -> Result<()> {
    if params.schedule == Schedule::Sequential {
        return Err(Error::unsupported(
            "the sequential schedule runs on the CPU only; use the device cpu or the parallel schedule",
        ));
    }
    Ok(())
}

/// Returns the least device memory that a call needs: the image with its prefix sums, the targets, and the workspace of one
/// target. If there is more memory, there is a workspace for each target that the device searches at the same time.
pub(super) fn min_device_bytes(params: &Params, input: &Image<'_>, targets: &[Target]) -> u64 {
    let [width, height, _] = input.shape();
    let level = level_bytes(input, params);
    let direct = matches!(input, Image::U8(_) | Image::U16(_)) && params.noise != Noise::Bernoulli;
    let raw = if direct || matches!(input, Image::Device(_)) { 0 } else { width * height * input.pixel_type().bytes() };
    let [rows, runs] = territory_sizes(targets);
    let territories = rows * size_of::<u32>() + runs * size_of::<[i32; 2]>();
    let nodes = targets.len().max(1) * params.max_nodes as usize * (size_of::<Node>() + size_of::<DeviceSum>());
    let workspace = launch::workspace_bytes_of_one(params.max_nodes as usize);
    (image_bytes([width, height], level).iter().sum::<usize>() + raw + nodes + territories + workspace) as u64
}

/// An image on the device, with the kernels and buffers of a search.
pub(super) struct Solver {
    cuda: Arc<Cuda>,
    stream: Stream,
    kernels: Kernels,
    image: LevelImage,
    /// The buffers that `image` points to.
    _levels: Buffer,
    _prefix_sums: Buffer,
    pub(super) search: Option<Search>,
    seconds_upload: f64,
    seconds_prefix_sums: f64,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("image", &self.image).finish_non_exhaustive()
    }
}

/// The targets on the device.
pub(super) struct Search {
    targets: Buffer,
    nodes: Buffer,
    _edges: Buffer,
    _workspace: Buffer,
    /// The index of the next target in the queue, then the control struct of each group.
    control: Buffer,
    /// The first run of each row of each territory, and all runs; `None` if no targets compete.
    _territories: Option<[Buffer; 2]>,
    job: SearchJob,
}

impl Search {
    /// Returns the job of `count` targets, from the target `first` on.
    fn job_of(&self, first: usize, count: usize) -> SearchJob {
        let nodes = (first * self.job.capacity as usize) as u64;
        SearchJob {
            targets: self.job.targets + (first * size_of::<DeviceTarget>()) as u64,
            nodes: self.job.nodes + nodes * size_of::<Node>() as u64,
            edges: self.job.edges + nodes * size_of::<DeviceSum>() as u64,
            target_count: count as u32,
            ..self.job
        }
    }
}

impl Solver {
    /// Copies the image to the device and computes its prefix sums. `quantise` is for f32 images.
    pub(super) fn new(
        context: &Context,
        cuda: &Arc<Cuda>,
        input: &Image<'_>,
        params: &Params,
        quantise: Option<QuantiseF64>,
    ) -> Result<Self> {
        cuda.bind()?;
        let started = Instant::now();
        let pool = context.pool();
        let [width, height, _] = input.shape();
        let level_bytes = level_bytes(input, params);
        let [levels_bytes, prefix_sums_bytes] = image_bytes([width, height], level_bytes);
        // 1. Allocate levels and prefix sums.
        let levels = cuda.memory().device(levels_bytes)?;
        let prefix_sums = cuda.memory().device(prefix_sums_bytes)?;
        let stream = cuda.stream()?;
        let kernels = Kernels::new(cuda, level_bytes)?;
        let pitch = (width * level_bytes).next_multiple_of(SECTOR_BYTES);
        let image = LevelImage {
            levels: levels.address(),
            prefix_sums: prefix_sums.address(),
            pitch: pitch as u64,
            width: width as u32,
            height: height as u32,
            sectors: sectors(width, level_bytes) as u32,
        };
        if pitch > width * level_bytes {
            // The kernels read whole sectors and ignore the pixels beyond the row's end.
            stream.fill(&levels, 0, levels_bytes, 0)?;
        }
        // 2. Copy the pixels, and convert them to levels unless they are levels already.
        let binary = params.noise == Noise::Bernoulli;
        let same = !binary && input.pixel_type() != PixelType::F32;
        let convert = |address, stride| {
            let QuantiseF64 { minimum, scale } = quantise.unwrap_or(QuantiseF64 { minimum: 0.0, scale: 0.0 });
            let from = Pixels { address, stride, name: input.pixel_type().name(), binary, minimum, scale };
            launch::levels(cuda, &stream, &from, [width, height], &levels, pitch, level_bytes)
        };
        if let Image::Device(pixels) = input {
            check_device_pixels(cuda, "the input", pixels)?;
        }
        if same && !matches!(input, Image::Device(_)) {
            let to = DeviceRows { stream: &stream, side: levels.side(0), pitch };
            cuda.transfer().upload(pool, input, &[(0..1, to)], &Ticker::of_copies())?;
            stream.synchronize()?;
        } else {
            let upload = Upload::new(cuda, input, 1, 1)?;
            Upload::queue(pool, input, [(0..1, &stream, &upload)].into_iter(), &Ticker::of_copies())?;
            let DeviceSlices { address, strides } = upload.slices(input, &(0..1));
            convert(address, strides[0])?;
            stream.synchronize()?;
        }
        let seconds_upload = started.elapsed().as_secs_f64();
        // 3. Compute the prefix sums.
        kernels.prefix_sums(&stream, &image)?;
        stream.synchronize()?;
        let seconds_prefix_sums = started.elapsed().as_secs_f64() - seconds_upload;
        Ok(Self {
            cuda: cuda.clone(),
            stream,
            kernels,
            image,
            _levels: levels,
            _prefix_sums: prefix_sums,
            search: None,
            seconds_upload,
            seconds_prefix_sums,
        })
    }

    /// Returns width and height.
    pub(super) fn size(&self) -> [usize; 2] {
        [self.image.width as usize, self.image.height as usize]
    }

    /// Copies the targets to the device and computes the sums of their initial polygons. After an error the earlier targets
    /// can still be searched.
    pub(super) fn measure(
        &mut self,
        params: &Params,
        targets: &mut [Target],
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<()> {
        check_schedule(params)?;
        self.cuda.bind()?;
        watch.ticker.report(watch.progress)?;
        let search = self.prepare(params, targets)?;
        watch.ticker.report(watch.progress)?;
        self.kernels.whole(&self.stream, &search.job)?;
        for first in (0..targets.len()).step_by(MEASURED_AT_ONCE) {
            let count = MEASURED_AT_ONCE.min(targets.len() - first);
            self.launch(&search, &search.job_of(first, count))?;
            self.stream.synchronize()?;
            watch.ticker.report(watch.progress)?;
        }
        self.states(&search)?.iter().zip(targets).for_each(|(state, target)| state.update(target));
        self.search = Some(search);
        Ok(())
    }

    /// Allocates the buffers of a search and copies the targets to the device.
    fn prepare(&self, params: &Params, targets: &[Target]) -> Result<Search> {
        // 1. Choose the geometry, and allocate the buffers for it.
        let memory = self.cuda.memory();
        let count = targets.len().max(1);
        // The arrays have memory for as many nodes as a target may have.
        let capacity = params.max_nodes as usize;
        let longest = targets.iter().map(|target| rows_of(&target.nodes)).max().unwrap_or(0);
        let compete = targets.iter().any(|target| target.territory.is_some());
        let mut geometry = self.kernels.geometry(&self.cuda, count, longest, capacity)?;
        let workspace_bytes = geometry.workspace_bytes();
        let device_targets = memory.device(count * size_of::<DeviceTarget>())?;
        let nodes = memory.device(count * capacity * size_of::<Node>())?;
        let edges = memory.device(count * capacity * size_of::<DeviceSum>())?;
        let (entries, territories) = if compete { self.copy_territories(targets)? } else { (Vec::new(), None) };
        // With memory for fewer groups, those take the targets of all.
        let room = self.cuda.available()? as usize / workspace_bytes;
        geometry.groups = geometry.groups.min(room).max(1);
        let workspace = memory.device(geometry.groups * workspace_bytes)?;
        let control = memory.device(launch::control_bytes(geometry.groups))?;
        // Initialise the rows of nodes, because they are downloaded as a whole, including the memory beyond a target's
        // nodes.
        self.stream.fill(&nodes, 0, count * capacity * size_of::<Node>(), 0)?;
        // 2. Copy the targets, and their polygons as one row each in one copy.
        let structs: Vec<DeviceTarget> = collected(targets.iter().enumerate().map(|(index, target)| {
            let territory = entries.get(index).copied().unwrap_or(-1);
            DeviceTarget::new(target, params.plan(&target.bounds).node_cost, territory)
        }))?;
        self.stream.copy_bytes(Side::of(&structs), device_targets.side(0), size_of_val(&*structs))?;
        let most = targets.iter().map(|target| target.nodes.len()).max().unwrap_or(0);
        let mut coordinates: Vec<[i32; 2]> = zeroed(targets.len() * most)?;
        for (row, target) in coordinates.chunks_mut(most.max(1)).zip(targets) {
            for (pair, node) in row.iter_mut().zip(&target.nodes) {
                *pair = [node.x, node.y];
            }
        }
        let row = most * size_of::<Node>();
        self.stream.copy(
            Side::of(&coordinates),
            nodes.side(0),
            row,
            targets.len(),
            [row, capacity * size_of::<Node>()],
        )?;
        self.stream.synchronize()?;
        // 3. Fill the arguments of the kernels.
        let (noise, looks) = launch::noise_code(params.noise);
        let job = SearchJob {
            image: self.image,
            targets: device_targets.address(),
            nodes: nodes.address(),
            edges: edges.address(),
            workspace: workspace.address(),
            workspace_bytes: workspace_bytes as u64,
            controls: control.address() + CONTROL_OFFSET as u64,
            queue: control.address(),
            first_runs: territories.as_ref().map_or(0, |[first_runs, _]| first_runs.address()),
            runs: territories.as_ref().map_or(0, |[_, runs]| runs.address()),
            looks,
            max_iterations: params.max_iterations,
            launch_iterations: 0,
            target_count: targets.len() as u32,
            capacity: capacity as u32,
            max_nodes: params.max_nodes,
            noise,
            blocks_per_target: geometry.blocks_per_target as u32,
            groups: geometry.groups as u32,
            state_in_shared_memory: u32::from(geometry.state_in_shared_memory),
            state_bytes: geometry.state_bytes as u32,
        };
        Ok(Search {
            targets: device_targets,
            nodes,
            _edges: edges,
            _workspace: workspace,
            control,
            _territories: territories,
            job,
        })
    }

    /// Copies the territories to the device. Returns for each target the entry of its territory, or -1 if it has none, and
    /// the buffers.
    fn copy_territories(&self, targets: &[Target]) -> Result<(Vec<i64>, Option<[Buffer; 2]>)> {
        let [rows, count] = territory_sizes(targets);
        let (mut entries, mut first_runs, mut runs) =
            (reserved(targets.len())?, reserved::<u32>(rows)?, reserved::<[i32; 2]>(count)?);
        for target in targets {
            let Some(territory) = &target.territory else {
                entries.push(-1);
                continue;
            };
            entries.push(first_runs.len() as i64);
            let before = runs.len() as u32;
            first_runs.extend(territory.first.iter().map(|first| before + first));
            runs.extend_from_slice(&territory.runs);
        }
        let copied = |from: Side, bytes: usize| {
            let buffer = self.cuda.memory().device(bytes.max(1))?;
            self.stream.copy_bytes(from, buffer.side(0), bytes)?;
            Ok::<Buffer, Error>(buffer)
        };
        let buffers =
            [copied(Side::of(&first_runs), size_of_val(&*first_runs))?, copied(Side::of(&runs), size_of_val(&*runs))?];
        self.stream.synchronize()?;
        Ok((entries, Some(buffers)))
    }

    /// Queues a job's iterations for each of its running targets. Targets without sums are measured first.
    fn launch(&self, search: &Search, job: &SearchJob) -> Result<()> {
        self.stream.fill(&search.control, 0, launch::control_bytes(job.groups as usize), 0)?;
        self.kernels.search(&self.stream, job)
    }

    /// Returns the states of the targets.
    fn states(&self, search: &Search) -> Result<Vec<DeviceTarget>> {
        let count = search.job.target_count as usize;
        let mut states: Vec<DeviceTarget> = zeroed(count)?;
        let bytes = size_of_val(&*states);
        self.stream.copy_bytes(search.targets.side(0), Side::of_mut(&mut states), bytes)?;
        self.stream.synchronize()?;
        Ok(states)
    }

    /// Copies states, unless they are given, and polygons to the host's targets.
    fn fetch(&self, search: &Search, states: Option<Vec<DeviceTarget>>, targets: &mut [Target]) -> Result<()> {
        let states = states.map_or_else(|| self.states(search), Ok)?;
        let most = states.iter().map(DeviceTarget::count).max().unwrap_or(0);
        let mut coordinates: Vec<[i32; 2]> = zeroed(states.len() * most)?;
        let row = most * size_of::<[i32; 2]>();
        let pitch = search.job.capacity as usize * size_of::<Node>();
        self.stream.copy(search.nodes.side(0), Side::of_mut(&mut coordinates), row, states.len(), [pitch, row])?;
        self.stream.synchronize()?;
        for ((state, target), nodes) in states.iter().zip(targets).zip(coordinates.chunks(most.max(1))) {
            state.update(target);
            if target.status != super::Status::StartOutside {
                target.nodes = collected(nodes[..state.count()].iter().map(|[x, y]| Node::new(*x, *y)))?;
            }
        }
        Ok(())
    }

    /// Makes up to `iterations` iterations of every running target, in launches of about [`LAUNCH_SECONDS`].
    pub(super) fn iterate(
        &mut self,
        context: &Context,
        targets: &mut [Target],
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Report> {
        self.cuda.bind()?;
        self.cuda.memory().reset_peak();
        let mut report = Report::new(context.device());
        report.seconds_upload = std::mem::take(&mut self.seconds_upload);
        report.seconds_compute = std::mem::take(&mut self.seconds_prefix_sums);
        let Some(search) = self.search.take() else { return Ok(report) };
        let ticker = Ticker::new(MOVING);
        let started = Instant::now();
        let mut left = iterations;
        let most = targets.iter().map(|target| target.nodes.len()).max().unwrap_or(0);
        let mut batch = (FIRST_ITERATIONS / (most.div_ceil(FIRST_NODES).max(1) as u64).pow(2)).max(1);
        let mut newest = None;
        let outcome = loop {
            if let Err(error) = ticker.report(progress) {
                break Err(error);
            }
            let count = batch.min(left);
            if count == 0 {
                break Ok(());
            }
            let launched = Instant::now();
            let job = SearchJob { launch_iterations: count, ..search.job };
            newest = None;
            let states = match self.launch(&search, &job).and_then(|()| self.states(&search)) {
                Ok(states) => newest.insert(states),
                Err(error) => break Err(error),
            };
            left -= count;
            let running = states.iter().filter(|state| state.running()).count();
            ticker.set(1.0 - running as f64 / states.len().max(1) as f64);
            if running == 0 {
                break Ok(());
            }
            let seconds = launched.elapsed().as_secs_f64();
            if seconds < LAUNCH_SECONDS / 2.0 {
                batch = batch.saturating_mul(2);
            } else if seconds > 2.0 * LAUNCH_SECONDS {
                // Reduce the batch in one go, because with twice as many nodes an iteration takes four times as long.
                batch = ((batch as f64 * LAUNCH_SECONDS / seconds) as u64).max(1);
            }
        };
        report.seconds_compute += started.elapsed().as_secs_f64();
        let fetched = Instant::now();
        // Fetch the polygons even after a cancellation: every target keeps its last complete iteration.
        let kept = self.fetch(&search, newest, targets);
        report.seconds_download = fetched.elapsed().as_secs_f64();
        report.peak_device_bytes = self.cuda.memory().peak();
        self.search = Some(search);
        outcome.and(kept).map(|()| report)
    }

    /// Returns the sums over the pixels inside polygons that [`clip`](super::clip::clip) returned; they may touch
    /// themselves. The ticker can cancel it.
    pub(super) fn sums(&self, polygons: Vec<Vec<Node>>, image: &Bounds, ticker: &Ticker) -> Result<Vec<RegionSum>> {
        self.cuda.bind()?;
        let mut sums = reserved(polygons.len())?;
        let mut waiting = polygons.into_iter().peekable();
        while waiting.peek().is_some() {
            ticker.check()?;
            // 1. Take as many polygons as there is memory for.
            let (mut targets, mut most) = (Vec::new(), 0);
            while let Some(nodes) = waiting
                .next_if(|nodes| targets.is_empty() || (targets.len() + 1) * nodes.len().max(most) <= SUMMED_NODES)
            {
                most = nodes.len().max(most);
                // Sums are made without an iteration, so that no edge gets a node.
                push(&mut targets, Target::unmeasured(nodes, *image, 1, i64::MAX))?;
            }
            // 2. Measure them.
            let search = self.prepare(&Params { max_nodes: most as u32, ..Params::default() }, &targets)?;
            self.launch(&search, &search.job)?;
            self.states(&search)?.iter().zip(&mut targets).for_each(|(state, target)| state.update(target));
            sums.extend(targets.iter().map(|target| target.inside));
        }
        Ok(sums)
    }
}

/// Returns the number of entries for the rows of all territories, and of their runs.
fn territory_sizes(targets: &[Target]) -> [usize; 2] {
    let territories = || targets.iter().filter_map(|target| target.territory.as_ref());
    [territories().map(|one| one.first.len()).sum(), territories().map(|one| one.runs.len()).sum()]
}

/// Returns the sum over all edges of a polygon of the number of rows that they pass.
fn rows_of(nodes: &[Node]) -> i64 {
    nodes.iter().zip(nodes.iter().cycle().skip(1)).map(|(a, b)| (i64::from(b.y) - i64::from(a.y)).abs()).sum()
}
