//! The initial φ: the signed distance to the boundary of the initial mask, on the device.

use super::{Solver, transfer};
use crate::device::cuda::Buffer;
use crate::distance::cuda::{signed_on_device, signed_workspace_bytes};
use crate::error::Result;

impl Solver {
    /// Sets φ to the signed distance to the boundary of the mask. The mask is at the beginning of the first buffer; the
    /// second holds the distance in packed rows until it is copied to the rows of the layout. Returns the number of voxels
    /// inside.
    pub(super) fn start(&self, [phi, other]: &[Buffer; 2]) -> Result<u64> {
        let Self { stream, cuda, plan, .. } = self;
        let [width, height, depth] = plan.shape;
        let workspace = signed_workspace_bytes(cuda, plan.shape, plan.dimensions)?;
        let workspace = if workspace > 0 { Some(cuda.memory().device(workspace)?) } else { None };
        signed_on_device(cuda, stream, phi, plan.shape, plan.spacing, plan.dimensions, other, workspace.as_ref())?;
        stream.fill(phi, 0, phi.bytes(), 0)?;
        // Neither buffer has gaps between slices.
        let (row, pitch) = (width * size_of::<f32>(), self.layout.pitch * size_of::<f32>());
        let to = transfer::slice_side(phi, &self.layout, size_of::<f32>(), 0);
        stream.copy(other.side(0), to, row, height * depth, [row, pitch])?;
        Ok(self.sanitize_phi([phi, other], plan.far, false)?.unwrap_or_default())
    }
}
