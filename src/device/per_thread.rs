//! A value for each worker thread, such as the buffers that its tasks compute in.

use crate::error::Result;
use crate::memory::reserved;
use std::sync::Mutex;

/// One value for each thread of the pool in which it was made. A lock is never contended while a value is used only by
/// tasks of that pool.
#[derive(Debug)]
pub(crate) struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    /// Makes one value for each thread of the current pool.
    pub(crate) fn new(make: impl Fn() -> Result<T>) -> Result<Self> {
        let mut values = reserved(rayon::current_num_threads())?;
        for _ in 0..rayon::current_num_threads() {
            values.push(Mutex::new(make()?));
        }
        Ok(Self(values))
    }

    /// Runs `work`, which must not wait for other tasks, with this thread's value.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let value = &self.0[rayon::current_thread_index().unwrap_or(0)];
        work(&mut value.lock().unwrap_or_else(|e| e.into_inner()))
    }
}
