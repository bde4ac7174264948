//! The plan of a call: checked parameters, the scaling of float images, and thresholds in the working image's units.

use super::gradient::Quantised;
use super::taps::Taps;
use super::{Operator, Params, Profile, Variant, parameters};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::PixelType;
use crate::levels::MAX_LEVEL;
pub(super) use crate::levels::Quantise;
use crate::parameter::check_scaling;
use crate::progress::Progress;
use crate::slice_io::Input;
use ndarray::ArrayView2;

/// The default gradient threshold of 8-bit images. For other types it is this, times the range over 255.
pub(super) const DEFAULT_THRESHOLD: f64 = 20.0;

/// The parameters of one call, checked, with each automatic one computed.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) profile: Profile,
    pub(super) operator: Operator,
    /// The Gaussian that smooths the image.
    pub(super) taps: Taps,
    /// The gradient threshold T ≥ 1: an edge pixel has at least this gradient.
    pub(super) threshold: u32,
    /// The anchor threshold A: an anchor's gradient exceeds those of its neighbours by at least this.
    pub(super) anchor: u32,
    pub(super) scan: usize,
    pub(super) min_length: usize,
    pub(super) follow_turns: bool,
    pub(super) variant: Variant,
    /// The scaling of float input to integers.
    pub(super) quantise: Option<Quantise>,
    /// The size of one unit of the working image in the input's own units (1 for integers, 0 for a float image without
    /// extent).
    pub(super) unit: f64,
    /// The input's own value that is 0 in the working image.
    pub(super) origin: f64,
}

impl Params {
    /// Refuses parameters that are wrong for all pixels of this type.
    pub(super) fn check(&self, pixel_type: PixelType) -> Result<()> {
        parameters::SIGMA.check(self.sigma)?;
        parameters::GRADIENT_THRESHOLD.check_if_given(self.gradient_threshold)?;
        parameters::ANCHOR_THRESHOLD.check(self.anchor_threshold)?;
        parameters::SCAN_INTERVAL.check(f64::from(self.scan_interval))?;
        check_scaling(&parameters::RANGE_MIN, &parameters::RANGE_MAX, self.range, pixel_type)?;
        if self.variant == Variant::Scalar && self.profile == Profile::Reference {
            return Err(Error::unsupported(
                "the variant scalar is the paper profile's definition; use the default variant for the reference profile",
            ));
        }
        Ok(())
    }

    /// Returns the Gaussian that smooths the image. For the reference profile it is no smoothing if σ in single precision
    /// is less than 1, as in OpenCV's EdgeDrawing.
    pub(super) fn taps(&self) -> Taps {
        match self.profile {
            Profile::Reference if (self.sigma as f32) < 1.0 => Taps::new(0.0),
            _ => Taps::new(self.sigma),
        }
    }

    /// Returns whether [`plan`](Self::plan) needs the range of the pixels of the whole input.
    pub(super) fn needs_range(&self, pixel_type: PixelType) -> bool {
        match pixel_type {
            PixelType::U8 => false,
            PixelType::U16 => self.gradient_threshold.is_none(),
            PixelType::F32 => self.range.is_none(),
        }
    }

    /// Returns the same parameters with values for all automatic ones that depend on the whole stack. With `independent`
    /// the slices may then be computed in several parts, each with these parameters.
    pub(super) fn of_stack(
        &self,
        context: &Context,
        input: &mut Input<'_>,
        independent: bool,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        let mut params = self.with_threshold(context, input, progress)?;
        if independent && params.range.is_none() {
            params.range = range(context, &params, input, progress)?;
        }
        Ok(params)
    }

    /// Returns the range of the pixels by which default thresholds are scaled.
    pub(super) fn extent(&self, pixel_type: PixelType, range: Option<[f64; 2]>) -> [f64; 2] {
        match pixel_type {
            PixelType::U8 => [0.0, 255.0],
            PixelType::U16 => range.unwrap_or([0.0, MAX_LEVEL]),
            PixelType::F32 => self.range.or(range).unwrap_or([0.0, 1.0]),
        }
    }

    /// Returns the plan for one image. `range` is given if [`needs_range`](Self::needs_range) says so. Call
    /// [`check`](Self::check) first.
    pub(super) fn plan(&self, pixel_type: PixelType, range: Option<[f64; 2]>) -> Plan {
        let [low, high] = self.extent(pixel_type, range);
        let extent = (high - low).max(0.0);
        let threshold = self.gradient_threshold.unwrap_or(DEFAULT_THRESHOLD / 255.0 * extent);
        let (quantise, unit, origin) = match pixel_type {
            PixelType::F32 => (Some(Quantise::new(low, high)), extent / MAX_LEVEL, low),
            _ => (None, 1.0, 0.0),
        };
        // A gradient is an integer, so it is at least t if and only if it is at least ceil(t). `as` saturates, so a
        // threshold above every gradient remains above. An image without extent has no gradients.
        let whole = |value: f64| if unit > 0.0 { (value / unit).ceil() as u32 } else { u32::MAX };
        Plan {
            profile: self.profile,
            operator: self.operator,
            taps: self.taps(),
            threshold: whole(threshold).max(1),
            anchor: whole(self.anchor_threshold),
            scan: self.scan_interval as usize,
            min_length: self.min_length as usize,
            follow_turns: self.follow_turns,
            variant: self.variant,
            quantise,
            unit,
            origin,
        }
    }
}

impl Plan {
    /// Returns float pixels as the working image.
    pub(super) fn quantised<'a>(&self, pixels: ArrayView2<'a, f32>) -> Quantised<'a> {
        let quantise = self.quantise.unwrap_or_else(|| unreachable!("float images have a scaling"));
        Quantised { pixels, quantise }
    }
}

/// Returns the automatic range of the pixels if the parameters need it.
pub(super) fn range(
    context: &Context,
    params: &Params,
    input: &mut Input<'_>,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<Option<[f64; 2]>> {
    let needed = params.needs_range(input.pixel_type());
    needed.then(|| context.automatic_range(super::STAGE, input, progress)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_in_the_images_own_units() {
        let params = Params { gradient_threshold: Some(2.5), anchor_threshold: 0.5, ..Params::default() };
        let plan = params.plan(PixelType::U8, None);
        assert_eq!((plan.threshold, plan.anchor), (3, 1));
        let plan = params.plan(PixelType::F32, Some([0.0, 10.0]));
        assert_eq!((plan.threshold, plan.anchor), (16384, 3277));
        assert_eq!(
            plan.quantise.map(|q| [q.value(0.0), q.value(5.0), q.value(20.0), q.value(f32::NAN)]),
            Some([0, 32768, 65535, 0])
        );
    }

    #[test]
    fn the_automatic_threshold_follows_the_range() {
        let params = Params::default();
        assert_eq!(params.plan(PixelType::U8, None).threshold, 20);
        assert_eq!(params.plan(PixelType::U16, Some([1000.0, 1255.0])).threshold, 20);
        assert_eq!(params.plan(PixelType::F32, Some([-1.0, 1.0])).threshold, 5140);
    }

    #[test]
    fn zero_acts_as_one_and_a_flat_image_has_no_edges() {
        let params = Params { gradient_threshold: Some(0.0), ..Params::default() };
        assert_eq!(params.plan(PixelType::U16, None).threshold, 1);
        assert_eq!(params.plan(PixelType::F32, Some([3.0, 3.0])).threshold, u32::MAX);
        let params = Params { gradient_threshold: Some(1e300), ..Params::default() };
        assert_eq!(params.plan(PixelType::U8, None).threshold, u32::MAX);
    }
}
