//! Copies between the memory of two GPUs.
#![allow(unsafe_code)]

use super::{Cuda, Side, Stream, failed};
use crate::error::Result;
use cudarc::driver::sys;

impl Cuda {
    /// Lets kernels and copies of this device access the memory of another device directly, if the machine supports it.
    /// Otherwise the driver copies through host memory.
    pub(crate) fn use_memory_of(&self, other: &Self) -> Result<()> {
        if self.context.cu_ctx() == other.context.cu_ctx() {
            return Ok(());
        }
        self.bind()?;
        let mut can = 0;
        // SAFETY: `can` is writable, and both devices exist.
        let asked =
            unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.context.cu_device(), other.context.cu_device()) };
        if asked.result().is_ok() && can != 0 {
            // SAFETY: this context is current, and the other one lives.
            let enabled = unsafe { sys::cuCtxEnablePeerAccess(other.context.cu_ctx(), 0) };
            log::debug!("access to the memory of another GPU: {enabled:?}");
        }
        Ok(())
    }
}

impl Stream {
    /// Queues a copy of `bytes` bytes from the memory of one device to that of another, or of the same.
    pub(crate) fn copy_between(&self, from: (&Cuda, Side), to: (&Cuda, Side), bytes: usize) -> Result<()> {
        let [source, target] = [from.1, to.1].map(|side| {
            let Side::Device { address, bytes: room } = side else { unreachable!("both sides are in device memory") };
            assert!(bytes <= room, "a copy must lie within its buffers");
            address
        });
        let [from, to] = [from.0, to.0].map(|cuda| cuda.context.cu_ctx());
        // SAFETY: the ranges were checked above, and are of these contexts; the lifetimes are those of `copy`.
        unsafe { sys::cuMemcpyPeerAsync(target, to, source, from, bytes, self.raw().cu_stream()) }
            .result()
            .map_err(|e| failed("copy between two GPUs", e))
    }
}
