//! The parts that the benches share: arguments, devices, medians, images on a device, and the record.
#![allow(dead_code, reason = "not every bench uses all of this file")]

use isoline::{Context, DeviceImage, PixelType};
use ndarray::Array3;
use std::error::Error;
use std::ffi::OsString;
use std::time::{Duration, Instant};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// The smallest and the largest number of repetitions, and the time after which no more start.
pub type Repeats = (usize, usize, Duration);
pub const REPEATS: Repeats = (5, 101, Duration::from_millis(1200));

/// The arguments of a benchmark, its devices and its results.
pub struct Bench {
    pub quick: bool,
    json: Option<OsString>,
    pub cpu: Context,
    pub cuda: Option<Context>,
    /// The results as JSON objects.
    pub records: Vec<String>,
}

impl Bench {
    /// Reads the arguments `--quick` and `--json FILE`, `ISOLINE_BENCH_DEVICE` and `ISOLINE_BENCH_JSON`, and prints the
    /// devices.
    pub fn new() -> Outcome<Self> {
        let mut quick = false;
        let mut json = std::env::var_os("ISOLINE_BENCH_JSON");
        let mut arguments = std::env::args_os().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--quick") => quick = true,
                Some("--json") => json = Some(arguments.next().ok_or("--json needs a file name")?),
                // `cargo bench` adds this argument.
                Some("--bench") => {}
                _ => return Err(format!("unknown argument {argument:?}; known are --quick and --json FILE").into()),
            }
        }
        let device = std::env::var("ISOLINE_BENCH_DEVICE").unwrap_or_else(|_| "auto".into());
        let cuda = match device.as_str() {
            "cpu" => None,
            "auto" => Context::new("cuda").inspect_err(|error| println!("CUDA is skipped: {error}")).ok(),
            named => Some(Context::new(named)?),
        };
        let bench = Self { quick, json, cpu: Context::new("cpu")?, cuda, records: vec![] };
        for context in bench.contexts() {
            let info = context.device();
            let unit = if info.id == "cpu" { "threads" } else { "multiprocessors" };
            println!("{}: {} ({} {unit})", info.id, info.name, info.multiprocessors);
        }
        Ok(bench)
    }

    /// Returns the CPU, and the CUDA device if there is one.
    pub fn contexts(&self) -> impl Iterator<Item = &Context> + use<'_> {
        [Some(&self.cpu), self.cuda.as_ref()].into_iter().flatten()
    }

    /// Writes the results to the file that was asked for.
    pub fn write(&self) -> Outcome<()> {
        let Some(path) = &self.json else { return Ok(()) };
        let cpu = self.cpu.device();
        let head = format!("{{\"cpu\": \"{}\", \"threads\": {}", cpu.name, cpu.multiprocessors);
        Ok(std::fs::write(path, format!("{head}, \"results\": [\n{}\n]}}\n", self.records.join(",\n")))?)
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the median of the results of `measure`; its first call is a warm-up and is not counted.
pub fn repeat_within((least, most, enough): Repeats, mut measure: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    measure()?;
    let started = Instant::now();
    let mut values = vec![];
    while values.len() < least || (values.len() < most && started.elapsed() < enough) {
        values.push(measure()?);
    }
    Ok(median(values))
}

/// Returns the median as [`repeat_within`] does.
pub fn repeat(measure: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    repeat_within(REPEATS, measure)
}

/// Formats seconds as milliseconds.
pub fn text(seconds: Option<f64>) -> String {
    seconds.map_or("-".into(), |seconds| format!("{:.3}", seconds * 1e3))
}

/// Formats seconds for a record.
pub fn json(seconds: Option<f64>) -> String {
    seconds.map_or("null".into(), |seconds| format!("{seconds:.9}"))
}

/// An input and an output on the device.
pub struct Resident {
    pub input: DeviceImage,
    pub output: DeviceImage,
}

impl Resident {
    pub fn new(context: &Context, input: &Array3<u8>, output: PixelType) -> Outcome<Self> {
        let (depth, height, width) = input.dim();
        let shape = [width, height, depth];
        let mut resident =
            Self { input: context.device_image(PixelType::U8, shape)?, output: context.device_image(output, shape)? };
        resident.input.upload(input.view().into())?;
        Ok(resident)
    }
}
