package io.github.isoline;

import com.sun.jna.Callback;
import com.sun.jna.Pointer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The warnings that the native library logs, such as that it goes on in a temporary file because memory is short. They
 * come on any thread, in the middle of a call, so they are only kept here until somebody takes them.
 */
public final class LibraryLog {
    /** {@code isoline_log_fn}. */
    interface Function extends Callback {
        /** Is called on any thread, on several at the same time. */
        void invoke(Pointer user, int level, Pointer message);
    }

    private static final int OFF = 0;

    /** Failures that no call returns are logged at this level, too. */
    private static final int WARN = 2;

    /** The most warnings that are kept if nobody takes them. */
    private static final int MOST = 64;

    /** The beginning of a warning that is not kept: {@link Report#converged} says the same. */
    private static final String NOT_CONVERGED = "edge strength has not converged";

    private static final BlockingQueue<String> KEPT = new LinkedBlockingQueue<>(MOST);

    /** The library's logger. It must stay reachable, or the garbage collector would free the code that C calls. */
    private static final Function LOGGER = (user, level, message) -> keep(message.getString(0, "UTF-8"));

    private LibraryLog() {}

    /** Begins to keep the warnings, until Java ends. A copy of the plugin that is loaded later takes them over. */
    static void start() {
        // The hook also keeps this class, and with it the logger, if ImageJ loads its plugins anew and drops the old
        // ones.
        Runtime.getRuntime()
                .addShutdownHook(new Thread(() -> IsolineLibrary.isoline_set_logger(null, null, OFF), "Isoline log"));
        IsolineLibrary.isoline_set_logger(LOGGER, null, WARN);
    }

    private static void keep(String message) {
        if (!message.startsWith(NOT_CONVERGED)) {
            // A full queue refuses it at once: no thread of the library may wait here.
            KEPT.offer(message);
        }
    }

    /** Returns the warnings that have come since the last call, at most the first 64 of them. */
    public static List<String> take() {
        List<String> taken = new ArrayList<>();
        KEPT.drainTo(taken);
        return taken;
    }
}
