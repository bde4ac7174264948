package io.github.isoline;

import com.sun.jna.Pointer;

/**
 * Carries the C callback to a {@link Progress}. It must stay reachable until the call returns, or
 * the garbage collector would free the code that C calls: {@link #rethrow} behind the call keeps it
 * so.
 */
final class ProgressBridge implements ProgressStruct.Function {
    private final Progress progress;
    private final ProgressStruct struct;
    private RuntimeException thrown;
    private Error error;

    /**
     * @param progress may be null
     */
    ProgressBridge(Progress progress) {
        this.progress = progress;
        struct = progress == null ? null : new ProgressStruct();
        if (struct != null) {
            struct.struct_size = struct.size();
            struct.callback = this;
        }
    }

    /** What the C function takes; null if there is nobody to tell. */
    ProgressStruct struct() {
        return struct;
    }

    @Override
    public int invoke(Pointer user, double fraction, String stage) {
        try {
            return progress.step(fraction, stage == null ? "" : stage) ? 0 : 1;
        } catch (RuntimeException e) {
            // No exception may cross C: stop there, and go on throwing behind it.
            thrown = e;
        } catch (Error e) {
            error = e;
        }
        return 1;
    }

    /** Throws what the listener threw during the call. */
    void rethrow() {
        if (thrown != null) {
            throw thrown;
        }
        if (error != null) {
            throw error;
        }
    }
}
