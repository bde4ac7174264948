//! Host memory that a context keeps between calls, because memory fresh from the system costs a page fault for each page:
//! workspaces of the CPU, and buffers that the caller has freed.

use crate::error::Result;
use crate::memory::zeroed;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard};

/// The most bytes that a pool keeps between calls: a field of 8192 x 8192 floats, and some workspace.
pub(crate) const KEPT_BYTES: usize = 320 << 20;
/// A pooled buffer is reused only if the request takes at least 1/WASTE of it.
const WASTE: usize = 4;

/// Memory that can be kept.
pub(super) trait Bytes {
    /// Returns its size in bytes.
    fn bytes(&self) -> usize;
}

impl Bytes for Vec<f32> {
    fn bytes(&self) -> usize {
        size_of_val(&self[..])
    }
}

/// Unused memory, up to a total number of bytes. The memory that was released last is at the end.
#[derive(Debug)]
pub(super) struct Kept<B> {
    list: Mutex<Vec<B>>,
    most: usize,
}

impl<B: Bytes> Kept<B> {
    /// Returns a list that keeps at most `most` bytes.
    pub(super) fn at_most(most: usize) -> Self {
        Self { list: Mutex::default(), most }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<B>> {
        self.list.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the smallest kept memory with at least `bytes` that is not much larger, or new memory from `make`.
    pub(super) fn take_or(&self, bytes: usize, make: impl Fn() -> Result<B>) -> Result<B> {
        if let Some(kept) = self.take(bytes) {
            return Ok(kept);
        }
        make().or_else(|error| {
            // The kept memory may be what is missing now, so free it and try again.
            self.clear();
            make().map_err(|_| error)
        })
    }

    fn take(&self, bytes: usize) -> Option<B> {
        let mut list = self.lock();
        let fits = |kept: &B| kept.bytes() >= bytes && kept.bytes() / WASTE <= bytes;
        let best = (0..list.len()).filter(|i| fits(&list[*i])).min_by_key(|i| list[*i].bytes())?;
        Some(list.remove(best))
    }

    /// Keeps `released`. If that exceeds the limit, frees the memory that has been unused for longest.
    pub(super) fn keep(&self, released: B) {
        let mut freed = Vec::new();
        if released.bytes() > self.most {
            freed.push(released);
        } else {
            let mut list = self.lock();
            list.push(released);
            let mut bytes: usize = list.iter().map(B::bytes).sum();
            while bytes > self.most {
                bytes -= list[0].bytes();
                freed.push(list.remove(0));
            }
        }
        // Free after unlocking, because freeing takes a while and other threads may wait for the lock.
        drop(freed);
    }

    /// Frees everything.
    pub(super) fn clear(&self) {
        let freed = std::mem::take(&mut *self.lock());
        drop(freed);
    }
}

/// The unused workspaces of the CPU.
#[derive(Debug)]
pub(crate) struct BufferPool(Kept<Vec<f32>>);

impl Default for BufferPool {
    fn default() -> Self {
        Self(Kept::at_most(KEPT_BYTES))
    }
}

impl BufferPool {
    /// Returns a buffer of at least `len` floats with arbitrary values.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub(crate) fn acquire(&self, len: usize) -> Result<PooledBuffer<'_>> {
        let values = self.0.take_or(len.saturating_mul(size_of::<f32>()), || zeroed(len))?;
        Ok(PooledBuffer { values, pool: self })
    }

    /// Frees all unused buffers.
    pub(crate) fn trim(&self) {
        self.0.clear();
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
        self.pool.0.keep(std::mem::take(&mut self.values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pool: &BufferPool) -> Vec<usize> {
        pool.0.lock().iter().map(Vec::len).collect()
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
