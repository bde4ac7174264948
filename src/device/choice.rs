//! The device of a call under `auto`: the one that is expected to finish first.
//!
//! When a context first needs the times of an operation, it is timed on the GPU and on the CPU, on a few small images.
//! Between these sizes the time of a call is interpolated linearly in the number of pixels, and extrapolated beyond the
//! largest. The times are kept in the user's cache folder, so that each kind of call is timed once per machine.

use super::{Context, DeviceKind, DeviceNeeds, PerProcess};
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Dimensions, Image, ImageMut, zeroed_image};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use ndarray::Array3;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

/// The side of the smallest image that is timed, a slice or a volume. The next ones are 4 and 16 times as wide.
const SLICE_SIDE: usize = 64;
const VOLUME_SIDE: usize = 32;
/// The limits of timed images: the most pixels, and the longest expected time of a call.
const MOST_PIXELS: usize = 1 << 21;
const LONGEST_CALL: Duration = Duration::from_millis(50);

/// The number of calls whose median is used, and the time after which no more calls begin. One call before them is not
/// counted.
const MEASURED_CALLS: usize = 9;
const MEASURED_TIME: Duration = Duration::from_millis(100);
/// The pause between two calls, in which threads and GPU become idle, as they do between the calls of a user.
const PAUSE: Duration = Duration::from_millis(1);
/// If the median is more than this many times the shortest call, other work has disturbed the timing.
const MOST_SPREAD: u32 = 4;

/// A call for which the CPU and a GPU give the same bits, so that the choice between them does not affect the result.
pub(crate) struct Workload {
    /// The operation, with every parameter that has a large effect on its time.
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

impl Workload {
    /// The pixel value between the dark and the bright pixels of the images that are measured.
    pub(crate) const THRESHOLD: f64 = 75.0;

    /// Describes a call of the operation `name` that computes floats from an image of `shape`. `call` runs it with such
    /// parameters.
    pub(crate) fn to_floats(
        name: &str,
        dimensions: Dimensions,
        shape: [usize; 3],
        call: impl Fn(&Context, Image<'_>, ImageMut<'_>) -> Result<Report> + 'static,
    ) -> Self {
        let is_volume = dimensions == Dimensions::Volume && shape[2] > 1;
        let run = move |context: &Context, image: &Array3<u8>| {
            let mut output = zeroed_image::<f32>(image.dim())?;
            call(context, image.view().into(), output.view_mut().into()).map(drop)
        };
        Self {
            kind: format!("{name} of {}", if is_volume { "a volume" } else { "slices" }),
            pixels: shape.iter().product(),
            is_volume,
            run: Box::new(run),
        }
    }
}

/// The seconds of calls of one kind on one device, by their number of pixels, in ascending order; there is at least one.
#[derive(Clone, Debug, PartialEq)]
struct Times(Vec<(f64, f64)>);

impl Times {
    /// Returns the expected seconds of a call on `pixels` pixels.
    fn expected(&self, pixels: usize) -> f64 {
        let pixels = pixels as f64;
        if let [(n, seconds)] = self.0[..] {
            // Larger images were not timed because calls take long, so the fixed part of the time is negligible.
            return seconds * (pixels / n).max(1.0);
        }
        let after = self.0.partition_point(|(measured, _)| *measured < pixels).min(self.0.len() - 1);
        match (after.checked_sub(1).map(|before| self.0[before]), self.0[after]) {
            (Some((n, seconds)), (more, longer)) => {
                (seconds + (pixels - n) * (longer - seconds) / (more - n)).max(seconds.min(longer))
            }
            (None, (_, seconds)) => seconds,
        }
    }

    /// Measures calls on the device of `context`. `before_each` is called before each of them, and may end the measurement.
    fn measure(context: &Context, workload: &Workload, mut before_each: impl FnMut() -> Result<()>) -> Result<Self> {
        let mut times = Vec::new();
        for factor in [1, 4, 16] {
            let shape = match workload.is_volume {
                true => [factor * VOLUME_SIDE; 3],
                false => [1, factor * SLICE_SIDE, factor * SLICE_SIDE],
            };
            let pixels = shape.iter().product::<usize>();
            let too_long = times.last().is_some_and(|(n, seconds)| {
                pixels > MOST_PIXELS || seconds / n * pixels as f64 > LONGEST_CALL.as_secs_f64()
            });
            if too_long {
                break;
            }
            let image = chequers(shape)?;
            let call = || (workload.run)(context, &image);
            times.push((pixels as f64, median(&mut before_each, call)?.as_secs_f64()));
        }
        Ok(Self(times))
    }

    /// Returns the times as text: `pixels:seconds`, separated by blanks.
    fn text(&self) -> String {
        let texts: Vec<_> = self.0.iter().map(|(pixels, seconds)| format!("{pixels}:{seconds:e}")).collect();
        texts.join(" ")
    }

    /// Reads what [`text`](Self::text) wrote; `None` for anything else.
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        let times: Option<Vec<_>> = text
            .split(' ')
            .map(|point| point.split_once(':').and_then(|(pixels, seconds)| Some((number(pixels)?, number(seconds)?))))
            .collect();
        times.filter(|times| times.is_sorted_by(|(n, _), (more, _)| n < more)).map(Self)
    }
}

