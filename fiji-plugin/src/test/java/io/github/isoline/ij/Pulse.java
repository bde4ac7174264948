package io.github.isoline.ij;

import ij.IJ;
import java.awt.EventQueue;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Posts empty events to the event thread, and keeps the longest time for which the thread was busy with its own work:
 * computing, or waiting for another thread. Time in which a busy computer gave the event thread no core does not count.
 */
final class Pulse implements AutoCloseable {
    private static final long NANOS_PER_MS = 1_000_000;
    private static final int REST_MS = 5;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final AtomicLong worst = new AtomicLong();
    private final AtomicBoolean over = new AtomicBoolean();
    private final long eventThread;

    Pulse() throws Exception {
        threads.setThreadContentionMonitoringEnabled(true);
        AtomicLong id = new AtomicLong();
        EventQueue.invokeAndWait(() -> id.set(Thread.currentThread().getId()));
        eventThread = id.get();
        new Thread(this::beat, "pulse").start();
    }

    private void beat() {
        while (!over.get()) {
            long busy = busy();
            long asked = System.nanoTime();
            try {
                EventQueue.invokeAndWait(() -> {});
            } catch (Exception e) {
                return;
            }
            long answered = (System.nanoTime() - asked) / NANOS_PER_MS;
            // The thread may have waited for work before the event was posted.
            worst.accumulateAndGet(Math.min(answered, busy() - busy), Math::max);
            IJ.wait(REST_MS);
        }
    }

    /** Returns the milliseconds for which the event thread has computed, waited or been locked out so far. */
    private long busy() {
        ThreadInfo info = threads.getThreadInfo(eventThread);
        return threads.getThreadCpuTime(eventThread) / NANOS_PER_MS + info.getBlockedTime() + info.getWaitedTime();
    }

    /** Returns the longest time since the last call, in milliseconds. */
    long worst() {
        return worst.getAndSet(0);
    }

    @Override
    public void close() {
        over.set(true);
    }
}
