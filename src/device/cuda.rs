//! CUDA as a device, through the driver API that is loaded at run time: the embedded kernels, streams, events and
//! textures. Finding devices, and saying why one cannot be used, is in [`find`]; memory in [`memory`].
//!
//! # Safety
//! All calls into the driver are here, in [`find`] and in [`memory`]. Two rules keep them sound:
//! 1. The context is bound to the calling thread before a call ([`Cuda::bind`]).
//! 2. Memory that a stream works on outlives that work: owners hold their [`Stream`]s in fields before their buffers,
//!    and dropping a [`Stream`] waits for it.
#![allow(unsafe_code)]

pub(super) mod find;
mod host;
mod memory;
#[cfg(test)]
pub(crate) mod source;

pub(crate) use host::{Host, needs_staging, pack, unpack};
pub(crate) use memory::{Buffer, Memory, Pinned, Side, is_pinned};
pub use memory::{DeviceImage, DevicePixel};

use super::DeviceInfo;
use crate::error::{Error, ErrorKind, Result};
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, DriverError, LaunchConfig};
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The kernels that build.rs compiled, one fatbin per operation with its name; or why there are none.
#[cfg(isoline_cuda)]
const FATBINS: Result<&[(&str, &[u8])], &str> = Ok(include!(concat!(env!("OUT_DIR"), "/fatbins.rs")));
#[cfg(not(isoline_cuda))]
const FATBINS: Result<&[(&str, &[u8])], &str> = Err(env!("ISOLINE_NO_CUDA_REASON"));

/// The lowest compute capability that the kernels are built for, as 75 for 7.5.
#[cfg(isoline_cuda)]
const LOWEST_ARCHITECTURE: &str = env!("ISOLINE_CUDA_LOWEST");
#[cfg(not(isoline_cuda))]
const LOWEST_ARCHITECTURE: &str = "75";

/// The share of the free device memory that a job may take when no limit is set, in percent.
const BUDGET_PERCENT: u64 = 90;

/// Turns a driver error into ours: `what` completes "could not …".
pub(crate) fn failed(what: &str, error: DriverError) -> Error {
    let name = error.error_name().map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    let text = error.error_string().map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned());
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::memory(format!(
            "the CUDA device could not {what}: out of memory ({name}); close other programs that use the GPU, or use the device cpu"
        )),
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_INVALID_IMAGE => unavailable(format!(
            "this build has no kernel image for the card or its driver ({name}: {text}); update the NVIDIA driver, or use the device cpu"
        )),
        _ => Error::new(
            ErrorKind::DeviceFailed,
            format!(
                "the CUDA device could not {what} ({name}: {text}); if it repeats, restart the program or use the device cpu"
            ),
        ),
    }
}

fn unavailable(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::DeviceUnavailable, message)
}

/// A CUDA device in use: its context, kernels and memory.
pub(crate) struct Cuda {
    memory: Arc<Memory>,
    context: Arc<CudaContext>,
    index: u32,
    multiprocessors: u32,
    /// Launches may start before the one ahead of them is over (from compute capability 9.0 on).
    early_launches: bool,
    modules: Mutex<HashMap<&'static str, Arc<CudaModule>>>,
    functions: Mutex<HashMap<String, CudaFunction>>,
    /// Bytes; 0 = automatic.
    limit: AtomicU64,
}

impl Cuda {
    /// The first CUDA device that can load the kernels.
    pub(super) fn first_usable() -> Result<(Arc<Self>, DeviceInfo)> {
        let count = find::start()?;
        let mut reasons = Vec::new();
        for index in 0..count {
            match Self::open(index) {
                Ok(found) => return Ok(found),
                Err(error) => reasons.push(format!("cuda:{index}: {error}")),
            }
        }
        Err(unavailable(format!("no CUDA device can be used ({})", reasons.join("; "))))
    }

