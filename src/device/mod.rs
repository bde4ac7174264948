//! Devices: which there are, why each can or cannot be used, and the [`Context`] that holds the chosen one.

mod cpu;
pub(crate) mod cuda;
mod scratch;

pub use cuda::{DeviceImage, DevicePixel};
pub(crate) use scratch::{Lent, Scratch};

use crate::error::{Error, ErrorKind, Result, human_bytes};
use rayon::ThreadPool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum DeviceKind {
    /// All CPU cores, through worker threads and vector units found at run time.
    Cpu = 0,
    /// One NVIDIA GPU through the CUDA driver.
    Cuda = 1,
}

/// What is known of a device, and why it is or is not usable (or, for a context's device, why it was chosen).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// CPU or CUDA.
    pub kind: DeviceKind,
    /// The number in `cuda:N`; 0 for the CPU.
    pub index: u32,
    /// Whether a context can be made on it.
    pub usable: bool,
    /// CUDA compute capability, major and minor; 0.0 for the CPU.
    pub compute_capability: (u32, u32),
    /// Multiprocessors of a GPU, worker threads of the CPU.
    pub multiprocessors: u32,
    /// The CUDA version of the driver as 1000·major + 10·minor (13000 is 13.0); 0 for the CPU.
    pub driver_version: u32,
    /// Memory in bytes, in all and free now; 0 where unknown.
    pub total_memory: u64,
    /// Free memory in bytes.
    pub free_memory: u64,
    /// What [`Context::new`] takes: `cpu` or `cuda:N`.
    pub id: String,
    /// The marketing name.
    pub name: String,
    /// One sentence: why usable or not, or why chosen.
    pub reason: String,
}

/// All devices: the CPU first, then each CUDA device. Where CUDA is unusable as a whole (built without it, no driver,
/// driver too old, no device), one entry `cuda` with `usable == false` says why. Never fails, never panics.
///
/// Each CUDA device is opened for a moment, which takes 0.1 to 0.2 s where no context is open on it: only so is it known
/// to work, and how much of its memory is free. The driver's library is looked for once in a process.
///
/// ```
/// let devices = isoline::devices();
/// assert_eq!(devices[0].id, "cpu");
/// assert!(devices[0].usable);
/// ```
pub fn devices() -> Vec<DeviceInfo> {
    (0..count()).filter_map(info).collect()
}

/// How many [`devices`] there are; opens none, so it is quick.
pub(crate) fn count() -> usize {
    1 + cuda::find::count()
}

/// Number `index` of the [`devices`]; only that one is opened. `None` if out of range.
pub(crate) fn info(index: usize) -> Option<DeviceInfo> {
    match index.checked_sub(1) {
        None => Some(cpu_info()),
        Some(index) => cuda::find::entry(index),
    }
}

/// The CPU, which is always there.
pub(crate) fn cpu_info() -> DeviceInfo {
    cpu::info()
}

/// Where a context computes.
pub(crate) enum Backend {
    Cpu,
    Cuda(Arc<cuda::Cuda>),
}

/// A device with what belongs to it: worker threads, kernels, pooled memory. Make one and use it for many calls.
///
/// Different contexts may be used on different threads at the same time. One context may be shared: calls on it take
/// turns. A call from inside its own progress callback is refused ([`ErrorKind::Busy`]) because it would wait for ever.
/// A clone is another handle on the same context, which ends with its last handle.
///
/// ```
/// let context = isoline::Context::new("cpu")?;
/// assert_eq!(context.device().id, "cpu");
/// # Ok::<(), isoline::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
}

struct Shared {
    info: DeviceInfo,
    backend: Backend,
    /// Under `auto` a job that does not fit the GPU goes to the CPU.
    automatic: bool,
    pool: Arc<ThreadPool>,
    scratch: Scratch,
    turn: Turn,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("device", &self.shared.info).finish_non_exhaustive()
    }
}

impl Context {
    /// The CPU's description for a report, with the reason why a job of an `auto` context on a GPU came here.
    pub(crate) fn cpu_for_report(&self) -> DeviceInfo {
        if self.shared.info.kind == DeviceKind::Cpu {
            return self.shared.info.clone();
        }
        let mut info = cpu_info();
        info.reason = "auto took the CPU for this job (see the log)".into();
        info
    }

    /// A context on `device`: `auto` (also the empty string), `cpu`, `cuda` (the first usable one) or `cuda:N`.
    ///
    /// `auto` takes the first CUDA device that works and else the CPU; [`device`](Self::device) says why. A named
    /// device never falls back.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for any other text, [`ErrorKind::DeviceUnavailable`] when the named device
    /// cannot be used, with the reason.
    pub fn new(device: &str) -> Result<Self> {
        Self::with_pool(device, cpu::shared_pool)
    }

