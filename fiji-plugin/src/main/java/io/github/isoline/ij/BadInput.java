package io.github.isoline.ij;

import io.github.isoline.IsolineException;

/** Input that the command cannot work with; the message says what to do. */
final class BadInput extends IsolineException {
    private static final long serialVersionUID = 1L;

    /** @param values for the places in the format; without any it is the message itself */
    BadInput(String format, Object... values) {
        super(format, values);
    }
}
