//! The lock of a context, and of each solver, which allows one call at a time. A thread that holds locks may ask for
//! another one from a callback. A call that would cause a deadlock, a cycle of threads each of which waits for the next, is
//! refused. So is a call in the child of a fork, which has none of the threads of its parent's contexts.

use super::PerProcess;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{CancelFlag, POLL_INTERVAL};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

/// The threads that wait, each with the lock that it waits for.
type Waiting = Vec<(ThreadId, Arc<Turn>)>;
static WAITING: PerProcess<Mutex<Waiting>> = PerProcess::new(Mutex::new(Vec::new()), |_| Mutex::default());

/// The state of a lock. Lock order: the mutex of the holder may be locked while [`WAITING`] is locked, but not vice versa.
#[derive(Debug)]
struct Turn {
    /// The process that made the lock.
    process: u32,
    holder: Mutex<Option<ThreadId>>,
    released: Condvar,
}

impl Turn {
    fn holder(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets one thread at a time make a call, and refuses calls that would wait forever.
#[derive(Debug)]
pub(crate) struct CallLock(Arc<Turn>);

impl Default for CallLock {
    fn default() -> Self {
        Self(Arc::new(Turn { process: std::process::id(), holder: Mutex::default(), released: Condvar::new() }))
    }
}

/// Ends the turn of its thread when dropped.
pub(crate) struct CallGuard<'a>(&'a Turn);

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        *self.0.holder() = None;
        // Wake all threads: one with a cancel flag waits in short intervals, so it would always be the last in a queue.
        self.0.released.notify_all();
    }
}

impl CallLock {
    /// Returns whether the calling thread holds the lock.
    pub(crate) fn is_mine(&self) -> bool {
        *self.0.holder() == Some(std::thread::current().id())
    }