/// Returns the median time of several calls; `before_each` is called before each of them.
///
/// # Errors
/// Those of both, and [`ErrorKind::Busy`] if the calls take very different times.
fn median(mut before_each: impl FnMut() -> Result<()>, mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    before_each()?;
    call()?;
    let (begun, mut times) = (Instant::now(), Vec::new());
    while times.len() < MEASURED_CALLS && (times.is_empty() || begun.elapsed() < MEASURED_TIME) {
        before_each()?;
        std::thread::sleep(PAUSE);
        let started = Instant::now();
        call()?;
        times.push(started.elapsed());
    }
    times.sort();
    let median = times[times.len() / 2];
    if median > MOST_SPREAD * times[0] {
        let text =
            format!("calls on an image took {:?} to {median:?} and longer, because other work disturbs", times[0]);
        return Err(Error::new(ErrorKind::Busy, text));
    }
    Ok(median)
}

/// Makes an image of bright and dark squares with some noise: it has shape, background and edges for every operation.
fn chequers([depth, height, width]: [usize; 3]) -> Result<Array3<u8>> {
    let mut image = zeroed_image((depth, height, width))?;
    for ((z, y, x), pixel) in image.indexed_iter_mut() {
        let bright = (x / 16 + y / 16 + z / 16) % 2 * 150;
        *pixel = (bright + (x * 7919 + y * 104_729 + z * 1_299_709) % 251 % 16) as u8;
    }
    Ok(image)
}

/// The times of the GPU and of the CPU, by machine and kind of call, as far as they are known; `None` if they could not be
/// measured.
type Known = HashMap<String, Option<[Times; 2]>>;
static KNOWN: PerProcess<Mutex<Option<Known>>> = PerProcess::new(Mutex::new(None), |_| Mutex::default());

/// Returns the file that keeps the times; `None` where the user has no cache folder.
fn file() -> Option<PathBuf> {
    dirs::cache_dir().map(|folder| folder.join("isoline").join("device-times.tsv"))
}

/// Reads the times from a file. Lines that cannot be parsed are skipped.
fn read(path: &Path) -> Known {
    let parse = |line: &str| {
        let mut fields = line.split('\t');
        let key = fields.next()?.to_owned();
        let mut times = || Times::parse(fields.next()?);
        Some((key, Some([times()?, times()?])))
    };
    std::fs::read_to_string(path).unwrap_or_default().lines().filter_map(parse).collect()
}

/// Adds a line to the file.
fn append(path: &Path, key: &str, [cuda, cpu]: &[Times; 2]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Write the line with a single call, so that lines of programs that run at the same time do not mix.
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{key}\t{}\t{}\n", cuda.text(), cpu.text()).as_bytes())
}

/// Returns the times that are kept under `key`; if there are none, measures and keeps them. Returns `None` while another
/// thread measures, and if the measurement fails, which is tried once per process. Nothing is logged while a lock is held,
/// because a logger may make calls.
///
/// # Errors
/// [`ErrorKind::Cancelled`], after which the next call measures again.
fn times_of(
    path: Option<&Path>,
    key: &str,
    measure: impl FnOnce() -> Result<[Times; 2]>,
) -> Result<Option<[Times; 2]>> {
    static MEASURING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::new(()), |_| Mutex::default());
    let known = || KNOWN.get().lock().unwrap_or_else(|e| e.into_inner());
    let kept = || known().get_or_insert_with(|| path.map(read).unwrap_or_default()).get(key).cloned();
    if let Some(times) = kept() {
        return Ok(times);
    }
    let _measuring = match MEASURING.get().try_lock() {
        Ok(measuring) => measuring,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        // Two measurements would disturb each other.
        Err(TryLockError::WouldBlock) => return Ok(None),
    };
    if let Some(times) = kept() {
        // Another thread has measured them in the meantime.
        return Ok(times);
    }
    let times = match measure() {
        Ok(times) => Some(times),
        Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
        Err(error) => {
            log::info!("cannot measure {key}: {error}");
            None
        }
    };
    if let (Some(path), Some(times)) = (path, &times)
        && let Err(error) = append(path, key, times)
    {
        log::debug!("cannot keep the times of devices in {}: {error}", path.display());
    }
    known().get_or_insert_default().insert(key.to_owned(), times.clone());
    Ok(times)
}

