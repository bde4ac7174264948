//! Values that the child of a fork does not share with its parent.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A value that each process has separately, such as a lock, or a value that is made when it is first used.
///
/// A fork copies a lock in its present state. If a thread of the parent holds it, or is making the value, the child would
/// wait forever, because it does not have that thread. So the child makes its own value from that of its parent.
pub(crate) struct PerProcess<T> {
    /// The id of the process that the value belongs to; 0 before the first use.
    process: AtomicU32,
    value: T,
    /// Makes the value of a child. It must not wait for a lock.
    inherit: fn(&T) -> T,
    child: OnceLock<Box<Self>>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new(value: T, inherit: fn(&T) -> T) -> Self {
        Self { process: AtomicU32::new(0), value, inherit, child: OnceLock::new() }
    }

    /// Returns the value of the calling process.
    pub(crate) fn get(&self) -> &T {
        let (me, mut of) = (std::process::id(), self);
        while of
            .process
            .compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed)
            .is_err_and(|process| process != me)
        {
            of = of.child.get_or_init(|| Box::new(Self::new((of.inherit)(&of.value), of.inherit)));
        }
        &of.value
    }
}

impl<T> PerProcess<OnceLock<T>> {
    /// Makes an empty cell, whose value is made when it is first used.
    pub(crate) const fn once() -> Self {
        Self::new(OnceLock::new(), |_| OnceLock::new())
    }

    /// Returns the value, and makes it at the first use. The child of a fork takes over the value of its parent if that was
    /// complete.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.value.get().unwrap_or_else(|| self.get().get_or_init(make))
    }
}
