//! Checks that the parameters of every operation go through.

use crate::error::{Error, Result};

/// Refuses the first of some named fields that is not a finite number.
pub(super) fn finite(fields: &[(&str, f64)]) -> Result<()> {
    match fields.iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((name, value)) => Err(Error::argument(format!("{name} must be a finite number, but it is {value}"))),
    }
}

/// Refuses a field kept for later versions that is not 0.
pub(super) fn reserved(value: u32) -> Result<()> {
    if value == 0 { Ok(()) } else { Err(Error::argument(format!("params->reserved must be 0, but it is {value}"))) }
}

/// The error of an enum field with an unknown number.
pub(super) fn unknown(field: &str, choices: &str, value: u32) -> Error {
    Error::argument(format!("{field} must be {choices}, but it is {value}"))
}
