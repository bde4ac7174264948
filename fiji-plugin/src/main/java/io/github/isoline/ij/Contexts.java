package io.github.isoline.ij;

import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The open contexts, one for each choice of a device; they are kept because opening a CUDA device takes longer than a
 * run. Their device memory, their page-locked memory and closed pixel buffers are kept for the next command, too, and
 * freed for other programs when a while has passed without one.
 */
final class Contexts {
    private static final long IDLE_MILLIS = 30_000;
    private static final Map<String, Entry> OPEN = new HashMap<>();

    private Contexts() {}

    /** An open context and the end of its idle time. */
    private static final class Entry {
        final Context context;
        final WhenIdle trimmer;

        Entry(String device, Context context) {
            this.context = context;
            trimmer = new WhenIdle(IDLE_MILLIS, () -> trim(device, context));
        }
    }

    /** A computation on a context. */
    @FunctionalInterface
    interface Computation<T> {
        T on(Context context) throws IsolineException;
    }

    /** Computes on a device, whose memory is not freed meanwhile; discards its context if it fails. */
    static <T> T use(String device, Computation<T> computation) throws IsolineException {
        Entry entry = entry(device);
        entry.trimmer.begin();
        try {
            return computation.on(entry.context);
        } catch (IsolineException e) {
            if (e.isDeviceFailure()) {
                discard(device, entry.context);
            }
            throw e;
        } finally {
            entry.trimmer.end();
        }
    }

    static Context of(String device) throws IsolineException {
        return entry(device).context;
    }

    /** Starts the idle time of all contexts again, for memory that was closed outside of {@link #use}. */
    static void rest() {
        List<Entry> entries;
        synchronized (Contexts.class) {
            entries = new ArrayList<>(OPEN.values());
        }
        // The lock is released: a trimmer that is at work may wait for it.
        for (Entry entry : entries) {
            entry.trimmer.begin();
            entry.trimmer.end();
        }
    }

    private static synchronized Entry entry(String device) throws IsolineException {
        Entry entry = OPEN.get(device);
        if (entry == null) {
            entry = new Entry(device, Context.open(device));
            OPEN.put(device, entry);
        }
        return entry;
    }

    private static void trim(String device, Context context) {
        try {
            context.trim();
        } catch (IsolineException e) {
            // The next command opens the device anew and says what is wrong with it.
            discard(device, context);
        }
    }

    /** Discards a context that has failed, unless another has taken its place; the next call opens a new one. */
    private static synchronized void discard(String device, Context context) {
        Entry entry = OPEN.get(device);
        if (entry != null && entry.context == context) {
            OPEN.remove(device);
            context.close();
        }
    }
}
