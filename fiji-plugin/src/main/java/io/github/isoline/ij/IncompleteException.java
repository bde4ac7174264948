package io.github.isoline.ij;

import io.github.isoline.IsolineException;

/** A failure of one output, such as a file that could not be written after the work: the result has the others. */
public final class IncompleteException extends IsolineException {
    private static final long serialVersionUID = 1L;

    private final transient Result result;

    IncompleteException(BadInput failure, Result result) {
        super(failure.getMessage());
        this.result = result;
    }

    /** Returns the outputs that were made. */
    public Result getResult() {
        return result;
    }
}
