package io.github.isoline;

import java.util.Arrays;

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

    /**
     * Refuses a result that is larger than Java's arrays.
     *
     * @param what the result with its size, such as "There are 7 lines"
     * @param advice a sentence that says how to get less
     */
    static void checkRoom(long count, long most, String what, String advice) throws IsolineException {
        if (count > most) {
            String message = what + ", more than the " + most + " that Java can hold at once. " + advice;
            throw new IsolineException(OUT_OF_MEMORY, message);
        }
    }

    /** Returns numbers that fit, such as the offsets of a result for which {@link #checkRoom} found room. */
    static int[] narrow(long... numbers) {
        return Arrays.stream(numbers).mapToInt(number -> (int) number).toArray();
    }

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
