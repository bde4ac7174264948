package io.github.isoline;

/** Hears how far an operation has come, on the thread that called it, and may stop it. */
@FunctionalInterface
public interface Progress {
    /**
     * Called now and then during an operation.
     *
     * @param fraction 0 at the start, 1 at the end
     * @param stage what is being done, for a status line
     * @return true to go on, false to cancel
     */
    boolean step(double fraction, String stage);
}
