//! Arrays of volumes. Where the memory does not suffice, an array is in a temporary file that is mapped to memory: the system
//! moves its pages between memory and disk.

use super::file;
use crate::error::{Error, Result};
use bytemuck::Pod;
use memmap2::MmapMut;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The least size of an array in a file.
const FILE_BYTES: u64 = 1 << 20;

/// An array in memory leaves free a quarter of its own size, and at least 16 MiB. Lists, which cannot be in files, need it.
const LISTS_PART: u64 = 4;
const LISTS_BYTES: u64 = 16 << 20;

/// A value for each voxel.
#[derive(Debug)]
pub(crate) struct Array<T>(Place<T>);

#[derive(Debug)]
enum Place<T> {
    Memory(Vec<T>),
    File(MmapMut, PhantomData<T>),
}

impl<T: Pod + Send> Array<T> {
    /// Returns an array of zeros, in memory if there is room for it.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if there is room for it neither in memory nor in a file.
    pub(crate) fn zeroed(count: usize) -> Result<Self> {
        let bytes = super::bytes_of::<T>(count);
        let room = if bytes < FILE_BYTES { Ok(()) } else { check_room(bytes) };
        match room.and_then(|()| super::zeroed(count)) {
            Ok(values) => Ok(Self(Place::Memory(values))),
            Err(error) => Self::in_file(count, error),
        }
    }

    /// Returns an array of zeros in a file, unless it is small; `no_memory` says why it cannot be in memory.
    ///
    /// # Errors
    /// Those of [`zeroed`](Self::zeroed).
    pub(crate) fn in_file(count: usize, no_memory: Error) -> Result<Self> {
        let bytes = super::bytes_of::<T>(count);
        if bytes < FILE_BYTES {
            return Err(no_memory);
        }
        let no_memory = no_memory.message();
        let (map, folder) = file::mapped(bytes)
            .map_err(|no_file| Error::memory(format!("{no_memory}; also, {}", no_file.message())))?;
        log::warn!("{no_memory}; a temporary file in {} is used instead, which takes longer", folder.display());
        // The refusal may have used up the room for errors. If there is none, later messages are shorter.
        let _ = super::make_room_for_errors();
        Ok(Self(Place::File(map, PhantomData)))
    }
}

/// Returns an error unless there is memory for an array of `bytes` bytes, and for lists beside it.
fn check_room(bytes: u64) -> Result<()> {
    let lists = (bytes / LISTS_PART).max(LISTS_BYTES);
    super::grant(bytes, lists)?;
    let all = usize::try_from(bytes.saturating_add(lists)).unwrap_or(usize::MAX);
    let made = Vec::<u8>::new().try_reserve_exact(all);
    made.map_err(|_| super::out_of_memory::<u8>(bytes as usize))
}

impl<T> Default for Array<T> {
    /// Returns an array without values.
    fn default() -> Self {
        Self(Place::Memory(Vec::new()))
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Memory(values) => values,
            Place::File(map, _) => bytemuck::cast_slice(map),
        }
    }
}

impl<T: Pod> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Place::Memory(values) => values,
            Place::File(map, _) => bytemuck::cast_slice_mut(map),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_memory() -> Error {
        Error::memory("cannot allocate 16 MiB")
    }

    #[test]
    fn an_array_in_a_file_is_zero_and_keeps_its_values() {
        let count = FILE_BYTES as usize / size_of::<u16>() + 3;
        let mut array = Array::<u16>::in_file(count, no_memory()).unwrap();
        assert!(array.len() == count && array.iter().all(|value| *value == 0));
        array.iter_mut().enumerate().for_each(|(at, value)| *value = at as u16);
        assert!(array.iter().enumerate().all(|(at, value)| *value == at as u16));
    }

    #[test]
    fn there_is_no_file_for_a_small_array_or_for_one_larger_than_the_disk() {
        let small = Array::<u8>::in_file(FILE_BYTES as usize - 1, no_memory()).unwrap_err();
        assert_eq!(small.to_string(), no_memory().to_string());
        let huge = Array::<u8>::in_file(1 << 60, no_memory()).unwrap_err().to_string();
        assert!(huge.starts_with(&no_memory().to_string()) && huge.contains("TMPDIR"), "{huge}");
        let error = Array::<f32>::zeroed(usize::MAX).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::OutOfMemory);
    }
}
