//! Devices: their list, with the reason why each can or cannot be used, and the [`Context`] that holds one or several.

mod batches;
mod buffer_pool;
mod call_lock;
mod choice;
mod cpu;
pub(crate) mod cuda;
mod host_buffer;
mod host_copy;
mod name;
mod per_process;
mod per_thread;
mod several;
mod system;

pub(crate) use buffer_pool::{BufferPool, PooledBuffer};
pub(crate) use call_lock::{CallGuard, CallLock};
pub(crate) use choice::Workload;
pub(crate) use cpu::{STACK_SIZE, WORKER_NAME, slices_side_by_side};
pub(crate) use cuda::kernels;
pub use cuda::{DeviceImage, DevicePixel};
pub use host_buffer::HostBuffer;
pub(crate) use host_copy::{HostCopy, in_host_memory, upload_slice};
pub(crate) use per_process::PerProcess;
pub(crate) use per_thread::PerThread;
pub(crate) use several::{Job, Own, Slices, shares};

use crate::error::{Error, ErrorKind, Result, human_bytes};
use crate::progress::abandon_if_cancelled;
use host_buffer::FreedBuffers;
use name::{list_of, number, unknown_name};
use rayon::ThreadPool;
use several::Several;
use std::sync::{Arc, OnceLock};

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum DeviceKind {
    /// All CPU cores, through worker threads and vector units found at run time.
    Cpu = 0,
    /// One NVIDIA GPU through the CUDA driver.
    Cuda = 1,
}

/// The description of a device, with the reason why it is usable or not; for the device of a context, the reason why it was
/// chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// CPU or CUDA.
    pub kind: DeviceKind,
    /// The number in `cuda:N`; 0 for the CPU.
    pub index: u32,
    /// True if a context can be made on the device.
    pub usable: bool,
    /// CUDA compute capability, major and minor; 0.0 for the CPU.
    pub compute_capability: (u32, u32),
    /// The number of multiprocessors of a GPU, or of worker threads of the CPU.
    pub multiprocessors: u32,
    /// The CUDA version of the driver as 1000·major + 10·minor (13000 is 13.0); 0 for the CPU.
    pub driver_version: u32,
    /// Total memory in bytes; 0 where unknown.
    pub total_memory: u64,
    /// Memory that is free now, in bytes; 0 where unknown.
    pub free_memory: u64,
    /// The name that [`Context::new`] takes for this device alone: `cpu` or `cuda:N`.
    pub id: String,
    /// The name that the vendor gives the device.
    pub name: String,
    /// The reason, in one sentence, why the device is usable or not, or why it was chosen.
    pub reason: String,
}

/// Lists all devices: the CPU first, then each CUDA device. If CUDA cannot be used at all (built without it, no driver,
/// driver too old, no device), a single entry `cuda` with `usable == false` says why. This never fails or panics.
///
/// Each CUDA device is opened briefly, to test it and to get its free memory; this takes 0.1 to 0.2 s unless a context is
/// open on it. The driver's library is looked up once per process.
///
/// ```
/// let devices = isoline::devices();
/// assert_eq!(devices[0].id, "cpu");
/// assert!(devices[0].usable);
/// ```
pub fn devices() -> Vec<DeviceInfo> {
    (0..count()).filter_map(info).collect()
}

/// Returns the number of [`devices`]. It opens none, so it is fast.
pub(crate) fn count() -> usize {
    1 + cuda::find::count()
}

/// Returns entry `index` of the [`devices`], and opens only that device. `None` if the index is out of range.
pub(crate) fn info(index: usize) -> Option<DeviceInfo> {
    match index.checked_sub(1) {
        None => Some(cpu_info()),
        Some(index) => cuda::find::entry(index),
    }
}

/// Describes the CPU, which is always there.
pub(crate) fn cpu_info() -> DeviceInfo {
    cpu::info()
}