    /// As [`new`](Self::new), with `threads` worker threads of its own (0: as many as there are cores).
    ///
    /// # Errors
    /// As `new`; [`ErrorKind::OutOfMemory`] when the threads cannot be started.
    pub fn with_threads(device: &str, threads: usize) -> Result<Self> {
        Self::with_pool(device, || cpu::new_pool(threads))
    }

    fn with_pool(device: &str, start_pool: impl FnOnce() -> Result<Arc<ThreadPool>>) -> Result<Self> {
        let wanted = device.trim();
        // The threads come last: a context that is refused should cost none.
        let context = |info, backend, automatic| {
            Ok(Self {
                shared: Arc::new(Shared {
                    info,
                    backend,
                    automatic,
                    pool: start_pool()?,
                    scratch: Scratch::default(),
                    turn: Turn::default(),
                }),
            })
        };
        let context: Result<Self> = match wanted {
            "" | "auto" => match cuda::Cuda::first_usable() {
                Ok((cuda, mut info)) => {
                    info.reason = format!("auto chose {}: the first CUDA device that works", info.id);
                    context(info, Backend::Cuda(cuda), true)
                }
                Err(why) => {
                    let mut info = cpu::info();
                    info.reason = format!("auto chose the CPU: {}", why.message());
                    context(info, Backend::Cpu, true)
                }
            },
            "cpu" => {
                let mut info = cpu::info();
                info.reason = "asked for by name".into();
                context(info, Backend::Cpu, false)
            }
            "cuda" => {
                let (cuda, mut info) = cuda::Cuda::first_usable()?;
                info.reason = "asked for as 'cuda': the first CUDA device that works".into();
                context(info, Backend::Cuda(cuda), false)
            }
            other => {
                // Digits only: parse alone would take "+1" too.
                let digits = other.strip_prefix("cuda:").filter(|n| n.bytes().all(|byte| byte.is_ascii_digit()));
                let index = digits.and_then(|n| n.parse::<u32>().ok()).ok_or_else(|| {
                    Error::argument(format!("the device must be auto, cpu, cuda or cuda:N, but it is '{other}'"))
                })?;
                let (cuda, mut info) = cuda::Cuda::open(index)?;
                info.reason = "asked for by name".into();
                context(info, Backend::Cuda(cuda), false)
            }
        };
        let context = context?;
        log::info!("device {} ({}): {}", context.shared.info.id, context.shared.info.name, context.shared.info.reason);
        Ok(context)
    }

    /// The device of this context and why it was chosen.
    pub fn device(&self) -> &DeviceInfo {
        &self.shared.info
    }

    /// As [`device`](Self::device), with the memory figures of now.
    pub fn device_now(&self) -> DeviceInfo {
        let mut info = self.shared.info.clone();
        match &self.shared.backend {
            Backend::Cpu => info.free_memory = cpu::free_memory(),
            Backend::Cuda(cuda) => info.free_memory = cuda.free_memory().unwrap_or(info.free_memory),
        }
        info
    }

    /// Limits the device memory that this context takes, in bytes; 0 (the default) means 90 % of what is free when a
    /// job starts. A job over the limit is refused (`cuda:N`) or goes to the CPU (`auto`). No effect on the CPU.
    pub fn set_memory_limit(&self, bytes: u64) {
        if let Backend::Cuda(cuda) = &self.shared.backend {
            cuda.set_memory_limit(bytes);
        }
    }

    /// Gives pooled device memory, pinned host memory and the main memory that the CPU keeps between calls (at most
    /// 320 MiB) back to the system. They are also freed with the context.
    pub fn trim(&self) {
        self.shared.scratch.trim();
        if let Backend::Cuda(cuda) = &self.shared.backend {
            cuda.trim();
        }
    }

    /// Device memory held now in bytes, in use or pooled. 0 on the CPU.
    pub fn device_memory_held(&self) -> u64 {
        match &self.shared.backend {
            Backend::Cpu => 0,
            Backend::Cuda(cuda) => cuda.held(),
        }
    }

    /// A new image in the memory of this context's CUDA device: uninitialised, packed.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] on the CPU, [`ErrorKind::OutOfMemory`] when it does not fit.
    pub fn device_image(&self, pixel_type: crate::PixelType, shape: [usize; 3]) -> Result<DeviceImage> {
        match &self.shared.backend {
            Backend::Cpu => Err(Error::unsupported("device images need a CUDA context, but this one is on the CPU")),
            Backend::Cuda(cuda) => DeviceImage::new(cuda, pixel_type, shape),
        }
    }

