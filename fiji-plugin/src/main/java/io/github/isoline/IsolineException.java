package io.github.isoline;

/** A failure whose message says what was expected, what was found, and what to do. */
public class IsolineException extends Exception {
    private static final long serialVersionUID = 1L;

    private final int status;

    /** @param values for the places in the format; without any it is the message itself */
    IsolineException(int status, String format, Object... values) {
        super(values.length == 0 ? format : String.format(format, values));
        this.status = status;
    }

    /** Creates a failure that was found in Java, before or beside the native library. */
    protected IsolineException(String format, Object... values) {
        this(Status.INVALID_ARGUMENT, format, values);
    }

    /** Returns the exception for a cancel by the user between two calls to the library. */
    public static IsolineException cancelled() {
        return new IsolineException(Status.CANCELLED, "The user asked to stop.");
    }

    /** Returns the status code of the C API. */
    public int status() {
        return status;
    }

    /** Returns true if the device failed during the work, so that its context should be discarded. */
    public boolean isDeviceFailure() {
        return status == Status.DEVICE_FAILED || status == Status.PANIC;
    }

    /** Returns true if the progress callback cancelled: no failure, but no result either. */
    public boolean isCancelled() {
        return status == Status.CANCELLED;
    }
}
