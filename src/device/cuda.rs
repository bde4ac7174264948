//! CUDA as a device, through the driver API that is loaded at run time: the embedded kernels, streams, events and textures.
//! [`find`] lists the devices and says why one cannot be used; [`memory`] holds buffers; [`host`] page-locks host memory of
//! callers; [`transfer`] copies between device memory and the caller's memory; and [`launch`] has what all kernel launches
//! share.
//!
//! # Safety
//! All calls into the driver are here, in [`find`], in [`nvml`], in [`memory`] and in [`host`]. Two rules keep them sound:
//! 1. The context is bound to the calling thread before a call ([`Cuda::bind`]).
//! 2. Memory that a stream works on outlives that work: owners hold their [`Stream`]s in fields before their buffers,
//!    and dropping a [`Stream`] waits for it.
#![allow(unsafe_code)]

mod callers_context;
mod code;
pub(super) mod find;
mod host;
pub(crate) mod kernels;
mod launch;
mod memory;
mod nvml;
mod peer;
mod pipeline;
mod range;
mod transfer;
mod upload;

pub(crate) use callers_context::{CallersContext, keep_current};
pub(crate) use host::HostMemory;
pub(crate) use launch::{Kernel, MAX_GRID_YZ, check_sides, geometry};
pub(crate) use memory::{Buffer, Memory, Pinned, Side, is_pinned};
pub use memory::{DeviceImage, DevicePixel};
pub(crate) use pipeline::{GROUP_BYTES, Pipeline, SliceOperation, Slot, slices_together, useful_slots};
pub(crate) use transfer::{DeviceRows, Transfer, output_is_direct};
pub(crate) use upload::{DeviceSlices, Upload};

use self::code::{Code, KERNELS};
use super::{Backend, DeviceInfo, Found};
use crate::error::{Error, ErrorKind, Result};
use crate::image::DevicePixels;
use crate::memory::collected;
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaModule, CudaStream, DriverError};
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The first architecture with programmatic dependent launch: kernels may start before the launch ahead is over, and wait
/// for it themselves.
const EARLY_LAUNCHES_FROM: u32 = 90;

/// The share of the free device memory that a call may take when no limit is set, in percent.
const BUDGET_PERCENT: u64 = 90;

/// Returns the error of a driver call that failed; `what` completes "cannot …".
pub(crate) fn failed(what: &str, error: DriverError) -> Error {
    let name = error.error_name().map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    let text = error.error_string().map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned());
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::memory(format!(
            "cannot {what}: out of memory on the CUDA device ({name}); close other programs that use the GPU, or use the device cpu"
        )),
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_INVALID_IMAGE => unavailable(format!(
            "cannot {what}: this build has no kernel image for the GPU or its driver ({name}: {text}); update the NVIDIA \
             driver, or use the device cpu"
        )),
        _ => Error::new(
            ErrorKind::DeviceFailed,
            format!(
                "cannot {what}: the CUDA device failed ({name}: {text}); if it repeats, restart the program or use the device cpu"
            ),
        ),
    }
}

fn unavailable(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::DeviceUnavailable, message)
}

/// Starts the driver for devices that were asked for by `name`, and returns their number.
fn start_for(name: &str) -> Result<u32> {
    find::start().map_err(|error| {
        let advice = match error.message() {
            find::NO_DRIVER => format!("; install it ({}), or", find::DRIVER_FILE),
            advised if advised.contains(';') => ", or".into(),
            _ => ";".into(),
        };
        unavailable(format!("cannot use {name}: {error}{advice} choose the device auto or cpu"))
    })
}

fn none_usable(reasons: &[String]) -> Error {
    unavailable(format!("cannot use any CUDA device: {}", reasons.join("; ")))
}

/// A CUDA device in use: its context, kernels and memory.
pub(crate) struct Cuda {
    memory: Arc<Memory>,
    transfer: Arc<Transfer>,
    context: Arc<CudaContext>,
    /// Unused streams, which are kept because making and destroying one takes 10 µs, and a stack needs dozens.
    streams: Unused,
    index: u32,
    multiprocessors: u32,
    compute_capability: (u32, u32),
    /// See [`Stream`].
    early_launches: bool,
    modules: Mutex<HashMap<&'static str, Arc<CudaModule>>>,
    kernels: Mutex<HashMap<String, Kernel>>,
    /// The most device memory that a call may take, in bytes; 0 is automatic.
    limit: AtomicU64,
}

