//! The results of a level set: its state, mask, φ and statistics.

use super::image::{Checked, isoline_image};
use super::level_set::{isoline_level_set, isoline_level_set_side, lock};
use super::sized::{self, sized_struct};
use super::{check, guard, isoline_status};
use crate::image::PixelType;
use crate::level_set::{Side, State, Statistics, parameters};

/// The progress of a level set, and its parameters with every automatic one computed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_level_set_state {
    /// The size of the struct, set by isoline_level_set_state_init.
    pub struct_size: u32,
    /// 1 if the last step met the stopping criterion, else 0.
    pub converged: u32,
    /// The number of iterations between two tests of the stopping criterion.
    pub check_interval: u32,
    /// The limits of the intensity range, an isoline_level_set_side other than ISOLINE_LEVEL_SET_AUTO_SIDE.
    pub side: u32,
    /// The number of iterations done, without those of coarse levels.
    pub iterations: u64,
    /// The number of voxels inside: φ < 0.
    pub inside: u64,
    /// The number of tiles that the last iteration updated; all of them without a narrow band.
    pub active_tiles: u64,
    /// The number of tiles of the whole image.
    pub tiles: u64,
    /// T, the centre of the intensity range, in the image's own units.
    pub target: f64,
    /// ε, half the width of the intensity range, in the image's own units.
    pub epsilon: f64,
    /// The weight α of the image term.
    pub alpha: f64,
    /// The time step Δt.
    pub time_step: f64,
    /// The largest stable Δt.
    pub time_step_limit: f64,
    /// The number of iterations, counted from the start, after which the stopping criterion is likely to be met; UINT64_MAX
    /// if it never is. This is estimated from how fast the front's movement decreases towards the tolerances. Once the
    /// criterion is met, it is the number of iterations done.
    pub expected_iterations: u64,
    /// The share of voxels at the range's limits among those in the middle of the object, see ISOLINE_LEVEL_SET_AT_LIMIT.
    /// NaN if no front is at rest, if the object is too thin to have a middle, and with `regions`.
    pub limit_share: f64,
    /// The way in which the last step ended, an isoline_level_set_outcome.
    pub outcome: u32,
    /// The number of iterations of all coarse levels together, with `pyramid_levels`; 0 until the first step has done them.
    pub coarse_iterations: u32,
    /// The contrast K of the edge term (with `dimensions` 2, of the first slice); NaN without `edge_weight`.
    pub edge_contrast: f64,
    /// The number of tiles that store φ: all of them, unless a volume does not fit the memory of the GPU; φ is then stored
    /// near the front only.
    pub stored_tiles: u64,
}

sized_struct!(isoline_level_set_state, 128);

/// Returns the number of an isoline_level_set_side.
fn side_of(side: Side) -> u32 {
    if side == Side::Outside {
        return isoline_level_set_side::ISOLINE_LEVEL_SET_OUTSIDE as u32;
    }
    let place = parameters::SIDES.iter().position(|choice| *choice == Some(side));
    place.map_or(0, |place| parameters::SIDE.choices[place].value)
}

impl From<State> for isoline_level_set_state {
    fn from(state: State) -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            converged: u32::from(state.converged),
            check_interval: state.check_interval,
            side: side_of(state.side),
            iterations: state.iterations,
            inside: state.inside,
            active_tiles: state.active_tiles,
            tiles: state.tiles,
            target: state.target,
            epsilon: state.epsilon,
            alpha: state.alpha,
            time_step: state.time_step,
            time_step_limit: state.time_step_limit,
            expected_iterations: state.expected_iterations,
            limit_share: state.limit_share.unwrap_or(f64::NAN),
            outcome: state.outcome as u32,
            coarse_iterations: state.coarse_iterations,
            edge_contrast: state.edge_contrast.unwrap_or(f64::NAN),
            stored_tiles: state.stored_tiles,
        }
    }
}

/// The statistics of one iteration. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_iteration_statistics {
    /// The number of the iteration, counted from 1.
    pub iteration: u64,
    /// The number of voxels inside (φ < 0) after the iteration.
    pub inside: u64,
    /// The number of voxels whose sign the iteration changed.
    pub changed: u64,
    /// The number of voxels near the front before the iteration: |φ| at most the largest spacing, in the tiles that
    /// the iteration updated.
    pub near_front: u64,
    /// The root mean square of the change of φ over those voxels, in units of the smallest spacing.
    pub rms: f64,
}

impl From<&Statistics> for isoline_iteration_statistics {
    fn from(statistics: &Statistics) -> Self {
        Self {
            iteration: statistics.iteration,
            inside: statistics.inside,
            changed: statistics.changed,
            near_front: statistics.near,
            rms: statistics.rms,
        }
    }
}

