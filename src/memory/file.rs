//! Values that do not fit into memory, in a file of the system's folder for such files. It has no name, so that nothing is
//! left of it when the process ends, however that happens.
//!
//! # Safety
//! A mapped file has no name, so nobody else changes or shortens it.
#![allow(unsafe_code)]

use crate::error::{Error, Result, human_bytes};
use crate::progress::{Progress, Ticker};
use memmap2::MmapMut;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

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
        let file = new_file(&folder()).map_err(|why| failed("make", bytes, &why))?;
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

/// Returns a new file of `bytes` zeros that is mapped to memory, and its folder. There is room on the disk for all of it.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if there is no such room.
pub(crate) fn mapped(bytes: u64) -> Result<(MmapMut, PathBuf)> {
    let folder = folder();
    let made = new_file(&folder).and_then(|file| {
        reserve(&file, bytes)?;
        // SAFETY: the file has no name; see the module.
        unsafe { MmapMut::map_mut(&file) }
    });
    made.map(|map| (map, folder)).map_err(|why| failed("map", bytes, &why))
}

/// Returns a new file without a name in a folder that is on a disk.
fn new_file(folder: &Path) -> io::Result<File> {
    let file = tempfile::tempfile_in(folder)?;
    #[cfg(target_os = "linux")]
    if [TMPFS, RAMFS].contains(&system_of(&file)?) {
        return Err(io::Error::other("the folder is in memory itself"));
    }
    Ok(file)
}

/// Makes a new file `bytes` long, and has the system keep room for them on the disk: if there were none when a page is
/// written, the system would end the process.
#[cfg(unix)]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::{fs, io::Errno, io::retry_on_intr};
    let no_room = || io::Error::other("its file system keeps no room for files");
    #[cfg(target_os = "linux")]
    {
        if system_of(file)? == ZFS {
            return Err(no_room());
        }
        // On Btrfs, which would otherwise write every page to a new place. Other file systems refuse it.
        let _ = fs::ioctl_setflags(file, fs::IFlags::NOCOW);
    }
    match retry_on_intr(|| fs::fallocate(file, fs::FallocateFlags::empty(), 0, bytes)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Err(no_room()),
        ended => Ok(ended?),
    }
}

/// Makes a new file `bytes` long. Windows keeps room for them on the disk.
#[cfg(not(unix))]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// The numbers of some of Linux' file systems, in `linux/magic.h` and in OpenZFS.
#[cfg(target_os = "linux")]
const TMPFS: u64 = 0x0102_1994;
#[cfg(target_os = "linux")]
const RAMFS: u64 = 0x8584_58f6;
#[cfg(target_os = "linux")]
const ZFS: u64 = 0x2fc1_2fc1;

/// Returns the number of the file system that a file is in.
#[cfg(target_os = "linux")]
fn system_of(file: &File) -> io::Result<u64> {
    Ok(rustix::fs::fstatfs(file)?.f_type as u64)
}

/// Returns the folder for large temporary files: the one that TMPDIR names; else /var/tmp, because /tmp is in memory on some
/// systems. On Windows it is the system's folder.
fn folder() -> PathBuf {
    let large = Path::new("/var/tmp");
    let named = std::env::var_os("TMPDIR").is_some_and(|folder| !folder.is_empty());
    if cfg!(unix) && !named && large.is_dir() { large.to_owned() } else { std::env::temp_dir() }
}

fn failed(what: &str, bytes: u64, why: &io::Error) -> Error {
    let variable = if cfg!(windows) { "TMP" } else { "TMPDIR" };
    // Another folder does not help if memory is short, or the limit of the address space.
    let advice = match why.kind() {
        io::ErrorKind::OutOfMemory => String::new(),
        _ => format!("; set {variable} to a folder with as much room on a disk"),
    };
    Error::memory(format!(
        "cannot {what} a temporary file of {} ({bytes} bytes) in {}: {why}{advice}",
        human_bytes(bytes),
        folder().display()
    ))
}