impl Cuda {
    /// Opens the first CUDA device that can load the kernels.
    pub(super) fn first_usable() -> Result<(Arc<Self>, DeviceInfo)> {
        Self::first_usable_of(0..start_for("cuda")?)
    }

    /// Opens the CUDA device with the most free memory among those that can load the kernels. If there are several and NVML
    /// does not know their free memory, each is opened briefly.
    pub(super) fn freest_usable() -> Result<(Arc<Self>, DeviceInfo)> {
        let count = find::start()?;
        if count == 1 {
            return Self::first_usable();
        }
        let free = |index: u32| {
            let told = nvml::Nvml::get().and_then(|nvml| nvml.free_memory(index));
            told.unwrap_or_else(|| find::open(index).0.free_memory)
        };
        let mut devices: Vec<_> = (0..count).map(|index| (index, free(index))).collect();
        let most = devices.iter().map(|(_, free)| *free).max().unwrap_or(0);
        // Ignore differences of less than 1 GiB, such as that of a context on the first device, so that the first one is
        // then taken.
        devices.sort_by_key(|(_, free)| (most - free) >> 30);
        Self::first_usable_of(devices.into_iter().map(|(index, _)| index))
    }

    fn first_usable_of(indices: impl IntoIterator<Item = u32>) -> Result<(Arc<Self>, DeviceInfo)> {
        let mut reasons = Vec::new();
        for index in indices {
            match Self::open(index) {
                Ok(found) => return Ok(found),
                Err(error) => reasons.push(format!("cuda:{index}: {error}")),
            }
        }
        Err(none_usable(&reasons))
    }

    /// Opens the devices of the list `name`: those with the given `indices`, all of which must work, or, without indices,
    /// all devices that work.
    pub(super) fn open_list(name: &str, indices: &[u32]) -> Result<Vec<Found>> {
        let all = indices.is_empty();
        let indices = if all { (0..start_for(name)?).collect() } else { indices.to_vec() };
        let (mut found, mut reasons) = (Vec::new(), Vec::new());
        for index in indices {
            match Self::open(index) {
                Ok((cuda, info)) => found.push((Backend::Cuda(cuda), info)),
                Err(error) if all => {
                    log::warn!("{name} leaves out cuda:{index}: {error}");
                    reasons.push(format!("cuda:{index}: {error}"));
                }
                Err(error) => {
                    return Err(Error::new(
                        error.kind(),
                        format!(
                            "cannot open the devices {name}: each of them must be usable, but cuda:{index} is not ({error}); \
                             leave it out, or use cuda:all"
                        ),
                    ));
                }
            }
        }
        if found.is_empty() { Err(none_usable(&reasons)) } else { Ok(found) }
    }

    /// Opens device `index` and loads kernels, which proves that it works.
    pub(super) fn open(index: u32) -> Result<(Arc<Self>, DeviceInfo)> {
        let count = start_for(&format!("cuda:{index}"))?;
        if index >= count {
            return Err(unavailable(format!(
                "cannot use cuda:{index}: this machine has {count} CUDA device(s), cuda:0 to cuda:{}; use one of them",
                count - 1
            )));
        }
        let (info, opened) = find::open(index);
        let Some((context, code)) = opened else { return Err(unavailable(info.reason)) };
        let opened = catch_unwind(AssertUnwindSafe(|| -> Result<Arc<Self>> {
            // SAFETY: this module orders the work of streams and frees memory itself (rule 2 above); cudarc's own
            // tracking would only add an event to every launch.
            unsafe { context.disable_event_tracking() };
            let cuda = Arc::new(Self {
                memory: Memory::new(context.clone()),
                transfer: Transfer::of_device(index, &context),
                index,
                multiprocessors: info.multiprocessors,
                early_launches: code.architecture >= EARLY_LAUNCHES_FROM,
                compute_capability: info.compute_capability,
                modules: Mutex::default(),
                kernels: Mutex::default(),
                limit: AtomicU64::new(0),
                streams: Arc::default(),
                context,
            });
            // Loading one module is enough to test the device, because the kernels of all operations are compiled for the
            // same architectures. The other modules are loaded when they are first used.
            cuda.module("image")?;
            Ok(cuda)
        }));
        match opened {
            Ok(cuda) => cuda.map(|cuda| (cuda, info)),
            Err(_) => Err(unavailable(format!("cannot use cuda:{index}: the NVIDIA driver failed unexpectedly"))),
        }
    }

