//! The common parts of the kernel launches of all operations: kernels, geometry, arguments, errors, and the limits of CUDA.

use super::{Cuda, Stream, failed};
use crate::error::{Error, Result};
use cudarc::driver::sys::{self, CUdevice_attribute, CUfunction_attribute_enum};
use cudarc::driver::{CudaFunction, DeviceRepr, DriverError, LaunchConfig, result};
use std::ffi::c_void;
use std::sync::Arc;

/// The largest number of blocks of a grid along y, and along z.
pub(crate) const MAX_GRID_YZ: usize = 65535;

/// The largest number of arguments of a launch.
const MAX_ARGUMENTS: usize = 20;

/// A kernel, with its name for messages.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(super) function: CudaFunction,
    pub(super) name: Arc<str>,
}

impl Kernel {
    /// Allows the kernel to have `bytes` of dynamic shared memory.
    pub(crate) fn reserve_shared_memory(&self, bytes: usize) -> Result<()> {
        let attribute = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let done = self.function.set_attribute(attribute, bytes as i32);
        done.map_err(|e| failed(&format!("reserve shared memory for the kernel {}", self.name), e))
    }

    /// Returns the number of blocks that are resident on the device at the same time.
    pub(crate) fn resident_blocks(&self, cuda: &Cuda, threads: usize, shared_bytes: usize) -> Result<u32> {
        self.function
            .occupancy_max_active_blocks_per_multiprocessor(threads as u32, shared_bytes, None)
            .map(|blocks| blocks * cuda.multiprocessors())
            .map_err(|e| failed(&format!("query the resident blocks of the kernel {}", self.name), e))
    }

    fn launched(&self, done: std::result::Result<(), DriverError>) -> Result<()> {
        done.map_err(|e| failed(&format!("start the kernel {}", self.name), e))
    }
}

/// Returns the geometry of a launch without dynamic shared memory. The grid is limited along y and z to what CUDA
/// allows; kernels with larger grids loop over the rest.
pub(crate) fn geometry(grid: [usize; 3], block: [usize; 3]) -> LaunchConfig {
    let [x, y, z] = grid;
    LaunchConfig {
        grid_dim: (x as u32, y.min(MAX_GRID_YZ) as u32, z.min(MAX_GRID_YZ) as u32),
        block_dim: block.map(|side| side as u32).into(),
        shared_mem_bytes: 0,
    }
}

/// Returns the addresses of arguments, which the driver takes.
fn addresses(arguments: &[&dyn DeviceRepr]) -> [*mut c_void; MAX_ARGUMENTS] {
    let mut addresses = [std::ptr::null_mut(); MAX_ARGUMENTS];
    for (index, argument) in arguments.iter().enumerate() {
        addresses[index] = std::ptr::from_ref(*argument).cast_mut().cast();
    }
    addresses
}

impl Stream {
    /// Queues a launch.
    ///
    /// # Safety
    /// `arguments` are the kernel's, in its order and of its types (the driver reads as many as the kernel has; more
    /// may follow). The kernel accesses no memory but what their addresses stand for, which outlives the stream's work
    /// (rule 2 of the parent module).
    pub(crate) unsafe fn launch(
        &self,
        kernel: &Kernel,
        config: LaunchConfig,
        arguments: &[&dyn DeviceRepr],
    ) -> Result<()> {
        let LaunchConfig { grid_dim, block_dim, shared_mem_bytes } = config;
        let (function, stream) = (kernel.function.cu_function(), self.raw().cu_stream());
        // SAFETY: the caller guarantees the arguments.
        kernel.launched(unsafe {
            result::launch_kernel(function, grid_dim, block_dim, shared_mem_bytes, stream, &mut addresses(arguments))
        })
    }

    /// Queues a cooperative launch, whose blocks are all resident at the same time.
    ///
    /// # Safety
    /// The same as for [`launch`](Self::launch).
    pub(crate) unsafe fn launch_cooperative(
        &self,
        kernel: &Kernel,
        config: LaunchConfig,
        arguments: &[&dyn DeviceRepr],
    ) -> Result<()> {
        let LaunchConfig { grid_dim: grid, block_dim: block, shared_mem_bytes: shared } = config;
        let (function, stream) = (kernel.function.cu_function(), self.raw().cu_stream());
        // SAFETY: the caller guarantees the arguments.
        kernel.launched(unsafe {
            result::launch_cooperative_kernel(function, grid, block, shared, stream, &mut addresses(arguments))
        })
    }

    /// Queues a launch whose blocks may become resident before the launch ahead of it is over (programmatic dependent
    /// launch), which hides the time between two launches. Devices that cannot do this (before compute capability 9.0)
    /// do a plain launch.
    ///
    /// # Safety
    /// The same as for [`launch`](Self::launch). The kernel must wait for the launch ahead (`wait_for_previous_launch`
    /// in `kernels/common.cuh`) before it touches memory.
    pub(crate) unsafe fn launch_early(
        &self,
        kernel: &Kernel,
        config: LaunchConfig,
        arguments: &[&dyn DeviceRepr],
    ) -> Result<()> {
        if !self.early_launches {
            // SAFETY: the caller guarantees the arguments.
            return unsafe { self.launch(kernel, config, arguments) };
        }
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
            hStream: self.raw().cu_stream(),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let (function, mut arguments) = (kernel.function.cu_function(), addresses(arguments));
        // SAFETY: the configuration is complete; the caller guarantees the arguments.
        let done = unsafe { sys::cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), std::ptr::null_mut()) };
        kernel.launched(done.result())
    }
}

impl Cuda {
    /// Returns the bytes of shared memory that a block may have.
    pub(crate) fn shared_memory(&self) -> Result<usize> {
        let bytes = self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        Ok(bytes.max(0) as usize)
    }
}

/// Refuses an image with a side of more than `most` pixels, which the kernels could not index.
pub(crate) fn check_sides([width, height, depth]: [usize; 3], most: usize) -> Result<()> {
    if width.max(height).max(depth) <= most {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "cannot compute on a CUDA device: a side may have at most {most} pixels (got {width} x {height} x {depth}); use \
         the device cpu"
    )))
}
