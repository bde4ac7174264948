package io.github.isoline;

/** The progress callback: is called on the thread that called the operation, and may cancel it. */
@FunctionalInterface
public interface Progress {
    /**
     * Reports the progress at intervals during an operation.
     *
     * @param fraction 0 at the start, 1 at the end
     * @param stage the current stage, for a status line
     * @return true to continue, false to cancel
     */
    boolean step(double fraction, String stage);
}
