package io.github.isoline.ij;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** An action for the time when something has not been used for a while; it never runs during a use. */
final class WhenIdle {
    /** One thread for all, which keeps no program from ending. */
    private static final ScheduledThreadPoolExecutor TIMER = timer();

    private final long nanos;
    private final Runnable action;
    private int users;
    private long ended;
    private ScheduledFuture<?> pending;

    /** @param millis the time since the last use ended */
    WhenIdle(long millis, Runnable action) {
        nanos = TimeUnit.MILLISECONDS.toNanos(millis);
        this.action = action;
    }

    private static ScheduledThreadPoolExecutor timer() {
        ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, body -> {
            Thread thread = new Thread(body, "Isoline timer");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
        return timer;
    }

    /** Begins a use; waits for the end of the action if that runs. */
    synchronized void begin() {
        users++;
        if (pending != null) {
            pending.cancel(false);
            pending = null;
        }
    }

    /** Ends a use. */
    synchronized void end() {
        users--;
        ended = System.nanoTime();
        if (users == 0) {
            pending = TIMER.schedule(this::act, nanos, TimeUnit.NANOSECONDS);
        }
    }

    private synchronized void act() {
        // A use may have come and gone while this thread waited for the monitor.
        if (users == 0 && System.nanoTime() - ended >= nanos) {
            action.run();
        }
    }
}
