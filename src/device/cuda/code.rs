//! The compiled kernels: machine code for each architecture that build.rs names, and PTX, which the driver compiles for
//! GPUs that are newer than the machine code.

use super::unavailable;
use crate::error::Result;
use crate::memory::reserved;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Mutex;

/// The code of one operation for one architecture.
pub(super) struct Code {
    /// The compute capability, as 75 for 7.5. Machine code runs on GPUs with this capability and with later ones of the
    /// same major version; PTX runs on all later ones.
    pub(super) architecture: u32,
    pub(super) ptx: bool,
    lzma: &'static [u8],
}

/// The code of each operation, by name; or the reason for having none.
#[cfg(isoline_cuda)]
pub(super) const KERNELS: Result<&[(&str, &[Code])], &str> = Ok(include!(concat!(env!("OUT_DIR"), "/embedded.rs")));
#[cfg(not(isoline_cuda))]
pub(super) const KERNELS: Result<&[(&str, &[Code])], &str> = Err(env!("ISOLINE_NO_CUDA_REASON"));

/// An upper bound of the memory that the decoder needs to unpack the kernels of an operation, in bytes.
const MOST_BYTES: usize = 16 << 20;

impl Code {
    /// Chooses the code for a GPU: the newest machine code that it can run, otherwise the newest PTX. For tests, the
    /// environment variable `ISOLINE_CUDA_CODE` selects a code such as `compute_75`, so that a newer GPU runs the code of
    /// an older one.
    pub(super) fn for_card(codes: &[Code], (major, minor): (u32, u32)) -> Result<&Code> {
        let card = major * 10 + minor;
        let named = std::env::var("ISOLINE_CUDA_CODE").ok();
        let runs = |code: &&Code| {
            named.as_ref().is_none_or(|name| *name == code.name())
                && code.architecture <= card
                && (code.ptx || code.architecture / 10 == major)
        };
        codes.iter().filter(runs).max_by_key(|code| (!code.ptx, code.architecture)).ok_or_else(|| {
            let all: Vec<String> = codes.iter().map(Code::name).collect();
            unavailable(format!(
                "no kernel image for this GPU: its compute capability is {major}.{minor}, and this build has kernels for {}",
                all.join(", ")
            ))
        })
    }

    /// Returns the name that CUDA's compilers use for the architecture.
    pub(super) fn name(&self) -> String {
        format!("{}_{}", if self.ptx { "compute" } else { "sm" }, self.architecture)
    }

    /// Returns the code as the driver loads it. It is unpacked once in a process, which takes some 10 ms, and kept.
    pub(super) fn unpacked(&self) -> Result<&'static [u8]> {
        static UNPACKED: Mutex<BTreeMap<usize, &'static [u8]>> = Mutex::new(BTreeMap::new());
        let mut all = UNPACKED.lock().unwrap_or_else(|e| e.into_inner());
        let key = self.lzma.as_ptr() as usize;
        if let Some(code) = all.get(&key) {
            return Ok(code);
        }
        // The decoder would end the process when out of memory, so test here that there is enough.
        drop(reserved::<u8>(MOST_BYTES)?);
        let mut code = Vec::new();
        lzma_rs::lzma_decompress(&mut Cursor::new(self.lzma), &mut code)
            .map_err(|e| unavailable(format!("cannot unpack the kernels for {}: {e}", self.name())))?;
        let code: &'static [u8] = code.leak();
        all.insert(key, code);
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODES: [Code; 4] = [machine(60), machine(75), machine(90), Code { ptx: true, ..machine(90) }];

    const fn machine(architecture: u32) -> Code {
        Code { architecture, ptx: false, lzma: &[] }
    }

    #[test]
    fn a_card_takes_its_machine_code_or_the_newest_ptx() {
        for (card, expected) in [
            ((6, 0), "sm_60"),
            ((6, 1), "sm_60"),
            ((7, 5), "sm_75"),
            ((9, 0), "sm_90"),
            ((10, 3), "compute_90"),
            ((12, 0), "compute_90"),
        ] {
            assert_eq!(Code::for_card(&CODES, card).unwrap().name(), expected, "{card:?}");
        }
    }

    #[test]
    fn a_card_without_code_is_told_for_which_there_is() {
        for card in [(5, 2), (7, 0), (8, 6)] {
            let error = Code::for_card(&CODES, card).err().expect("there is no code").to_string();
            assert!(error.contains(&format!("{}.{}", card.0, card.1)), "{error}");
            assert!(error.contains("sm_60, sm_75, sm_90, compute_90"), "{error}");
        }
    }

    #[test]
    fn every_embedded_code_is_an_elf_file_or_ptx() {
        for (name, codes) in KERNELS.unwrap_or_default() {
            for code in *codes {
                let bytes = code.unpacked().unwrap();
                let begins: &[u8] = if code.ptx { b"//" } else { b"\x7fELF" };
                assert!(bytes.starts_with(begins), "{name} {}", code.name());
                // The code, and the dictionary and the buffer of the decoder, which may grow to twice as much.
                assert!(5 * bytes.len() <= MOST_BYTES, "{name} {}: {} bytes", code.name(), bytes.len());
            }
        }
    }
}