    /// Device `index`, with its kernels loaded as a proof that it works.
    pub(super) fn open(index: u32) -> Result<(Arc<Self>, DeviceInfo)> {
        let count = find::start().map_err(|e| unavailable(format!("cuda:{index} cannot be used: {e}")))?;
        if index >= count {
            return Err(unavailable(format!(
                "there is no device cuda:{index}: this machine has {count} CUDA device(s), cuda:0 to cuda:{}",
                count - 1
            )));
        }
        let (info, context) = find::open(index);
        let Some(context) = context else { return Err(unavailable(info.reason)) };
        let opened = catch_unwind(AssertUnwindSafe(|| -> Result<Arc<Self>> {
            // SAFETY: this module orders streams and frees itself (rule 2 above); cudarc's own tracking would only add
            // an event to every launch.
            unsafe { context.disable_event_tracking() };
            let cuda = Arc::new(Self {
                memory: Memory::new(context.clone()),
                index,
                multiprocessors: info.multiprocessors,
                early_launches: info.compute_capability.0 >= 9,
                modules: Mutex::default(),
                functions: Mutex::default(),
                limit: AtomicU64::new(0),
                context,
            });
            for (name, _) in FATBINS.unwrap_or_default() {
                cuda.module(name)?;
            }
            Ok(cuda)
        }));
        match opened {
            Ok(cuda) => cuda.map(|cuda| (cuda, info)),
            Err(_) => Err(unavailable(format!("cuda:{index} cannot be used: the NVIDIA driver failed unexpectedly"))),
        }
    }

    /// Makes this device current on the calling thread. Every job starts with it.
    pub(crate) fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(|e| failed("be made current", e))
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Whether [`Stream::launch_early`] may be used.
    pub(crate) fn early_launches(&self) -> bool {
        self.early_launches
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// A limit of the device, such as the largest texture.
    pub(crate) fn attribute(&self, which: CUdevice_attribute) -> Result<i32> {
        self.context.attribute(which).map_err(|e| failed("tell a limit", e))
    }

    fn module(&self, name: &str) -> Result<Arc<CudaModule>> {
        let (name, image) = FATBINS
            .ok()
            .and_then(|all| all.iter().find(|(known, _)| *known == name))
            .ok_or_else(|| Error::unsupported(format!("this build has no kernels named {name}")))?;
        let mut modules = self.modules.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(module) = modules.get(name) {
            return Ok(module.clone());
        }
        let image = cudarc::nvrtc::Ptx::from_binary(image.to_vec());
        let module = self.context.load_module(image).map_err(|e| failed(&format!("load the kernels {name}"), e))?;
        modules.insert(name, module.clone());
        Ok(module)
    }

    /// The kernel `function` of the operation `module`; found once, then kept.
    pub(crate) fn function(&self, module: &str, function: &str) -> Result<CudaFunction> {
        // Two operations may have a kernel of the same name.
        let key = format!("{module}: {function}");
        let mut functions = self.functions.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = functions.get(&key) {
            return Ok(found.clone());
        }
        let found = self
            .module(module)?
            .load_function(function)
            .map_err(|e| failed(&format!("find the kernel {function}"), e))?;
        functions.insert(key, found.clone());
        Ok(found)
    }

    pub(crate) fn stream(&self) -> Result<Stream> {
        self.context.new_stream().map(Stream).map_err(|e| failed("make a stream", e))
    }

    /// An event that takes the time.
    pub(crate) fn event(&self) -> Result<Event> {
        self.context
            .new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
            .map(Event)
            .map_err(|e| failed("make an event", e))
    }

    pub(super) fn free_memory(&self) -> Result<u64> {
        self.context.mem_get_info().map(|(free, _)| free as u64).map_err(|e| failed("tell its free memory", e))
    }

    pub(super) fn set_memory_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// How many bytes a job may take now: the limit, or 90 % of what is free or pooled.
    pub(crate) fn budget(&self) -> Result<u64> {
        match self.limit.load(Ordering::Relaxed) {
            0 => Ok((self.free_memory()? + self.memory.held()) / 100 * BUDGET_PERCENT),
            limit => Ok(limit),
        }
    }

    pub(super) fn trim(&self) {
        self.memory.trim();
    }

    pub(super) fn held(&self) -> u64 {
        self.memory.held()
    }
}

/// A stream; dropping it waits for its work (rule 2 above).
pub(crate) struct Stream(Arc<cudarc::driver::CudaStream>);

impl Stream {
    /// cudarc's stream, for launches.
    pub(crate) fn raw(&self) -> &cudarc::driver::CudaStream {
        &self.0
    }

