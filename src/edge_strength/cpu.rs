use super::Steps;
use crate::error::Result;
use crate::progress::Ticker;

pub(super) fn iterate(
    _field: &mut Vec<f32>,
    _fixed: &[u8],
    _shape: [usize; 3],
    _steps: &Steps<'_>,
    _ticker: &Ticker,
) -> Result<()> {
    Err(crate::Error::new(crate::ErrorKind::Unsupported, "being written"))
}