    /// Makes this device current on the calling thread. Every call starts with it.
    pub(crate) fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(|e| failed("activate the CUDA context", e))
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub(crate) fn transfer(&self) -> &Arc<Transfer> {
        &self.transfer
    }

    /// Queries a limit of the device, such as the largest texture.
    pub(crate) fn attribute(&self, which: CUdevice_attribute) -> Result<i32> {
        self.context.attribute(which).map_err(|e| failed(&format!("query the device attribute {which:?}"), e))
    }

    fn module(&self, name: &str) -> Result<Arc<CudaModule>> {
        let (name, codes) =
            KERNELS.ok().and_then(|all| all.iter().find(|(known, _)| *known == name)).ok_or_else(|| {
                Error::unsupported(format!("cannot load the kernels {name}: this build does not have them"))
            })?;
        let mut modules = self.modules.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(module) = modules.get(name) {
            return Ok(module.clone());
        }
        let code = Code::for_card(codes, self.compute_capability)?.unpacked()?;
        let image = cudarc::nvrtc::Ptx::from_binary(collected(code.iter().copied())?);
        let module = self.context.load_module(image).map_err(|e| failed(&format!("load the kernels {name}"), e))?;
        modules.insert(name, module.clone());
        Ok(module)
    }

    /// Returns the kernel `name` of the operation `module`. It is looked up once, and then kept.
    pub(crate) fn kernel(&self, module: &str, name: &str) -> Result<Kernel> {
        // Two operations may have a kernel of the same name.
        let key = format!("{module}: {name}");
        let mut kernels = self.kernels.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = kernels.get(&key) {
            return Ok(found.clone());
        }
        let function =
            self.module(module)?.load_function(name).map_err(|e| failed(&format!("find the kernel {name}"), e))?;
        let kernel = Kernel { function, name: name.into() };
        kernels.insert(key, kernel.clone());
        Ok(kernel)
    }

    pub(crate) fn stream(&self) -> Result<Stream> {
        let unused = self.streams.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let stream = unused.map_or_else(|| new_stream(&self.context), Ok)?;
        Ok(Stream { stream, early_launches: self.early_launches, unused: Some(self.streams.clone()) })
    }

    /// Creates an event that records the time.
    pub(crate) fn event(&self) -> Result<Event> {
        Event::new(&self.context)
    }

    pub(super) fn free_memory(&self) -> Result<u64> {
        self.context.mem_get_info().map(|(free, _)| free as u64).map_err(|e| failed("query the free device memory", e))
    }

    pub(super) fn set_memory_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        self.memory.set_limit(bytes);
    }

    /// Returns the memory budget of a call in bytes: the limit, or 90 % of the memory that is free or pooled.
    pub(crate) fn budget(&self) -> Result<u64> {
        match self.limit.load(Ordering::Relaxed) {
            0 => Ok((self.free_memory()? + self.memory.held() - self.memory.used()) / 100 * BUDGET_PERCENT),
            limit => Ok(limit),
        }
    }

    /// Returns the number of bytes that can be allocated now: the rest of the limit for this call, or the budget.
    pub(crate) fn available(&self) -> Result<u64> {
        match self.limit.load(Ordering::Relaxed) {
            0 => self.budget(),
            limit => Ok(limit.saturating_sub(self.memory.used_by_call())),
        }
    }

    pub(super) fn trim(&self) {
        self.memory.trim();
        self.transfer.trim();
    }

    pub(super) fn held(&self) -> u64 {
        self.memory.held()
    }
}

/// A stream; dropping it waits for its work (rule 2 above).
pub(crate) struct Stream {
    stream: Arc<CudaStream>,
    /// True if a launch may start before the one ahead of it is over ([`EARLY_LAUNCHES_FROM`]).
    early_launches: bool,
    /// The list that gets the stream back after its use.
    unused: Option<Unused>,
}

/// The unused streams of a device.
type Unused = Arc<Mutex<Vec<Arc<CudaStream>>>>;

fn new_stream(context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
    context.new_stream().map_err(|e| failed("create a CUDA stream", e))
}

