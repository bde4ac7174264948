package io.github.isoline;

/**
 * A list of all that an operation found in the slices of a stack, and the report of the run.
 *
 * @param <T> the kind of list that it is in
 */
public final class Findings<T extends InSlices> {
    private final Report report;
    private final T found;

    Findings(Report report, T found) {
        this.report = report;
        this.found = found;
    }

    /** Returns the report of the run. */
    public Report report() {
        return report;
    }

    /** Returns what was found; null if nothing was to be found. */
    public T found() {
        return found;
    }
}