/// The code that runs the calls of a context.
#[derive(Clone)]
pub(crate) enum Backend {
    Cpu,
    Cuda(Arc<cuda::Cuda>),
}

/// A device, with the worker threads, kernels and pooled memory that are kept for it. Make one context and use it for many
/// calls.
///
/// Different contexts may be used on different threads at the same time. A context may also be shared by several threads:
/// it runs one call at a time. A call that would wait forever is refused ([`ErrorKind::Busy`]): a re-entrant call, from a
/// callback of the same context, and a call from a callback to another context that waits for this one. A clone is another
/// handle on the same context, which ends with its last handle.
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
    /// The description of the CPU for reports of an `auto` context with a GPU.
    cpu: OnceLock<DeviceInfo>,
    /// True for `auto`: a call that does not fit the GPU, or is faster on the CPU, then runs on the CPU.
    automatic: bool,
    pool: Arc<ThreadPool>,
    buffer_pool: BufferPool,
    freed_buffers: FreedBuffers,
    lock: CallLock,
    /// The devices of a context that has several. The first one is this context's own.
    several: Option<Several>,
}

impl Shared {
    fn new((backend, info): Found, automatic: bool, pool: Arc<ThreadPool>) -> Self {
        Self {
            info,
            backend,
            cpu: OnceLock::new(),
            automatic,
            pool,
            buffer_pool: BufferPool::default(),
            freed_buffers: FreedBuffers::default(),
            lock: CallLock::default(),
            several: None,
        }
    }
}

/// A device that was opened.
type Found = (Backend, DeviceInfo);

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("device", &self.shared.info).finish_non_exhaustive()
    }
}

impl Context {
    /// Describes the CPU for a report, with the reason why a call on an `auto` context with a GPU ran there.
    pub(crate) fn cpu_for_report(&self) -> DeviceInfo {
        if self.shared.info.kind == DeviceKind::Cpu {
            return self.shared.info.clone();
        }
        // Describe it only once, because asking the system takes longer than a small call.
        let described = self.shared.cpu.get_or_init(|| {
            let reason = "this call ran on the CPU: auto expected it to be faster there, it does not fit the GPU, or only the \
                          CPU has its variant or operation (the log says which)";
            DeviceInfo { reason: reason.into(), ..cpu_info() }
        });
        described.clone()
    }

    /// Makes a context on `device`: `auto` (also the empty string), `cpu`, `cuda` (the first usable one), `cuda:N`, a list
    /// such as `cuda:0,2`, or `cuda:all` (all usable ones).
    ///
    /// `auto` chooses the working CUDA device with the most free memory, or the CPU if there is none;
    /// [`device`](Self::device) says why. A call on it runs on the CPU if it does not fit the GPU. If the CPU gives the
    /// same bits (distance, isosurface, edge drawing, up to 1024 iterations of edge strength), a call runs on the device on
    /// which it is expected to finish first. For that, the first call of each kind on a machine times both devices, in less
    /// than a second; the times are kept in the user's cache folder, in `isoline/device-times.tsv`. A named device never
    /// falls back.
    ///
    /// The devices of a list share the slices of a stack in host memory, and the targets of region snakes: each gets a
    /// contiguous range, and the results have the same bits as on a single device. For volumes in host memory, they also
    /// share the iterations of edge strength and a dense level set, in slabs along z. Everything else runs on the first
    /// device: other volumes and level sets, single slices, and images in its device memory.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for any other text, and for a list that has a number twice;
    /// [`ErrorKind::DeviceUnavailable`], with the reason, if a named device cannot be used; [`ErrorKind::Cancelled`] if the
    /// cancel flag of the thread is set.
    pub fn new(device: &str) -> Result<Self> {
        Self::with_pool(device, cpu::shared_pool)
    }

