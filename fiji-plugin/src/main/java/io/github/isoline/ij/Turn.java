package io.github.isoline.ij;

import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Progress;
import java.awt.EventQueue;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The turn of a thread to compute on a context. The library would wait for the calls of other threads, too, but in
 * there a run can neither say that it waits nor be cancelled.
 */
final class Turn implements AutoCloseable {
    /** The stage of a run that waits. */
    static final String WAITING = "waiting for another command or a preview";

    private static final long GLANCE_MILLIS = 50;

    private static final Map<Context, Deque<CountDownLatch>> QUEUES = new WeakHashMap<>();

    /** Holds a latch for each turn in their order, of which the first is open. */
    private final Deque<CountDownLatch> queue;

    private final CountDownLatch own = new CountDownLatch(1);

    private Turn(Deque<CountDownLatch> queue) {
        this.queue = queue;
        synchronized (queue) {
            queue.add(own);
            queue.getFirst().countDown();
        }
    }

    /**
     * Waits until the threads that came before have had their turns; the event thread goes on at once.
     *
     * @param progress hears of the wait at intervals, and may end it; may be null
     * @return null if the progress has ended the wait
     */
    static Turn take(Context context, Progress progress) {
        Turn turn = new Turn(queue(context));
        // A thread that has the turn may wait for the event thread.
        boolean taken = EventQueue.isDispatchThread();
        try {
            taken = taken || turn.await(progress);
            return taken ? turn : null;
        } finally {
            if (!taken) {
                turn.close();
            }
        }
    }

    /** Returns false if the progress has ended the wait. */
    private boolean await(Progress progress) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    if (own.await(GLANCE_MILLIS, TimeUnit.MILLISECONDS)) {
                        return true;
                    }
                } catch (InterruptedException e) {
                    interrupted = true;
                }
                if (progress != null && !progress.step(0, WAITING)) {
                    return false;
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

    private static Deque<CountDownLatch> queue(Context context) {
        synchronized (QUEUES) {
            return QUEUES.computeIfAbsent(context, key -> new ArrayDeque<>());
        }
    }

    @Override
    public void close() {
        synchronized (queue) {
            queue.remove(own);
            if (!queue.isEmpty()) {
                queue.getFirst().countDown();
            }
        }
    }
}
