package io.github.isoline;

import com.sun.jna.Pointer;

/**
 * Passes the C callback on to a {@link Progress}. It must stay reachable until the call returns, or the garbage
 * collector would free the code that C calls: {@link #rethrow} after the call ensures that.
 */
final class ProgressBridge implements Structs.Progress.Function {
    private final Progress progress;
    private final Structs.Progress struct;
    private RuntimeException thrown;
    private Error error;

    /** @param progress may be null */
    ProgressBridge(Progress progress) {
        this.progress = progress;
        struct = progress == null ? null : new Structs.Progress();
        if (struct != null) {
            struct.struct_size = struct.size();
            struct.callback = this;
        }
    }

    /** Returns the argument of the C function; null if there is no callback. */
    Structs.Progress struct() {
        return struct;
    }

    @Override
    public int invoke(Pointer user, double fraction, String stage) {
        try {
            return progress.step(fraction, stage == null ? "" : stage) ? 0 : 1;
        } catch (RuntimeException e) {
            // No exception may pass through C code: cancel there, and rethrow after the call.
            thrown = e;
        } catch (Error e) {
            error = e;
        }
        return 1;
    }

    /** Rethrows the exception that the callback threw during the call. */
    void rethrow() {
        if (thrown != null) {
            throw thrown;
        }
        if (error != null) {
            throw error;
        }
    }
}
