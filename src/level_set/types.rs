//! The types that the plan, the definition and the stopping criterion share.

/// The constants of the definition in `scalar.rs`, in f32. They have the same names in the kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constants {
    /// The inverse spacing 1/h along x, y, z.
    pub inverse_spacing: [f32; 3],
    /// The centre T of the intensity range.
    pub intensity_centre: f32,
    /// 1 if pixels above T count as T, −1 if pixels below T count as T, else 0.
    pub open_side: f32,
    /// The factors Δt·α and −Δt·α·ε of the image term: −Δt·α·D(I) = |I − T|·intensity_gain + intensity_offset.
    pub intensity_gain: f32,
    pub intensity_offset: f32,
    /// The weight Δt·(1 − α)/2 of the divergence, times `RSQRT_SCALE`, because normals are 1/`RSQRT_SCALE` long.
    pub curvature_weight: f32,
    /// The bound of the normals' divergence, over `RSQRT_SCALE`.
    pub max_divergence: f32,
    /// The weight Δt·β·(1 − α)/2 of the edge term.
    pub edge_weight: f32,
    /// The largest |I − T| that counts: that of the finite pixels, or less, so that φ changes by at most 65536 times the
    /// largest spacing in an iteration. Pixels that are not finite count as this far from T.
    pub max_deviation: f32,
    /// The bound of −Δt·α·D(I) where φ approaches 0, see `plan::image_term_bounds`.
    pub max_inward_term: f32,
    /// The largest spacing. A voxel with |φ| up to this is near the front.
    pub max_spacing: f32,
    /// The half width of the narrow band: a voxel with |φ| up to this is within it.
    pub band_width: f32,
    /// The |φ| up to which one-sided differences are of second order; negative: nowhere.
    pub second_order_width: f32,
    /// The change of φ within the narrow band above which a tile stays active.
    pub activity_threshold: f32,
    /// The inverse of the smallest spacing.
    pub rms_scale: f32,
    /// The step of a reinitialisation, half the smallest spacing.
    pub reinit_time_step: f32,
    /// True for a volume, false for slices.
    pub volume: bool,
}

/// The counts of one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// The number of voxels with φ < 0 after it.
    pub inside: u64,
    /// The number of voxels whose sign changed.
    pub changed: u64,
    /// The number of voxels with |φ| up to the largest spacing before it, in the tiles that it updated.
    pub near: u64,
    /// The sum of `scalar::square` over these voxels.
    pub squares: u64,
}

/// The number of voxels in the middle of the object, which are inside with all their neighbours along each axis, and the
/// number of these whose intensity is at the range's limits, see `outcome.rs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fit {
    pub middle: u64,
    pub at_limits: u64,
}
