package io.github.isoline.ij;

/** Input that the command cannot work with; the message says what to do. */
final class BadInput extends Exception {
    private static final long serialVersionUID = 1L;

    BadInput(String message) {
        super(message);
    }
}
