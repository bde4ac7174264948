package io.github.isoline;

/** Status codes of the C API that Java code distinguishes; the numbers are frozen. */
final class Status {
    static final int OK = 0;
    static final int INVALID_ARGUMENT = 2;
    static final int OUT_OF_MEMORY = 7;
    static final int DEVICE_FAILED = 8;
    static final int CANCELLED = 9;
    static final int UNSUPPORTED = 10;
    static final int PANIC = 12;

    private Status() {}

    /** Turns any status but OK into an exception with the library's message. */
    static void check(int status) throws IsolineException {
        IsolineException failure = failure(status);
        if (failure != null) {
            throw failure;
        }
    }

    /** Returns the exception for a status, with the library's message; null for OK. */
    static IsolineException failure(int status) {
        if (status == OK) {
            return null;
        }
        String message = IsolineLibrary.isoline_last_error();
        if (message == null || message.isEmpty()) {
            message = "Isoline failed: " + IsolineLibrary.isoline_status_name(status);
        }
        return new IsolineException(status, message);
    }
}
