package io.github.isoline;

import com.sun.jna.Memory;

/**
 * Cancels the calls of the thread that makes it, until that thread closes it: after {@link #cancel}, by any thread,
 * they end with an {@link IsolineException}, those without a {@link Progress}, too.
 */
public final class CancelFlag implements AutoCloseable {
    private final Memory flag = new Memory(Integer.BYTES);

    /** Makes the flag of the calling thread, which has one at a time. */
    public CancelFlag() throws IsolineException {
        NativeLoader.load();
        flag.clear();
        Status.check(IsolineLibrary.isoline_set_cancel_flag(flag));
    }

    /** Cancels the running call and each later one. */
    public void cancel() {
        flag.setInt(0, 1);
    }

    /** Ends the effect of the flag; only for the thread that made it. */
    @Override
    public void close() throws IsolineException {
        Status.check(IsolineLibrary.isoline_set_cancel_flag(null));
    }
}