    /// Makes a context like [`new`](Self::new), with `threads` worker threads that it shares with no other context (0: as
    /// many as there are cores).
    ///
    /// # Errors
    /// The same as [`new`](Self::new); [`ErrorKind::OutOfMemory`] if the threads cannot be started.
    pub fn with_threads(device: &str, threads: usize) -> Result<Self> {
        Self::with_pool(device, || cpu::new_pool(threads))
    }

    /// Makes a context of several parts, for tests of how calls are divided. Each of `devices` is the name of one device,
    /// as for [`new`](Self::new); the same device may occur several times.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); [`ErrorKind::InvalidArgument`] for no devices.
    #[doc(hidden)]
    pub fn of_parts(devices: &[&str]) -> Result<Self> {
        let found = devices.iter().map(|device| Self::open(device).map(|(found, _)| found));
        Self::of_several(found.collect::<Result<_>>()?, "of parts", cpu::shared_pool)
    }

    fn with_pool(device: &str, start_pool: impl FnOnce() -> Result<Arc<ThreadPool>>) -> Result<Self> {
        let wanted = device.trim();
        let context = match list_of(wanted)? {
            Some(list) => {
                let name = wanted.to_owned();
                let found = abandon_if_cancelled(move || cuda::Cuda::open_list(&name, &list))?;
                Self::of_several(found, wanted, start_pool)?
            }
            None => {
                let name = wanted.to_owned();
                let open = move || Self::open(&name);
                let (found, automatic) = if wanted == "cpu" { open()? } else { abandon_if_cancelled(open)? };
                // Start the threads last, so that a context that is refused starts none.
                Self { shared: Arc::new(Shared::new(found, automatic, start_pool()?)) }
            }
        };
        log::info!("device {} ({}): {}", context.shared.info.id, context.shared.info.name, context.shared.info.reason);
        Ok(context)
    }

    /// Opens one device. The second result is `true` for `auto`.
    fn open(wanted: &str) -> Result<(Found, bool)> {
        let named = |backend, info, reason: &str| ((backend, DeviceInfo { reason: reason.into(), ..info }), false);
        Ok(match wanted {
            "" | "auto" => match cuda::Cuda::freest_usable() {
                Ok((cuda, mut info)) => {
                    info.reason =
                        format!("auto chose {}: of the CUDA devices that work it has the most free memory", info.id);
                    ((Backend::Cuda(cuda), info), true)
                }
                Err(why) => {
                    let mut info = cpu::info();
                    info.reason = format!("auto chose the CPU: {}", why.message());
                    ((Backend::Cpu, info), true)
                }
            },
            "cpu" => named(Backend::Cpu, cpu::info(), "chosen by name"),
            "cuda" => {
                let (cuda, info) = cuda::Cuda::first_usable()?;
                named(Backend::Cuda(cuda), info, "chosen by the name 'cuda': the first CUDA device that works")
            }
            other => {
                let index = other.strip_prefix("cuda:").and_then(number).ok_or_else(|| unknown_name(other))?;
                let (cuda, info) = cuda::Cuda::open(index)?;
                named(Backend::Cuda(cuda), info, "chosen by name")
            }
        })
    }