impl Context {
    /// Tells whether a call is expected to take less time on the CPU than on the CUDA device of this context. This is false
    /// unless both can run it: under `auto`, and with a `workload`. The first call of a kind on a machine times both, in
    /// less than a second; `progress` can cancel it.
    pub(crate) fn cpu_is_faster(
        &self,
        needs: &DeviceNeeds,
        workload: Option<Workload>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<bool> {
        let is_free = self.shared.automatic && needs.host_memory && !needs.cpu_only;
        let Some(workload) = workload.filter(|_| is_free && self.device().kind == DeviceKind::Cuda) else {
            return Ok(false);
        };
        let (cuda, cpu, threads) = (self.device(), super::system::processor(), self.pool().current_num_threads());
        let Workload { kind, pixels, .. } = &workload;
        let key = format!("{kind}, isoline {}, {}, {cpu}, {threads} threads", env!("CARGO_PKG_VERSION"), cuda.name);
        let measure = || {
            log::info!("measuring {kind} on {} and on the CPU, once on this machine", cuda.id);
            let ticker = Ticker::new("measuring both devices");
            let mut on = |device| Times::measure(&self.of_kind(device), &workload, || ticker.report(progress));
            Ok([on(DeviceKind::Cuda)?, on(DeviceKind::Cpu)?])
        };
        let Some(times) = times_of(file().as_deref(), &key.replace(['\t', '\n'], " "), measure)? else {
            return Ok(false);
        };
        let [on_cuda, on_cpu] = times.map(|times| 1e3 * times.expected(*pixels));
        log::debug!("{kind}: expected to take {on_cuda:.3} ms on {} and {on_cpu:.3} ms on the CPU", cuda.id);
        Ok(on_cpu < on_cuda)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        Times(vec![(4096.0, 1e-4), (65_536.0, 3e-4), (1_048_576.0, 2e-3)])
    }

    #[test]
    fn times_are_linear_between_the_measurements_and_beyond() {
        let times = times();
        assert_eq!([1, 4096, 65_536, 1_048_576].map(|pixels| times.expected(pixels)), [1e-4, 1e-4, 3e-4, 2e-3]);
        assert!((times.expected(34_816) / 2e-4 - 1.0).abs() < 1e-9);
        assert!((times.expected(2 * 1_048_576 - 65_536) / 3.7e-3 - 1.0).abs() < 1e-9);
        // Noise must not give negative times.
        assert_eq!(Times(vec![(1.0, 2e-4), (2.0, 1e-4)]).expected(1000), 1e-4);
        assert_eq!([1, 10, 1000].map(|pixels| Times(vec![(10.0, 0.5)]).expected(pixels)), [0.5, 0.5, 50.0]);
    }

    #[test]
    fn times_are_measured_once_and_kept_in_the_file() {
        let folder = std::env::temp_dir().join(format!("isoline-times-{}", std::process::id()));
        let path = folder.join("isoline").join("device-times.tsv");
        let pair = [times(), Times(vec![(1.0, 2.5e-9)])];
        let mut measured = 0;
        for _ in 0..2 {
            let mut measure = || {
                measured += 1;
                Ok(pair.clone())
            };
            // The tests share what is known and measure by turns.
            let times = std::iter::repeat_with(|| times_of(Some(&path), "a test", &mut measure))
                .find_map(|times| times.unwrap());
            assert_eq!(times, Some(pair.clone()));
        }
        assert_eq!(measured, 1);
        append(&path, "another", &pair).unwrap();
        let damaged = "half a li\nx\t1:1 1:2\t3:4\ny\t1:-1\t1:1\nz\t1:1\n";
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(damaged.as_bytes()).unwrap();
        let kept = read(&path);
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(["a test", "another"].iter().all(|key| kept[*key].as_ref() == Some(&pair)));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_failed_measurement_is_tried_once() {
        let fail = || Err(Error::memory("no memory"));
        while KNOWN.get().lock().unwrap().as_ref().is_none_or(|known| !known.contains_key("a failing test")) {
            assert_eq!(times_of(None, "a failing test", fail), Ok(None));
        }
        assert_eq!(times_of(None, "a failing test", || Ok([times(), times()])), Ok(None));
    }

    #[test]
    fn a_cancelled_measurement_is_made_again() {
        let context = Context::new("cpu").unwrap();
        let workload = Workload { kind: "nothing".into(), pixels: 0, is_volume: false, run: Box::new(|_, _| Ok(())) };
        let mut calls = 0;
        let mut measure = || {
            let cancel_at_the_third = || {
                calls += 1;
                if calls == 3 { Err(Error::cancelled()) } else { Ok(()) }
            };
            Times::measure(&context, &workload, cancel_at_the_third).map(|times| [times.clone(), times])
        };
        // The tests measure by turns.
        let mut tries = std::iter::repeat_with(|| times_of(None, "a cancelled test", &mut measure));
        let error = tries.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        let again = || times_of(None, "a cancelled test", || Ok([times(), times()]));
        assert!(std::iter::repeat_with(again).find_map(Result::unwrap).is_some());
    }

    #[test]
    fn long_calls_are_measured_on_the_smallest_image_only() {
        let context = Context::new("cpu").unwrap();
        let run = |_: &Context, image: &Array3<u8>| {
            assert_eq!(image.len(), 64 * 64);
            std::thread::sleep(Duration::from_millis(5));
            Ok(())
        };
        let workload = Workload { kind: "sleep".into(), pixels: 0, is_volume: false, run: Box::new(run) };
        // The measurement is refused where other processes delay too many calls.
        let mut tries = std::iter::repeat_with(|| Times::measure(&context, &workload, || Ok(()))).take(10);
        let Times(measured) = tries.find_map(Result::ok).unwrap();
        assert!(measured.len() == 1 && measured[0].1 >= 0.005, "{measured:?}");
    }
}