impl Stream {
    fn new(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(Self { stream: new_stream(context)?, early_launches: false, unused: None })
    }

    fn raw(&self) -> &CudaStream {
        &self.stream
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(|e| failed("finish the work on the CUDA device", e))
    }

    pub(crate) fn record(&self, event: &Event) -> Result<()> {
        event.0.record(&self.stream).map_err(|e| failed("record a CUDA event", e))
    }

    /// Makes the work that is queued from now on wait for `event`, which may be in any stream.
    pub(crate) fn wait(&self, event: &Event) -> Result<()> {
        self.stream.wait(&event.0).map_err(|e| failed("wait for a CUDA event", e))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A failed stream has no work left, and is not reused. Clear an error left by something that was freed before,
        // which is not this stream's error.
        let _ = self.stream.context().check_err();
        if self.stream.synchronize().is_ok()
            && let Some(unused) = &self.unused
        {
            unused.lock().unwrap_or_else(|e| e.into_inner()).push(self.stream.clone());
        }
    }
}

/// A point in a stream's work, which records the time when it is reached.
pub(crate) struct Event(cudarc::driver::CudaEvent);

impl Event {
    fn new(context: &Arc<CudaContext>) -> Result<Self> {
        Self::with_flags(context, sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    /// Creates an event that does not record the time, which costs the driver less.
    fn untimed(context: &Arc<CudaContext>) -> Result<Self> {
        Self::with_flags(context, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn with_flags(context: &Arc<CudaContext>, flags: sys::CUevent_flags) -> Result<Self> {
        context.new_event(Some(flags)).map(Self).map_err(|e| failed("create a CUDA event", e))
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.0.synchronize().map_err(|e| failed("finish the work on the CUDA device", e))
    }

    /// Returns whether the work before it is done.
    pub(crate) fn is_done(&self) -> Result<bool> {
        self.0.try_is_complete().map_err(|e| failed("finish the work on the CUDA device", e))
    }

    /// Returns the seconds from this event to a later one; both must have been reached.
    pub(crate) fn seconds_to(&self, later: &Self) -> Result<f64> {
        self.0
            .elapsed_ms(&later.0)
            .map(|ms| f64::from(ms) / 1e3)
            .map_err(|e| failed("read the time of a CUDA event", e))
    }
}

/// Keeps the queue of a stream short, so that a cancelled call does not wait for many launches.
pub(crate) struct ShortQueue {
    reached: [Event; 2],
    next: usize,
}

impl ShortQueue {
    pub(crate) fn new(cuda: &Cuda) -> Result<Self> {
        Ok(Self { reached: [cuda.event()?, cuda.event()?], next: 0 })
    }

    /// Waits until all launches of the stream except the last two are done. Call this after each launch.
    pub(crate) fn follow(&mut self, stream: &Stream) -> Result<()> {
        let oldest = &self.reached[self.next];
        oldest.synchronize()?;
        stream.record(oldest)?;
        self.next = 1 - self.next;
        Ok(())
    }
}

/// A texture object bound to a device buffer of floats, read without filtering.
pub(crate) struct Texture(sys::CUtexObject);

/// The way in which a [`Texture`] reads its buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextureShape {
    /// Rows of `pitch` bytes; coordinates are clamped to the edge.
    Rows { width: usize, height: usize, pitch: usize },
    /// A single row of `bytes`.
    Linear { bytes: usize },
}

impl Texture {
    /// Binds `buffer`, which must outlive every use of the texture.
    pub(crate) fn new(buffer: &Buffer, shape: TextureShape) -> Result<Self> {
        let extent = match shape {
            TextureShape::Rows { height, pitch, .. } => height * pitch,
            TextureShape::Linear { bytes } => bytes,
        };
        assert!(extent <= buffer.bytes(), "a texture must lie within its buffer");
        let format = sys::CUarray_format::CU_AD_FORMAT_FLOAT;
        let (kind, res) = match shape {
            TextureShape::Rows { width, height, pitch } => (
                sys::CUresourcetype::CU_RESOURCE_TYPE_PITCH2D,
                sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1 {
                    pitch2D: sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
                        devPtr: buffer.address(),
                        format,
                        numChannels: 1,
                        width,
                        height,
                        pitchInBytes: pitch,
                    },
                },
            ),
            TextureShape::Linear { bytes } => (
                sys::CUresourcetype::CU_RESOURCE_TYPE_LINEAR,
                sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1 {
                    linear: sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
                        devPtr: buffer.address(),
                        format,
                        numChannels: 1,
                        sizeInBytes: bytes,
                    },
                },
            ),
        };
        let resource = sys::CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 };
        let clamp = sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP;
        let point = sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT;
        let reading = sys::CUDA_TEXTURE_DESC {
            addressMode: [clamp; 3],
            filterMode: point,
            flags: 0,
            maxAnisotropy: 0,
            mipmapFilterMode: point,
            mipmapLevelBias: 0.0,
            minMipmapLevelClamp: 0.0,
            maxMipmapLevelClamp: 0.0,
            borderColor: [0.0; 4],
            reserved: [0; 12],
        };
        let mut texture = 0;
        // SAFETY: both descriptions are complete, and the buffer covers the extent (asserted above).
        unsafe { sys::cuTexObjectCreate(&mut texture, &resource, &reading, std::ptr::null()) }
            .result()
            .map_err(|e| failed("create a CUDA texture", e))?;
        Ok(Self(texture))
    }