    /// Whether this context was asked for as `auto`.
    pub(crate) fn is_automatic(&self) -> bool {
        self.shared.automatic
    }

    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.shared.pool
    }

    /// Main memory to compute in.
    pub(crate) fn scratch(&self) -> &Scratch {
        &self.shared.scratch
    }

    /// Waits for this context's turn. Hold the guard for the length of the call.
    pub(crate) fn begin(&self) -> Result<TurnGuard<'_>> {
        self.shared.turn.take()
    }

    /// Refuses the thread that has this context's turn, without waiting for another one's.
    pub(crate) fn refuse_own_thread(&self) -> Result<()> {
        self.shared.turn.refuse_own_thread().map(drop)
    }

    /// The CUDA device for a job that needs `bytes` of its memory, or `None` for the CPU.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] when a CUDA device was asked for by name and the job does not fit.
    pub(crate) fn cuda_for(&self, bytes: u64) -> Result<Option<&Arc<cuda::Cuda>>> {
        let Backend::Cuda(cuda) = &self.shared.backend else { return Ok(None) };
        let budget = cuda.budget()?;
        if bytes <= budget {
            return Ok(Some(cuda));
        }
        let free = cuda.free_memory()?;
        let why = format!(
            "the job needs {} ({bytes} bytes) of memory on {} but only {} ({budget} bytes) may be used, and {} ({free} \
             bytes) are free",
            human_bytes(bytes),
            self.shared.info.id,
            human_bytes(budget),
            human_bytes(free)
        );
        if self.shared.automatic {
            log::warn!("computing on the CPU: {why}");
            return Ok(None);
        }
        Err(Error::memory(format!(
            "{why}; raise the memory limit, close other programs, or use the device auto or cpu"
        )))
    }

    /// Whether a CUDA failure may be answered by computing on the CPU instead: only `auto`, only for want of memory.
    pub(crate) fn may_fall_back(&self, error: &Error) -> bool {
        self.shared.automatic && error.kind() == ErrorKind::OutOfMemory
    }
}

/// Lets one thread at a time into a context, and refuses the thread that is already in.
#[derive(Default)]
struct Turn {
    holder: Mutex<Option<ThreadId>>,
    left: Condvar,
}

/// Ends the turn when dropped.
pub(crate) struct TurnGuard<'a>(&'a Turn);

impl Turn {
    /// Who has the turn, which is not this thread.
    fn refuse_own_thread(&self) -> Result<MutexGuard<'_, Option<ThreadId>>> {
        let holder = self.holder.lock().unwrap_or_else(|e| e.into_inner());
        if *holder == Some(std::thread::current().id()) {
            return Err(Error::new(
                ErrorKind::Busy,
                "this context is in use further up this thread's call stack (a progress callback must not call into \
                 the context that is calling it); use another context there",
            ));
        }
        Ok(holder)
    }

    fn take(&self) -> Result<TurnGuard<'_>> {
        let mut holder = self.refuse_own_thread()?;
        while holder.is_some() {
            holder = self.left.wait(holder).unwrap_or_else(|e| e.into_inner());
        }
        *holder = Some(std::thread::current().id());
        Ok(TurnGuard(self))
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *self.0.holder.lock().unwrap_or_else(|e| e.into_inner()) = None;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_device_is_refused_with_the_choices() {
        let error = Context::new("gpu").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("auto, cpu, cuda or cuda:N"), "{error}");
    }

    #[test]
    fn a_device_that_is_not_there_says_why() {
        let error = Context::new("cuda:4096").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceUnavailable);
        assert!(!error.message().is_empty());
    }

    #[test]
    fn auto_always_works_and_says_why() {
        let context = Context::new("auto").unwrap();
        assert!(context.device().reason.starts_with("auto chose"), "{}", context.device().reason);
    }

    #[test]
    fn a_context_refuses_its_own_thread_and_queues_others() {
        let context = Context::new("cpu").unwrap();
        let guard = context.begin().unwrap();
        assert_eq!(context.begin().err().unwrap().kind(), ErrorKind::Busy);
        assert_eq!(context.refuse_own_thread().unwrap_err().kind(), ErrorKind::Busy);
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| context.refuse_own_thread().is_ok()).join().unwrap());
            let waiting = scope.spawn(|| context.begin().map(|_| ()).is_ok());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(guard);
            assert!(waiting.join().unwrap());
        });
    }
}
