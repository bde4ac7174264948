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
        if (status == OK) {
            return;
        }
        String message = IsolineLibrary.isoline_last_error();
        if (message == null || message.isEmpty()) {
            message = "Isoline failed: " + IsolineLibrary.isoline_status_name(status);
        }
        throw new IsolineException(status, message);
    }
}