    /// Makes a context of the devices that were found by `name`.
    fn of_several(
        mut found: Vec<Found>,
        name: &str,
        start_pool: impl FnOnce() -> Result<Arc<ThreadPool>>,
    ) -> Result<Self> {
        let ids: Vec<_> = found.iter().map(|(_, info)| info.id.as_str()).collect();
        let reason = match ids[..] {
            [] => return Err(Error::argument("cannot make a context of parts: there must be one at least (got none)")),
            [_] => format!("chosen by the name '{name}': the only CUDA device that works"),
            _ => format!(
                "chosen by the name '{name}': {} share the slices of stacks, the targets of region snakes, iterations of edge \
                 strength and dense level sets of volumes, and the first one does all else",
                ids.join(", ")
            ),
        };
        found.iter_mut().for_each(|(_, info)| info.reason.clone_from(&reason));
        let pool = start_pool()?;
        let part = |found: &Found| Shared::new(found.clone(), false, pool.clone());
        let mut shared = part(&found[0]);
        if found.len() > 1 {
            let parts = found.iter().map(|found| Self { shared: Arc::new(part(found)) });
            shared.several = Some(Several::new(parts.collect())?);
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the devices of this context: one, or those of a list.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &DeviceInfo> {
        self.parts().iter().map(Self::device)
    }

    /// Returns the device of this context, with the reason why it was chosen; of several the first one.
    pub fn device(&self) -> &DeviceInfo {
        &self.shared.info
    }

    /// Returns the same as [`device`](Self::device), with the memory that is free now.
    pub fn device_now(&self) -> DeviceInfo {
        let mut info = self.shared.info.clone();
        match &self.shared.backend {
            Backend::Cpu => info.free_memory = cpu::free_memory(),
            Backend::Cuda(cuda) => info.free_memory = cuda.free_memory().unwrap_or(info.free_memory),
        }
        info
    }

    /// Limits the device memory that each call with this context takes on each of its devices, in bytes, in addition to the
    /// memory that level sets and snakes of earlier calls keep; 0 (the default) means 90 % of the memory that is free when
    /// a call starts. If a volume exceeds the limit, its distance, edge strength and isosurface are computed in parts, with
    /// the same bits, and the narrow band variant of a level set stores φ near the front only. Any other call that exceeds
    /// the limit is refused (`cuda:N`) or runs on the CPU (`auto`). The limit has no effect on the CPU.
    pub fn set_memory_limit(&self, bytes: u64) {
        for part in self.parts() {
            if let Backend::Cuda(cuda) = &part.shared.backend {
                cuda.set_memory_limit(bytes);
            }
        }
    }

    /// Frees pooled device memory, page-locked host memory, the host memory that the CPU keeps between calls (at most 320
    /// MiB) and freed host buffers (at most 1 GiB). The end of the context also frees them.
    pub fn trim(&self) {
        self.shared.buffer_pool.trim();
        self.shared.freed_buffers.clear();
        for part in self.parts() {
            part.shared.buffer_pool.trim();
            if let Backend::Cuda(cuda) = &part.shared.backend {
                cuda.trim();
            }
        }
    }

    /// Returns the device memory held now in bytes, in use or pooled. 0 on the CPU.
    pub fn device_memory_held(&self) -> u64 {
        let held = |part: &Self| match &part.shared.backend {
            Backend::Cpu => 0,
            Backend::Cuda(cuda) => cuda.held(),
        };
        self.parts().iter().map(held).sum()
    }

    /// Makes an image in the memory of this context's CUDA device: uninitialised, packed.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] on the CPU, [`ErrorKind::OutOfMemory`] if it does not fit.
    pub fn device_image(&self, pixel_type: crate::PixelType, shape: [usize; 3]) -> Result<DeviceImage> {
        match &self.shared.backend {
            Backend::Cpu => Err(Error::unsupported(
                "cannot make a device image: the context is on the CPU; use a context on a CUDA device",
            )),
            Backend::Cuda(cuda) => DeviceImage::new(cuda, &self.shared.pool, pixel_type, shape),
        }
    }

    /// Makes a buffer of `bytes` in host memory. Calls of this context read and write images in it faster than in other
    /// host memory. A context on a CUDA device page-locks it; if the system refuses that, or if the buffer is more than
    /// half of the free memory, the log says so, and the buffer is ordinary memory, which any device accepts. This may be
    /// called while a call runs on the context.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSize`] for 0 bytes or more than can be addressed, [`ErrorKind::OutOfMemory`],
    /// [`ErrorKind::Cancelled`] by the cancel flag of the thread.
    pub fn host_buffer(&self, bytes: usize) -> Result<HostBuffer> {
        // At most half of the address space is allowed, so that rounding up cannot overflow.
        if bytes == 0 || bytes > isize::MAX as usize / 2 {
            return Err(Error::size(format!(
                "cannot make a buffer: its size must be from 1 to {} bytes (got {bytes}); give the size of an image in bytes",
                isize::MAX / 2
            )));
        }
        crate::memory::make_room_for_errors()?;
        let mut memory = self.shared.freed_buffers.take(bytes)?;
        if let Backend::Cuda(cuda) = &self.shared.backend
            && !memory.is_page_locked()
        {
            let host = crate::memory::system::memory();
            let locked = if host.total > 0 && bytes as u64 > host.available / 2 {
                Err(Error::memory(format!("{} are more than half of the free memory", human_bytes(bytes as u64))))
            } else {
                let cuda = cuda.clone();
                // The driver locks about 20 GB per second, after the pages have been made, so this may take long.
                let (returned, locked) = abandon_if_cancelled(move || {
                    let locked = memory.page_lock(&cuda);
                    Ok((memory, locked))
                })?;
                memory = returned;
                locked
            };
            if let Err(why) = locked {
                log::warn!("a buffer is not page-locked, so that copies from and to it take longer: {why}");
            }
        }
        Ok(self.shared.freed_buffers.hand_out(memory, bytes))
    }

    /// Returns the worker threads.
    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.shared.pool
    }

    /// Returns the host memory that is kept between calls.
    pub(crate) fn buffer_pool(&self) -> &BufferPool {
        &self.shared.buffer_pool
    }

    /// Waits for the calls of other threads to end, then locks the context. Hold the guard for the duration of the call.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] for a re-entrant call, and for a call that would wait for a thread that waits for this one;
    /// [`ErrorKind::Unsupported`] in the child of a fork; [`ErrorKind::OutOfMemory`] if there is not even memory for an
    /// error message.
    pub(crate) fn lock(&self) -> Result<CallGuard<'_>> {
        crate::memory::make_room_for_errors()?;
        let guard = self.shared.lock.acquire("context")?;
        for cuda in self.parts().iter().filter_map(Self::cuda) {
            cuda.memory().begin_call();
        }
        Ok(guard)
    }

