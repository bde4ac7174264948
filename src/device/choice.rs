//! The device of a call under `auto`: the one that is expected to finish first.
//!
//! The time of a call is taken as a fixed part and a part per pixel. Both are measured, on the GPU and on the CPU, with the
//! operation itself on two small images, when a context first needs them. They are kept in the user's cache folder, so
//! that a machine measures each kind of call once.

use super::{Context, DeviceKind};
use crate::error::Result;
use ndarray::Array3;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The sides of the images that are measured: slices and volumes.
const SLICE_SIDES: [usize; 2] = [64, 1024];
const VOLUME_SIDES: [usize; 2] = [32, 128];

/// One measurement is the shortest of so many calls, or of those that begin within the time, after one that is not counted.
const MEASURED_CALLS: usize = 5;
const MEASURED_TIME: Duration = Duration::from_millis(30);

/// The larger image is not measured where a call on it would take longer than this.
const LONGEST_CALL: Duration = Duration::from_millis(200);

/// A call for which the CPU and a GPU give the same bits, so that the choice between them cannot be seen in the result.
pub(crate) struct Workload {
    /// The operation, with every parameter on which its time depends much.
    pub(crate) kind: String,
    /// The number of pixels of the call.
    pub(crate) pixels: usize,
    /// Set if the images to measure are volumes, otherwise they have one slice.
    pub(crate) is_volume: bool,
    /// Runs a call of this kind on an image.
    pub(crate) run: Box<RunOn>,
}

/// A call of an operation on a context and an image.
type RunOn = dyn Fn(&Context, &Array3<u8>) -> Result<()>;

/// The time of calls of one kind on one device, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    fixed: f64,
    per_pixel: f64,
}

impl Rate {
    fn seconds(self, pixels: usize) -> f64 {
        self.fixed + self.per_pixel * pixels as f64
    }

    /// Returns the rate at which images of `pixels` take `seconds`.
    fn through(pixels: [usize; 2], seconds: [f64; 2]) -> Self {
        let per_pixel = ((seconds[1] - seconds[0]) / (pixels[1] - pixels[0]) as f64).max(0.0);
        Self { fixed: (seconds[0] - per_pixel * pixels[0] as f64).max(0.0), per_pixel }
    }

    /// Measures calls on the device of `context`.
    fn measure(context: &Context, workload: &Workload) -> Result<Self> {
        let images = if workload.is_volume { VOLUME_SIDES.map(|n| [n, n, n]) } else { SLICE_SIDES.map(|n| [1, n, n]) };
        let pixels = images.map(|shape| shape.iter().product());
        let small = shortest(|| (workload.run)(context, &chequers(images[0])))?;
        if small * (pixels[1] / pixels[0]) as u32 > LONGEST_CALL {
            return Ok(Self { fixed: 0.0, per_pixel: small.as_secs_f64() / pixels[0] as f64 });
        }
        let image = chequers(images[1]);
        let large = shortest(|| (workload.run)(context, &image))?;
        Ok(Self::through(pixels, [small, large].map(|time| time.as_secs_f64())))
    }
}

/// Returns the time of the shortest of several calls.
fn shortest(mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    call()?;
    let (begun, mut shortest) = (Instant::now(), Duration::MAX);
    for _ in 0..MEASURED_CALLS {
        let started = Instant::now();
        call()?;
        shortest = shortest.min(started.elapsed());
        if begun.elapsed() > MEASURED_TIME {
            break;
        }
    }
    Ok(shortest)
}

/// Makes an image of bright and dark squares with some noise: it has shape, background and edges for every operation.
fn chequers(shape: [usize; 3]) -> Array3<u8> {
    Array3::from_shape_fn(shape, |(z, y, x)| {
        let bright = (x / 16 + y / 16 + z / 16) % 2 * 150;
        (bright + (x * 7919 + y * 104_729 + z * 1_299_709) % 251 % 16) as u8
    })
}

/// The rates of the GPU and of the CPU, by machine and kind of call, as far as they are known.
static RATES: Mutex<Option<HashMap<String, [Rate; 2]>>> = Mutex::new(None);

/// Returns the file that keeps the rates; `None` where the user has no cache folder.
fn file() -> Option<PathBuf> {
    dirs::cache_dir().map(|folder| folder.join("isoline").join("device-times.tsv"))
}

/// Reads what a file keeps. Lines that are not understood are passed over.
fn read(path: &Path) -> HashMap<String, [Rate; 2]> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<(String, [Rate; 2])> {
    let mut fields = line.split('\t');
    let key = fields.next()?.to_owned();
    let mut number = || fields.next()?.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    let mut rate = || Some(Rate { fixed: number()?, per_pixel: number()? });
    Some((key, [rate()?, rate()?]))
}

/// Adds a line to the file.
fn append(path: &Path, key: &str, rates: [Rate; 2]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let [cuda, cpu] = rates.map(|rate| format!("{:e}\t{:e}", rate.fixed, rate.per_pixel));
    // One write of a short line: those of programs that run at the same time do not mix.
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{key}\t{cuda}\t{cpu}\n").as_bytes())
}

