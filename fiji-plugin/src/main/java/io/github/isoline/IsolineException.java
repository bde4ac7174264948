package io.github.isoline;

/**
 * A failure that a person can act on: the message says what was wanted, what was got, what to do.
 */
public final class IsolineException extends Exception {
    private static final long serialVersionUID = 1L;

    private final int status;

    IsolineException(int status, String message) {
        super(message);
        this.status = status;
    }

    /** A failure found in Java, before or beside the native library. */
    IsolineException(String message) {
        this(Status.INVALID_ARGUMENT, message);
    }

    /** What a caller throws when the user stops it between two calls to the library. */
    public static IsolineException cancelled() {
        return new IsolineException(Status.CANCELLED, "The user asked to stop.");
    }

    /** The status code of the C API. */
    public int status() {
        return status;
    }

    /** True if the device broke during the work, so that its context is better thrown away. */
    public boolean isDeviceFailure() {
        return status == Status.DEVICE_FAILED || status == Status.PANIC;
    }

    /** True if the progress callback asked to stop: no failure, but no result either. */
    public boolean isCancelled() {
        return status == Status.CANCELLED;
    }
}