    /// Returns whether this process made the context; false in the child of a fork.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.shared.lock.is_of_this_process()
    }

    /// Refuses the use of the context in the child of a fork.
    pub(crate) fn check_process(&self) -> Result<()> {
        self.shared.lock.check_process("context")
    }

    /// Returns whether the calling thread is inside a call on this context.
    pub(crate) fn is_in_call(&self) -> bool {
        self.shared.lock.is_mine()
    }

    /// Returns whether calls may run on the CPU or on the CUDA device of this context.
    pub(crate) fn is_automatic(&self) -> bool {
        self.shared.automatic
    }

    /// Returns the CUDA device of this context; `None` on the CPU.
    pub(crate) fn cuda(&self) -> Option<&Arc<cuda::Cuda>> {
        match &self.shared.backend {
            Backend::Cpu => None,
            Backend::Cuda(cuda) => Some(cuda),
        }
    }

    /// Returns the CUDA device for a call that needs `bytes` of its memory, or `None` for the CPU.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if the call does not fit a CUDA device that was chosen by name.
    pub(crate) fn cuda_for(&self, bytes: u64) -> Result<Option<&Arc<cuda::Cuda>>> {
        let Some(cuda) = self.cuda() else { return Ok(None) };
        let budget = cuda.budget()?;
        if bytes <= budget {
            return Ok(Some(cuda));
        }
        let free = cuda.free_memory()?;
        let id = &self.shared.info.id;
        let why = format!(
            "the call needs {} ({bytes} bytes) of the memory of {id}, of which {} ({budget} bytes) may be used and {} \
             ({free} bytes) are free",
            human_bytes(bytes),
            human_bytes(budget),
            human_bytes(free)
        );
        if self.shared.automatic {
            log::warn!("computing on the CPU: {why}");
            return Ok(None);
        }
        Err(Error::memory(format!(
            "cannot compute on {id}: {why}; raise the memory limit, close other programs, or use the device auto or cpu"
        )))
    }

    /// Tells whether a call that failed on CUDA may run on the CPU instead: only under `auto`, and if it was out of memory,
    /// or the image is too large for the index types of the kernels.
    pub(crate) fn may_fall_back(&self, error: &Error) -> bool {
        self.shared.automatic && matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::Unsupported)
    }

    /// Returns a context on the CPU or on the CUDA device of this context, for calls within a call. It is not `auto`, so it
    /// never falls back.
    fn of_kind(&self, kind: DeviceKind) -> Self {
        let found = match &self.shared.backend {
            Backend::Cuda(cuda) if kind == DeviceKind::Cuda => (Backend::Cuda(cuda.clone()), self.shared.info.clone()),
            _ => (Backend::Cpu, cpu_info()),
        };
        Self { shared: Arc::new(Shared::new(found, false, self.shared.pool.clone())) }
    }

    /// Runs a call on the CUDA device of this context or on the CPU, and falls back from CUDA to the CPU under `auto`.
    /// Under `auto` the call also runs on the CPU if `cpu_is_faster`, see [`cpu_is_faster`](Self::cpu_is_faster). `state`
    /// holds what both backends need, such as the progress callback.
    ///
    /// # Errors
    /// The errors of the backend that ran last; [`ErrorKind::OutOfMemory`] as from [`cuda_for`](Self::cuda_for).
    pub(crate) fn run_on_device<S, T>(
        &self,
        needs: DeviceNeeds,
        cpu_is_faster: bool,
        state: &mut S,
        on_cuda: impl FnOnce(&Arc<cuda::Cuda>, &mut S) -> Result<T>,
        on_cpu: impl FnOnce(&mut S) -> Result<T>,
    ) -> Result<T> {
        if needs.cpu_only && self.shared.automatic {
            log::debug!("computing on the CPU: only the CPU has the chosen variant");
        } else if cpu_is_faster {
            log::debug!("computing on the CPU: it is expected to finish first");
        } else if let Some(cuda) = self.cuda_for(needs.device_bytes)? {
            match on_cuda(cuda, state) {
                Err(error) if needs.host_memory && self.may_fall_back(&error) => {
                    log::warn!("computing on the CPU: {error}");
                }
                done => return done,
            }
        }
        on_cpu(state)
    }
}