    /// Launches a kernel whose blocks may take their places before the launch ahead of it is over (programmatic
    /// dependent launch), which hides the time between two launches.
    ///
    /// # Safety
    /// As a plain launch: `arguments` point to the kernel's arguments, in its order (the driver reads as many as the
    /// kernel has; more may follow). And the kernel waits for the launch ahead (`wait_for_previous_launch` in
    /// `kernels/common.cuh`) before it touches memory.
    pub(crate) unsafe fn launch_early(
        &self,
        function: &CudaFunction,
        config: LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: config.grid_dim.0,
            gridDimY: config.grid_dim.1,
            gridDimZ: config.grid_dim.2,
            blockDimX: config.block_dim.0,
            blockDimY: config.block_dim.1,
            blockDimZ: config.block_dim.2,
            sharedMemBytes: config.shared_mem_bytes,
            hStream: self.0.cu_stream(),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        // SAFETY: the configuration is complete; the arguments are as the caller vouches.
        unsafe { sys::cuLaunchKernelEx(&config, function.cu_function(), arguments.as_mut_ptr(), std::ptr::null_mut()) }
            .result()
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.0.synchronize().map_err(|e| failed("finish its work", e))
    }

    pub(crate) fn record(&self, event: &Event) -> Result<()> {
        event.0.record(&self.0).map_err(|e| failed("record an event", e))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A failed stream has nothing left to wait for.
        let _ = self.0.synchronize();
    }
}

/// A point in a stream's work, and when it was reached.
pub(crate) struct Event(cudarc::driver::CudaEvent);

impl Event {
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.0.synchronize().map_err(|e| failed("finish its work", e))
    }

    /// Whether the work before it is done.
    pub(crate) fn is_done(&self) -> Result<bool> {
        self.0.try_is_complete().map_err(|e| failed("finish its work", e))
    }

    /// Seconds from this event to a later one; both done.
    pub(crate) fn seconds_to(&self, later: &Self) -> Result<f64> {
        self.0.elapsed_ms(&later.0).map(|ms| f64::from(ms) / 1e3).map_err(|e| failed("take the time", e))
    }
}

/// A texture object bound to a device buffer of floats, read without filtering.
pub(crate) struct Texture(sys::CUtexObject);

/// How a [`Texture`] sees its buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextureShape {
    /// Rows of `pitch` bytes; coordinates are clamped to the edge.
    Rows { width: usize, height: usize, pitch: usize },
    /// One line of bytes.
    Linear { bytes: usize },
}

impl Texture {
    /// Binds `buffer`, which must outlive the texture's use.
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
            .map_err(|e| failed("bind a texture", e))?;
        Ok(Self(texture))
    }

    /// The handle that kernels take.
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

/// Checks that `address` is device memory of `cuda` and that `bytes` from it on are one allocation's.
pub(crate) fn check_device_range(cuda: &Cuda, what: &str, address: u64, bytes: usize) -> Result<()> {
    let mut kind: u32 = 0;
    let mut ordinal: i32 = -1;
    // SAFETY: each attribute writes the int it is given room for; any address may be asked about.
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
    if known.is_err() || kind != sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 {
        return Err(Error::argument(format!(
            "{what} is said to be CUDA memory, but {address:#x} is not a CUDA device address; use host memory or a pointer from cuMemAlloc/cudaMalloc"
        )));
    }
    if ordinal != cuda.index as i32 {
        return Err(Error::argument(format!(
            "{what} is in the memory of cuda:{ordinal}, but the context is on cuda:{}",
            cuda.index
        )));
    }
    let (mut base, mut size) = (0, 0usize);
    // SAFETY: writes an address and a size; the address is known to the driver.
    unsafe { sys::cuMemGetAddressRange_v2(&mut base, &mut size, address) }
        .result()
        .map_err(|e| failed("tell an allocation's range", e))?;
    if address as u128 + bytes as u128 > base as u128 + size as u128 {
        return Err(Error::size(format!(
            "{what} needs {bytes} bytes from its pointer on, but its CUDA allocation has only {} there",
            base + size as u64 - address
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_without_kernels_is_not_a_device_failure() {
        // error_name needs the driver, so this only runs where there is one.
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
