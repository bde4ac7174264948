//! Values that do not fit into memory, in a file of the system's folder for such files. It has no name, so that nothing is
//! left of it when the process ends, however that happens.

use crate::error::{Error, Result, human_bytes};
use crate::progress::{Progress, Ticker};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// The most bytes that are read or written between two checks for cancellation.
const PIECE_BYTES: usize = 8 << 20;

/// A float for each pixel of an image.
pub(crate) struct TemporaryFile {
    file: File,
    bytes: u64,
}

impl TemporaryFile {
    /// Makes a file for an image of `shape`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory), as from the other functions.
    pub(crate) fn new(shape: [usize; 3]) -> Result<Self> {
        let bytes = shape.iter().fold(size_of::<f32>() as u64, |bytes, side| bytes.saturating_mul(*side as u64));
        let file = tempfile::tempfile_in(folder()).map_err(|why| failed("make", bytes, &why))?;
        Ok(Self { file, bytes })
    }

    /// Reads values, the first of which is that of pixel `first`.
    pub(crate) fn read(
        &self,
        (first, values): (usize, &mut [f32]),
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let failed = |why| failed("read", self.bytes, &why);
        self.seek(first).map_err(failed)?;
        for piece in bytemuck::cast_slice_mut(values).chunks_mut(PIECE_BYTES) {
            ticker.report(progress)?;
            (&self.file).read_exact(piece).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the bytes of values, the first of which is that of pixel `first`.
    pub(crate) fn write(
        &self,
        (first, values): (usize, &[u8]),
        ticker: &Ticker,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let failed = |why| failed("write", self.bytes, &why);
        self.seek(first).map_err(failed)?;
        for piece in values.chunks(PIECE_BYTES) {
            ticker.report(progress)?;
            (&self.file).write_all(piece).map_err(failed)?;
        }
        Ok(())
    }

    fn seek(&self, first: usize) -> io::Result<u64> {
        (&self.file).seek(SeekFrom::Start(first as u64 * size_of::<f32>() as u64))
    }
}

/// Returns the system's folder for temporary files. An empty TMPDIR counts as none.
fn folder() -> PathBuf {
    let named = std::env::temp_dir();
    if named.as_os_str().is_empty() { "/tmp".into() } else { named }
}

fn failed(what: &str, bytes: u64, why: &io::Error) -> Error {
    let variable = if cfg!(windows) { "TMP" } else { "TMPDIR" };
    Error::memory(format!(
        "cannot {what} a temporary file of {} ({bytes} bytes) in {} for the values between two passes: {why}; set \
         {variable} to a folder with as much room, or give an output in memory",
        human_bytes(bytes),
        folder().display()
    ))
}