/// The properties of a call that decide on which backend it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceNeeds {
    /// The least device memory with which CUDA can run the call, in bytes.
    pub(crate) device_bytes: u64,
    /// True if only the CPU has the chosen variant: `auto` then uses the CPU, and a CUDA device chosen by name refuses the
    /// call.
    pub(crate) cpu_only: bool,
    /// True if all images are in host memory, so that the CPU can run the call.
    pub(crate) host_memory: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_device_is_refused_with_the_choices() {
        let error = Context::new("gpu").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("auto, cpu, cuda or cuda:N"), "{error}");
    }

    #[test]
    fn missing_device_is_refused_with_the_reason() {
        let error = Context::new("cuda:4096").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceUnavailable);
        assert!(!error.message().is_empty());
    }

    #[test]
    fn auto_always_works_and_gives_its_reason() {
        let context = Context::new("auto").unwrap();
        assert!(context.device().reason.starts_with("auto chose"), "{}", context.device().reason);
    }

    #[test]
    fn context_refuses_reentrant_calls_and_queues_other_threads() {
        let context = Context::new("cpu").unwrap();
        let guard = context.lock().unwrap();
        assert_eq!(context.lock().err().unwrap().kind(), ErrorKind::Busy);
        assert!(context.is_in_call());
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| !context.is_in_call()).join().unwrap());
            let waiting = scope.spawn(|| context.lock().map(|_| ()).is_ok());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(guard);
            assert!(waiting.join().unwrap());
        });
    }
}
