package io.github.isoline.ij;

import ij.Prefs;
import io.github.isoline.IsolineException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Work on the planes of a stack and on the pixels of a large plane, on as many threads as ImageJ is set to use (Edit >
 * Options > Memory & Threads). The calling thread takes part and returns when all have ended.
 */
final class Parallel {
    private static final long IDLE_SECONDS = 30;

    /** The number of pixels of a plane that a thread takes at once: many more than it costs to start a thread. */
    private static final int PIECE = 1 << 20;

    /** Threads that end when they have been idle for a while, and keep no program from ending. */
    private static final ExecutorService HELPERS = new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), body -> {
                Thread thread = new Thread(body, "Isoline planes");
                thread.setDaemon(true);
                return thread;
            });

    /** The helpers of all calls together. */
    private static final AtomicInteger ALL_HELPERS = new AtomicInteger();

    private final int count;
    private final Work work;
    private int next;

    /** The failure of the first plane, in their order, that failed. */
    private Throwable failure;

    private int failed = Integer.MAX_VALUE;

    private Parallel(int count, Work work) {
        this.count = count;
        this.work = work;
    }

    /** The work on one plane. */
    @FunctionalInterface
    interface Work {
        void on(int plane) throws IsolineException;
    }

    /** The work on some pixels of a plane, from the one at an index on. */
    @FunctionalInterface
    interface PixelWork {
        void on(int from, int count);
    }

    /**
     * Does the work for all pixels of a plane. Within the work on the planes of a stack this uses the threads that have
     * no plane.
     */
    static void pixels(int count, PixelWork work) {
        try {
            each((count + PIECE - 1) / PIECE, i -> work.on(i * PIECE, Math.min(PIECE, count - i * PIECE)));
        } catch (IsolineException e) {
            throw new AssertionError("work on pixels throws neither", e);
        }
    }

    /**
     * Does the work for all planes from 0 to count - 1, in any order. After a failure no further plane is begun, and of
     * several failures that of the first plane is thrown: the same as a loop throws.
     */
    static void each(int count, Work work) throws IsolineException {
        each(count, Prefs.getThreads(), work);
    }

    static void each(int count, int threads, Work work) throws IsolineException {
        Parallel all = new Parallel(count, work);
        List<FutureTask<Void>> helpers = new ArrayList<>();
        for (int i = 1; i < Math.min(threads, count) && ALL_HELPERS.get() < threads - 1; i++) {
            ALL_HELPERS.incrementAndGet();
            helpers.add(start(all::help));
        }
        all.takePlanes();
        for (FutureTask<Void> helper : helpers) {
            // They write to memory that is freed afterwards.
            await(helper);
        }
        rethrow(all.failure);
    }

    /** Fills an array with new planes: the system clears new memory faster on several threads. */
    static <T> T[] fill(T[] planes, Supplier<T> plane) throws IsolineException {
        each(planes.length, i -> planes[i] = plane.get());
        return planes;
    }

    /** Starts work on a thread of its own; if the system has none left, does it on this one. */
    private static FutureTask<Void> start(Callable<Void> work) {
        FutureTask<Void> task = new FutureTask<>(work);
        try {
            HELPERS.execute(task);
        } catch (OutOfMemoryError e) {
            task.run();
        }
        return task;
    }

    /** Waits until work is done, even if this thread is interrupted, and throws what it threw. */
    private static void await(FutureTask<Void> task) throws IsolineException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    task.get();
                    return;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (ExecutionException e) {
            rethrow(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private Void help() {
        try {
            takePlanes();
        } finally {
            ALL_HELPERS.decrementAndGet();
        }
        return null;
    }

    private void takePlanes() {
        for (int plane = take(); plane < count; plane = take()) {
            try {
                work.on(plane);
            } catch (IsolineException | RuntimeException | Error e) {
                fail(plane, e);
            }
        }
    }

    private synchronized int take() {
        return failure == null ? next++ : count;
    }

    /** Keeps the failure of the first plane: all planes before it were begun, so theirs come here too. */
    private synchronized void fail(int plane, Throwable e) {
        if (plane < failed) {
            failed = plane;
            failure = e;
        }
    }

    private static void rethrow(Throwable failure) throws IsolineException {
        if (failure instanceof IsolineException) {
            throw (IsolineException) failure;
        }
        if (failure instanceof RuntimeException) {
            throw (RuntimeException) failure;
        }
        if (failure != null) {
            throw (Error) failure;
        }
    }

    /** Work on planes that is done while the calling thread goes on. */
    static final class Ahead {
        private final FutureTask<Void> task;
        private volatile boolean stopped;

        /** Begins the work for all planes from 0 to count - 1, in any order, on threads of their own. */
        Ahead(int count, Work work) {
            task = start(() -> {
                each(count, plane -> {
                    if (stopped) {
                        throw IsolineException.cancelled();
                    }
                    work.on(plane);
                });
                return null;
            });
        }

        /** Waits until the work is done, even if this thread is interrupted, and throws what a loop would throw. */
        void await() throws IsolineException {
            Parallel.await(task);
        }

        /** Begins no further plane, and waits for those that are begun. */
        void stop() {
            stopped = true;
            try {
                await();
            } catch (IsolineException | RuntimeException | Error e) {
                // The work is not needed any more.
                return;
            }
        }
    }
}
