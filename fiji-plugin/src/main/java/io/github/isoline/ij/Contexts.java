package io.github.isoline.ij;

import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import java.util.HashMap;
import java.util.Map;

/**
 * The open contexts, one for each choice of a device; they are kept because opening a CUDA device takes longer than a
 * run.
 */
final class Contexts {
    private static final Map<String, Context> OPEN = new HashMap<>();

    private Contexts() {}

    static synchronized Context of(String device) throws IsolineException {
        Context context = OPEN.get(device);
        if (context == null) {
            context = Context.open(device);
            OPEN.put(device, context);
        }
        return context;
    }

    /** Discards a context that may have failed; the next call opens a new one. */
    static synchronized void discard(String device) {
        Context context = OPEN.remove(device);
        if (context != null) {
            context.close();
        }
    }
}
