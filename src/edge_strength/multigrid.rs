use crate::error::Result;
use crate::progress::Ticker;

pub(super) struct Solution {
    pub cycles: u64,
    pub residual: f64,
    pub converged: bool,
}

pub(super) struct Goal {
    pub lambda: f64,
    pub tolerance: f64,
    pub max_cycles: u64,
}

pub(super) fn solve(
    _field: &mut [f32],
    _fixed: &[u8],
    _shape: [usize; 3],
    _goal: &Goal,
    _ticker: &Ticker,
) -> Result<Solution> {
    Err(crate::Error::new(crate::ErrorKind::Unsupported, "being written"))
}
