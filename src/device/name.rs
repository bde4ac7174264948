//! The names of devices.

use crate::error::{Error, Result};

/// Reads a number that consists of digits only; `parse` alone would accept "+1", too.
pub(super) fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Returns the error for a name that is not that of a device.
pub(super) fn unknown_name(name: &str) -> Error {
    Error::argument(format!(
        "cannot open the device: its name must be auto, cpu, cuda or cuda:N, a list such as cuda:0,2, or cuda:all (got '{}')",
        name.escape_debug()
    ))
}

/// Returns the numbers in a list of CUDA devices, which is empty for `cuda:all`; `None` if `name` is not a list.
pub(super) fn list_of(name: &str) -> Result<Option<Vec<u32>>> {
    let Some(list) = name.strip_prefix("cuda:") else { return Ok(None) };
    if list == "all" {
        return Ok(Some(Vec::new()));
    }
    if !list.contains(',') {
        return Ok(None);
    }
    let numbers = list.split(',').map(number).collect::<Option<Vec<_>>>().ok_or_else(|| unknown_name(name))?;
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::argument(format!(
            "cannot open the devices {name}: a list may have each number once (got {} twice); leave one out",
            pair[0]
        ))),
        None => Ok(Some(numbers)),
    }
}