    /// Returns whether this process made the lock; false in the child of a fork.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.0.process == std::process::id()
    }

    /// Refuses the use of the lock in the child of a fork.
    pub(crate) fn check_process(&self, noun: &str) -> Result<()> {
        if self.is_of_this_process() {
            return Ok(());
        }
        let message = format!(
            "cannot use this {noun} in a child of the process that made it: a fork copies neither its threads nor its device \
             (made by process {}, used in process {}); make a context of its own here",
            self.0.process,
            std::process::id()
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Waits for the calls of other threads to end, then takes the lock.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] in the child of a fork. [`ErrorKind::Busy`] if the calling thread holds the lock, or if
    /// its holder waits, directly or via other threads, for a lock that the calling thread holds. [`ErrorKind::Cancelled`]
    /// if the cancel flag of the calling thread is set.
    pub(crate) fn acquire(&self, noun: &str) -> Result<CallGuard<'_>> {
        self.check_process(noun)?;
        let (me, turn) = (std::thread::current().id(), &*self.0);
        // 1. The usual case: the lock is free, so no other thread matters.
        let take = |holder: &mut Option<ThreadId>| {
            let free = holder.is_none();
            if free {
                *holder = Some(me);
            }
            free
        };
        if take(&mut turn.holder()) {
            return Ok(CallGuard(turn));
        }
        // 2. Follow the chain of waiting threads, beginning with the holder.
        let mut waiting = WAITING.get().lock().unwrap_or_else(PoisonError::into_inner);
        let mut holder = turn.holder();
        if take(&mut holder) {
            return Ok(CallGuard(turn));
        }
        if *holder == Some(me) {
            return Err(Error::new(
                ErrorKind::Busy,
                format!(
                    "cannot use the {noun}: this is a re-entrant call, from a callback of a call on the same {noun}; use \
                     another context there"
                ),
            ));
        }
        let mut next = *holder;
        while let Some(thread) = next {
            next = waiting.iter().find(|(waits, _)| *waits == thread).and_then(|(_, wanted)| {
                // The mutex of the wanted lock is already held here, so its holder is read directly. (A cycle that leads
                // back to it does not include this thread.)
                let of = if Arc::ptr_eq(wanted, &self.0) { *holder } else { *wanted.holder() };
                // A thread that has just got its lock no longer waits.
                of.filter(|of| *of != thread)
            });
            if next == Some(me) {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!(
                        "cannot use the {noun}: the thread whose call it runs waits for a context or solver that this \
                         thread is using, so that both would wait for ever; use it when this thread's call has returned"
                    ),
                ));
            }
        }
        // 3. Wait.
        waiting.push((me, self.0.clone()));
        drop(waiting);
        let flag = CancelFlag::of_this_thread();
        let mut taken = take(&mut holder);
        while !taken && !flag.as_ref().is_some_and(CancelFlag::is_set) {
            // Setting a cancel flag wakes nobody, so poll it.
            let longest = if flag.is_some() { POLL_INTERVAL } else { Duration::MAX };
            holder = turn.released.wait_timeout(holder, longest).unwrap_or_else(PoisonError::into_inner).0;
            taken = take(&mut holder);
        }
        drop(holder);
        WAITING.get().lock().unwrap_or_else(PoisonError::into_inner).retain(|(thread, _)| *thread != me);
        if taken { Ok(CallGuard(turn)) } else { Err(Error::cancelled()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Waits until `count` threads wait for a lock of the list.
    fn until_waiting(locks: &[CallLock], count: usize) {
        let started = Instant::now();
        let waiting = || {
            let list = WAITING.get().lock().unwrap();
            list.iter().filter(|(_, turn)| locks.iter().any(|lock| Arc::ptr_eq(&lock.0, turn))).count()
        };
        while waiting() < count {
            assert!(started.elapsed() < Duration::from_secs(20), "the threads do not wait");
            thread::yield_now();
        }
    }

    #[test]
    fn the_last_call_of_a_circle_is_refused_and_the_others_get_their_turns() {
        for count in 2..6 {
            let locks: Vec<CallLock> = (0..count).map(|_| CallLock::default()).collect();
            let all_hold = Barrier::new(count);
            thread::scope(|scope| {
                let (locks, all_hold) = (&locks, &all_hold);
                let threads: Vec<_> = (0..count)
                    .map(|index| {
                        scope.spawn(move || {
                            let _mine = locks[index].acquire("context").unwrap();
                            all_hold.wait();
                            locks[(index + 1) % count].acquire("context").map(drop).map_err(|error| error.kind())
                        })
                    })
                    .collect();
                let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
                let refused: Vec<_> = results.iter().filter_map(|result| result.err()).collect();
                assert_eq!(refused, [ErrorKind::Busy], "{count} threads");
            });
            assert!(locks.iter().all(|lock| lock.0.holder().is_none()));
        }
    }

    #[test]
    fn a_chain_without_a_circle_waits() {
        let locks: Vec<CallLock> = (0..4).map(|_| CallLock::default()).collect();
        let first = locks[0].acquire("context").unwrap();
        thread::scope(|scope| {
            for index in 1..4 {
                let locks = &locks;
                scope.spawn(move || {
                    let _mine = locks[index].acquire("context").unwrap();
                    drop(locks[index - 1].acquire("context").unwrap());
                });
                until_waiting(locks, index);
            }
            // A second thread that waits for the same lock closes no circle either.
            scope.spawn(|| drop(locks[0].acquire("context").unwrap()));
            until_waiting(&locks, 4);
            drop(first);
        });
        assert!(locks.iter().all(|lock| lock.0.holder().is_none()));
    }

    #[test]
    fn locks_taken_at_random_never_hang_and_never_have_two_holders() {
        let locks: Vec<CallLock> = (0..4).map(|_| CallLock::default()).collect();
        let inside: Vec<Mutex<()>> = (0..4).map(|_| Mutex::new(())).collect();
        thread::scope(|scope| {
            for seed in 1..9u32 {
                let (locks, inside) = (&locks, &inside);
                scope.spawn(move || {
                    let mut state = seed;
                    let mut random = || {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (state >> 16) as usize % 4
                    };
                    for _ in 0..2000 {
                        let mut held = Vec::new();
                        for _ in 0..3 {
                            let index = random();
                            if let Ok(guard) = locks[index].acquire("context") {
                                held.push((inside[index].try_lock().expect("the only holder"), guard));
                            }
                        }
                    }
                });
            }
        });
        assert!(locks.iter().all(|lock| lock.0.holder().is_none()));
    }
}