/// Returns what is kept under `key`, or measures it and keeps it.
fn known_or_measured(path: Option<&Path>, key: &str, measure: impl FnOnce() -> Result<[Rate; 2]>) -> Result<[Rate; 2]> {
    let known = |rates: &mut Option<HashMap<_, _>>| {
        rates.get_or_insert_with(|| path.map(read).unwrap_or_default()).get(key).copied()
    };
    if let Some(rates) = known(&mut RATES.lock().unwrap_or_else(|e| e.into_inner())) {
        return Ok(rates);
    }
    let rates = measure()?;
    if let Some(path) = path
        && let Err(error) = append(path, key, rates)
    {
        log::debug!("cannot keep the times of devices in {}: {error}", path.display());
    }
    let mut all = RATES.lock().unwrap_or_else(|e| e.into_inner());
    all.get_or_insert_default().insert(key.to_owned(), rates);
    Ok(rates)
}

impl Context {
    /// Returns whether a call is expected to take less time on the CPU than on the CUDA device of this `auto` context.
    pub(super) fn cpu_is_faster(&self, workload: &Workload) -> bool {
        let threads = self.pool().current_num_threads();
        let (cuda, cpu) = (self.device(), super::cpu::name());
        let machine =
            format!("{}, {} of {}, {threads} threads of {}", workload.kind, env!("CARGO_PKG_VERSION"), cuda.name, cpu);
        let key = machine.replace(['\t', '\n'], " ");
        let measure = || {
            log::info!("measuring {} on {} and on the CPU, once on this machine", workload.kind, cuda.id);
            let on = |kind| Rate::measure(&self.of_kind(kind), workload);
            Ok([on(DeviceKind::Cuda)?, on(DeviceKind::Cpu)?])
        };
        let seconds = match known_or_measured(file().as_deref(), &key, measure) {
            Ok(rates) => rates.map(|rate| rate.seconds(workload.pixels)),
            Err(error) => {
                log::info!("computing on {}: cannot measure whether the CPU is faster: {error}", cuda.id);
                return false;
            }
        };
        let [on_cuda, on_cpu] = seconds.map(|seconds| 1e3 * seconds);
        log::debug!("{}: expected to take {on_cuda:.3} ms on {} and {on_cpu:.3} ms on the CPU", workload.kind, cuda.id);
        on_cpu < on_cuda
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { fixed: 1e-4, per_pixel: 1e-9 };

    #[test]
    fn a_rate_goes_through_both_measurements() {
        let rate = Rate::through([4096, 1 << 20], [RATE.seconds(4096), RATE.seconds(1 << 20)]);
        assert!((rate.fixed / RATE.fixed - 1.0).abs() < 1e-9 && (rate.per_pixel / RATE.per_pixel - 1.0).abs() < 1e-9);
        // Noise must not give negative times.
        let noisy = Rate::through([4096, 1 << 20], [2e-4, 1e-4]);
        assert_eq!(noisy, Rate { fixed: 2e-4, per_pixel: 0.0 });
    }

    #[test]
    fn rates_are_measured_once_and_kept_in_the_file() {
        let folder = std::env::temp_dir().join(format!("isoline-rates-{}", std::process::id()));
        let path = folder.join("isoline").join("device-times.tsv");
        let other = Rate { fixed: 0.0, per_pixel: 2.5e-9 };
        let mut measured = 0;
        for _ in 0..2 {
            let rates = known_or_measured(Some(&path), "a test, 1 thread", || {
                measured += 1;
                Ok([RATE, other])
            });
            assert_eq!(rates.unwrap(), [RATE, other]);
        }
        assert_eq!(measured, 1);
        append(&path, "another", [other, RATE]).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"half a li\nx\t1\t-2\t3\t4\n")
            .unwrap();
        let kept = read(&path);
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert_eq!((kept["a test, 1 thread"], kept["another"]), ([RATE, other], [other, RATE]));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_failed_measurement_is_not_kept() {
        let fail = || Err(crate::Error::memory("no memory"));
        assert!(known_or_measured(None, "a failing test", fail).is_err());
        assert_eq!(known_or_measured(None, "a failing test", || Ok([RATE; 2])).unwrap(), [RATE; 2]);
    }

    #[test]
    fn long_calls_are_not_measured_on_the_larger_image() {
        let context = Context::new("cpu").unwrap();
        let run = |_: &Context, image: &Array3<u8>| {
            assert_eq!(image.len(), 64 * 64);
            std::thread::sleep(Duration::from_millis(10));
            Ok(())
        };
        let workload = Workload { kind: "sleep".into(), pixels: 0, is_volume: false, run: Box::new(run) };
        let rate = Rate::measure(&context, &workload).unwrap();
        assert!(rate.fixed == 0.0 && rate.per_pixel >= 0.01 / 4096.0);
    }
}
