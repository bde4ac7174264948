//! The checks of distances between the centres of pixels.

use crate::error::{Error, Result, finite};

/// The largest ratio of two spacings at which squared lengths, in units of the smallest spacing, are still finite floats.
pub(crate) const MOST_ANISOTROPY: f64 = 1e9;

/// Refuses spacings along x, y and z if lengths, or squared lengths in units of the smallest spacing, might overflow a
/// float in an image of any size, and spacings of which one is more than `most_anisotropy` times another.
pub(crate) fn check_spacing(spacings: &[f64], most_anisotropy: f64) -> Result<()> {
    check_spacing_within([1e-15, 1e15], spacings, most_anisotropy)
}

/// Refuses spacings along x, y and z outside a range, and spacings of which one is more than `most_anisotropy` times
/// another.
pub(crate) fn check_spacing_within([least, most]: [f64; 2], spacings: &[f64], most_anisotropy: f64) -> Result<()> {
    let named = || ["x", "y", "z"].into_iter().zip(spacings.iter().copied());
    for (axis, spacing) in named() {
        let name = format!("spacing along {axis}");
        if !(least..=most).contains(&finite(&name, spacing)?) {
            return Err(Error::argument(format!(
                "{name} must be greater than 0, from {least:e} to {most:e}, but it is {spacing:?}; give it in another unit"
            )));
        }
    }
    let by_size = |(_, a): &(&str, f64), (_, b): &(&str, f64)| a.total_cmp(b);
    if let (Some((fine, least)), Some((coarse, most))) = (named().min_by(by_size), named().max_by(by_size))
        && most > most_anisotropy * least
    {
        return Err(Error::argument(format!(
            "spacing along {coarse} may be at most {most_anisotropy} times that along {fine}, but they are {most:?} and \
             {least:?}; give all in one unit, or resample the image"
        )));
    }
    Ok(())
}

/// Returns the smallest and the largest of some spacings.
pub(crate) fn smallest_and_largest(spacings: &[f64]) -> [f64; 2] {
    [f64::min, f64::max].map(|best| spacings.iter().copied().reduce(best).unwrap_or(1.0))
}
