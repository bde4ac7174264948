//! Host memory that a context keeps from call to call, because fresh memory costs a page fault for each page.

use crate::error::Result;
use crate::image::zeroed;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// The most bytes that a pool keeps between calls: a field of 8192 x 8192 floats and some workspace beside it.
pub(crate) const KEPT_BYTES: usize = 320 << 20;
/// A pooled buffer is reused only if the request takes at least 1/WASTE of it.
const WASTE: usize = 4;

/// Buffers that are not in use; the one that was released last is at the end.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Mutex<Vec<Vec<f32>>>);

impl BufferPool {
    /// Returns a buffer of at least `len` floats with any values.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub(crate) fn acquire(&self, len: usize) -> Result<PooledBuffer<'_>> {
        let mut kept = self.kept();
        let fits = |buffer: &Vec<f32>| buffer.len() >= len && buffer.len() / WASTE <= len;
        let best = (0..kept.len()).filter(|i| fits(&kept[*i])).min_by_key(|i| kept[*i].len());
        let values = match best {
            Some(i) => kept.remove(i),
            None => zeroed(len).or_else(|_| {
                // The buffers that are kept may take the memory that this request needs.
                kept.clear();
                zeroed(len)
            })?,
        };
        Ok(PooledBuffer { values, pool: self })
    }

    /// Gives all buffers that are not in use back to the system.
    pub(crate) fn trim(&self) {
        *self.kept() = Vec::new();
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<Vec<f32>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A buffer that returns to its [`BufferPool`] when dropped.
#[derive(Debug)]
pub(crate) struct PooledBuffer<'a> {
    values: Vec<f32>,
    pool: &'a BufferPool,
}

impl Deref for PooledBuffer<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl DerefMut for PooledBuffer<'_> {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

impl Drop for PooledBuffer<'_> {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        if size_of_val(&values[..]) > KEPT_BYTES {
            return;
        }
        let mut kept = self.pool.kept();
        kept.push(values);
        // The buffers that have been unused for longest are freed first.
        let mut bytes: usize = kept.iter().map(|buffer| size_of_val(&buffer[..])).sum();
        while bytes > KEPT_BYTES {
            bytes -= size_of_val(&kept.remove(0)[..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pool: &BufferPool) -> Vec<usize> {
        pool.kept().iter().map(Vec::len).collect()
    }

    #[test]
    fn a_buffer_that_fits_is_reused() {
        let pool = BufferPool::default();
        let (first, second) = (pool.acquire(1000).unwrap(), pool.acquire(100).unwrap());
        let address = second.as_ptr();
        drop((first, second));
        assert_eq!(kept(&pool), [1000, 100]);
        let again = pool.acquire(90).unwrap();
        assert_eq!((again.as_ptr(), again.len()), (address, 100), "the smallest that is large enough");
        assert_eq!(pool.acquire(101).unwrap().len(), 101, "1000 is far too large");
        assert_eq!(pool.acquire(500).unwrap().len(), 1000);
        drop(again);
        pool.trim();
        assert!(kept(&pool).is_empty());
    }

    #[test]
    fn at_most_kept_bytes_are_kept() {
        let pool = BufferPool::default();
        let most = KEPT_BYTES / size_of::<f32>();
        drop(pool.acquire(most + 1).unwrap());
        assert!(kept(&pool).is_empty());
        drop(pool.acquire(10).unwrap());
        drop(pool.acquire(most).unwrap());
        assert_eq!(kept(&pool), [most]);
    }
}
