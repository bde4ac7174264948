//! Main memory that a context keeps from call to call, so that the system need not hand it out page by page each time.

use crate::error::Result;
use crate::image::zeroed;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// The most bytes that a context keeps between calls: a field of 8192 x 8192 and some room beside it.
pub(crate) const KEPT_BYTES: usize = 320 << 20;
/// A buffer is lent for a job that needs at least one part in so many of it.
const WASTE: usize = 4;

/// Buffers that are not in use, the one given back last at the end.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Mutex<Vec<Vec<f32>>>);

impl Scratch {
    /// A buffer of at least `len` floats of any value.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub(crate) fn lend(&self, len: usize) -> Result<Lent<'_>> {
        let mut kept = self.kept();
        let fits = |buffer: &Vec<f32>| buffer.len() >= len && buffer.len() / WASTE <= len;
        let best = (0..kept.len()).filter(|i| fits(&kept[*i])).min_by_key(|i| kept[*i].len());
        let values = match best {
            Some(i) => kept.remove(i),
            None => zeroed(len).or_else(|_| {
                // What is kept for later may be what is missing now.
                kept.clear();
                zeroed(len)
            })?,
        };
        Ok(Lent { values, home: self })
    }

    /// Gives everything back to the system.
    pub(crate) fn trim(&self) {
        *self.kept() = Vec::new();
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<Vec<f32>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A buffer that goes back to its [`Scratch`] when dropped.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    values: Vec<f32>,
    home: &'a Scratch,
}

impl Deref for Lent<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        if size_of_val(&values[..]) > KEPT_BYTES {
            return;
        }
        let mut kept = self.home.kept();
        kept.push(values);
        // Those that have waited longest go first.
        let mut bytes: usize = kept.iter().map(|buffer| size_of_val(&buffer[..])).sum();
        while bytes > KEPT_BYTES {
            bytes -= size_of_val(&kept.remove(0)[..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(scratch: &Scratch) -> Vec<usize> {
        scratch.kept().iter().map(Vec::len).collect()
    }

    #[test]
    fn a_buffer_is_lent_again_where_it_fits() {
        let scratch = Scratch::default();
        let (first, second) = (scratch.lend(1000).unwrap(), scratch.lend(100).unwrap());
        let address = second.as_ptr();
        drop((first, second));
        assert_eq!(kept(&scratch), [1000, 100]);
        let again = scratch.lend(90).unwrap();
        assert_eq!((again.as_ptr(), again.len()), (address, 100), "the smallest that is large enough");
        assert_eq!(scratch.lend(101).unwrap().len(), 101, "1000 is far too large");
        assert_eq!(scratch.lend(500).unwrap().len(), 1000);
        drop(again);
        scratch.trim();
        assert!(kept(&scratch).is_empty());
    }

    #[test]
    fn no_more_is_kept_than_is_said() {
        let scratch = Scratch::default();
        let most = KEPT_BYTES / size_of::<f32>();
        drop(scratch.lend(most + 1).unwrap());
        assert!(kept(&scratch).is_empty());
        drop(scratch.lend(10).unwrap());
        drop(scratch.lend(most).unwrap());
        assert_eq!(kept(&scratch), [most]);
    }
}