    /// Returns the handle that kernels take.
    pub(crate) fn handle(&self) -> u64 {
        self.0
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        // SAFETY: made by cuTexObjectCreate and destroyed once.
        let _ = unsafe { sys::cuTexObjectDestroy(self.0) }.result();
    }
}

/// Checks that the pixels are in device memory of `cuda`, in one allocation.
pub(crate) fn check_device_pixels(cuda: &Cuda, what: &str, pixels: &DevicePixels<'_>) -> Result<()> {
    let [width, height, depth] = pixels.shape;
    let bytes = (depth - 1) * pixels.strides[1] + (height - 1) * pixels.strides[0] + width * pixels.pixel_type.bytes();
    check_device_range(cuda, what, pixels.address, bytes)
}

/// Checks that `bytes` bytes from `address` on are device memory of `cuda` and in one allocation.
pub(crate) fn check_device_range(cuda: &Cuda, what: &str, address: u64, bytes: usize) -> Result<()> {
    let mut kind: u32 = 0;
    let mut ordinal: i32 = -1;
    // SAFETY: each attribute writes the int whose address is given; the driver accepts any address in the query.
    let known = unsafe {
        sys::cuPointerGetAttribute(
            (&raw mut kind).cast::<c_void>(),
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            address,
        )
        .result()
        .and_then(|()| {
            sys::cuPointerGetAttribute(
                (&raw mut ordinal).cast::<c_void>(),
                sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                address,
            )
            .result()
        })
    };
    // The driver reports an unknown address as an invalid value; any other error has another cause.
    let known = match known {
        Err(e) if e.0 != sys::CUresult::CUDA_ERROR_INVALID_VALUE => return Err(failed("query a CUDA address", e)),
        known => known.is_ok(),
    };
    if !known || kind != sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 {
        return Err(Error::argument(format!(
            "cannot use {what} as CUDA memory: its address must be on a CUDA device (got {address:#x}); pass host memory as \
             host memory, or a pointer from cuMemAlloc or cudaMalloc"
        )));
    }
    if ordinal != cuda.index as i32 {
        return Err(Error::argument(format!(
            "cannot use {what}: it must be in the memory of the context's device, cuda:{} (got cuda:{ordinal}); use a \
             context on that device, or copy it",
            cuda.index
        )));
    }
    let (mut base, mut size) = (0, 0usize);
    // SAFETY: writes an address and a size; the address is known to the driver.
    unsafe { sys::cuMemGetAddressRange_v2(&mut base, &mut size, address) }
        .result()
        .map_err(|e| failed("query a CUDA allocation", e))?;
    if address as u128 + bytes as u128 > base as u128 + size as u128 {
        return Err(Error::size(format!(
            "cannot use {what}: its CUDA allocation must have {bytes} bytes from the pointer on (got {}); correct the size \
             or the strides, or allocate more",
            base + size as u64 - address
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_without_kernels_is_unavailable_and_has_not_failed() {
        // The names of errors come from the driver, so this test runs only where there is one.
        if let Err(error) = find::start() {
            eprintln!("skipped: {error}");
            return;
        }
        let error = failed("load", DriverError(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU));
        assert_eq!(error.kind(), ErrorKind::DeviceUnavailable);
        let error = failed("allocate", DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    }
}