/// Fills `state` with zeros; `struct_size` is sizeof *state, see "Structs". Call this before isoline_level_set_info.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_state_init(
    state: *mut isoline_level_set_state,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(state, struct_size, "state") })
}

/// Writes the current mask of a level set: 255 inside (φ < 0), 0 elsewhere.
///
/// @param level_set not NULL.
/// @param mask not NULL; ISOLINE_U8, the size of the level set's input, host or CUDA memory, or slices, all of which are in
///   memory until the last is written. A callback must not use the level set.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE; _OVERLAP for
///   rows that overlap each other; _UNSUPPORTED for CUDA pixels with a CPU context; _OUT_OF_MEMORY; _DEVICE_FAILED;
///   _CALLBACK_FAILED; _CANCELLED; _BUSY. Threads: as for isoline_level_set_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_read_mask(
    level_set: *mut isoline_level_set,
    mask: *const isoline_image,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
        unsafe {
            let level_set = lock(level_set)?;
            level_set.read_mask(Checked::sliced_to_write(mask, "mask")?.sink(PixelType::U8)?)
        }
    })
}

/// Writes the current φ of a level set. It is negative inside and, near the front, close to the signed distance to it, in
/// the unit of the input's spacing.
///
/// @param level_set not NULL.
/// @param phi not NULL; ISOLINE_F32, the size of the level set's input, host or CUDA memory, or slices, as for
///   isoline_level_set_read_mask.
/// @return ISOLINE_OK or an error; errors and threads: as for isoline_level_set_read_mask.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_read_phi(
    level_set: *mut isoline_level_set,
    phi: *const isoline_image,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
        unsafe {
            let level_set = lock(level_set)?;
            level_set.read_phi(Checked::sliced_to_write(phi, "phi")?.sink(PixelType::F32)?)
        }
    })
}

/// Replaces the φ of a level set, for example by one that was saved or edited. The count of iterations is kept.
///
/// @param level_set not NULL.
/// @param phi not NULL; ISOLINE_F32, finite, the size of the level set's input, host or CUDA memory, or slices, all of which
///   are read first; negative inside, near the front close to a distance in the unit of the input's spacing. With
///   ISOLINE_LEVEL_SET_BAND, a φ without a voxel in the narrow band cannot move; φ is like this if it was saved when a front
///   rested at sharp edges. The first iteration then changes nothing, and φ becomes the distance to its front. Values are
///   clamped to ±65536 times the largest spacing, or to ±10 times if φ is stored near the front only.
/// @return ISOLINE_OK or an error: ISOLINE_INVALID_ARGUMENT for NaN or infinity; else, and threads, as for
///   isoline_level_set_read_mask. After an error the level set is unchanged, with two exceptions: after
///   ISOLINE_DEVICE_FAILED, and after ISOLINE_OUT_OF_MEMORY with `stored_tiles`, φ is not known. Write it again, or free the
///   level set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_write_phi(
    level_set: *mut isoline_level_set,
    phi: *const isoline_image,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
        unsafe {
            let mut level_set = lock(level_set)?;
            let phi = Checked::sliced(phi, "phi")?;
            phi.check_type(PixelType::F32)?;
            level_set.write_phi(phi.source()?)
        }
    })
}

/// Returns the progress of a level set, and its parameters with every automatic one computed.
///
/// @param level_set not NULL.
/// @param out not NULL; after isoline_level_set_state_init; written on success.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for a struct_size that is too small;
///   _BUSY. Threads: as for isoline_level_set_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_info(
    level_set: *mut isoline_level_set,
    out: *mut isoline_level_set_state,
) -> isoline_status {
    // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused by each reader.
    guard(|| unsafe { sized::write(out, &lock(level_set)?.state().into(), "out") })
}

/// Returns the statistics of iterations, for example to plot how the front comes to rest. Those of the last million
/// iterations are kept.
///
/// @param level_set not NULL.
/// @param first the first iteration to return, counted from 1; pass one more than the last iteration seen to get only new
///   ones.
/// @param count the number of elements that `out` has memory for.
/// @param out receives the kept statistics of the iterations from `first` on, the oldest first, at most `count`; further
///   elements are unchanged. May be NULL if `count` is 0.
/// @param written not NULL; receives the number of elements that were written.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_SIZE for a `count` that cannot be addressed; _BUSY.
///   Threads: as for isoline_level_set_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_statistics(
    level_set: *mut isoline_level_set,
    first: u64,
    count: usize,
    out: *mut isoline_iteration_statistics,
    written: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let level_set = unsafe { lock(level_set) }?;
        let kept = level_set.statistics();
        let of_interest = &kept[kept.partition_point(|statistics| statistics.iteration < first)..];
        // SAFETY: as the caller ensures.
        unsafe { check::give(of_interest.iter().map(Into::into), count, out, written) }
    })
}
