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

    /** Returns the progress of a part of a run, as that of the whole; null without one. */
    static Progress part(Progress progress, double from, double to) {
        return progress == null ? null : (fraction, stage) -> progress.step(from + fraction * (to - from), stage);
    }
}
