//! The names of devices.

use crate::error::{Error, Result};

/// Reads a number of digits only; `parse` alone would take "+1" too.
pub(super) fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Returns the error of a device whose name is none.
pub(super) fn unknown_name(name: &str) -> Error {
    Error::argument(format!(
        "cannot open the device: its name must be auto, cpu, cuda or cuda:N, a list such as cuda:0,2, or cuda:all (got '{}')",
        name.escape_debug()
    ))
}

/// Returns the numbers of a list of CUDA devices, none for `cuda:all`; `None` if `name` is that of one device.
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
