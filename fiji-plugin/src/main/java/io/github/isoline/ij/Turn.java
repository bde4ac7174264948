package io.github.isoline.ij;

import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Progress;
import java.awt.EventQueue;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The turn of a thread to compute on a context. The library would wait for the calls of other threads, too, but in
 * there a run can neither say that it waits nor be cancelled.
 */
final class Turn implements AutoCloseable {
    /** The stage of a run that waits. */
    static final String WAITING = "waiting for another command or a preview";

    private static final long GLANCE_MILLIS = 50;

    private static final Map<Context, ReentrantLock> LOCKS = new WeakHashMap<>();

    /** Is null if the thread goes on without its turn. */
    private final ReentrantLock lock;

    private Turn(ReentrantLock lock) {
        this.lock = lock;
    }

    /**
     * Waits until no other thread has the turn; the event thread goes on without it.
     *
     * @param progress hears of the wait at intervals, and may end it; may be null
     * @return null if the progress has ended the wait
     */
    static Turn take(Context context, Progress progress) {
        ReentrantLock lock = lock(context);
        if (EventQueue.isDispatchThread()) {
            // A thread that has the turn may wait for the event thread.
            return new Turn(lock.tryLock() ? lock : null);
        }
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    if (lock.tryLock(GLANCE_MILLIS, TimeUnit.MILLISECONDS)) {
                        return new Turn(lock);
                    }
                } catch (InterruptedException e) {
                    interrupted = true;
                }
                if (progress != null && !progress.step(0, WAITING)) {
                    return null;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Computes on a device in the turn of this thread.
     *
     * @param progress hears of the wait for the turn, and may end it; may be null
     */
    static <T> T use(String device, Progress progress, Contexts.Computation<T> computation) throws IsolineException {
        return Contexts.use(device, context -> {
            try (Turn turn = take(context, progress)) {
                if (turn == null) {
                    throw IsolineException.cancelled();
                }
                return computation.on(context);
            }
        });
    }

    private static ReentrantLock lock(Context context) {
        synchronized (LOCKS) {
            return LOCKS.computeIfAbsent(context, key -> new ReentrantLock(true));
        }
    }

    @Override
    public void close() {
        if (lock != null) {
            lock.unlock();
        }
    }
}
