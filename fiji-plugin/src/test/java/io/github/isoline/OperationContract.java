package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Structure;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * What the Java layer of every operation does: structs of the right size, the library's defaults,
 * progress that cancels. A test of an operation implements this.
 */
interface OperationContract {
    /** Its parameters before anything has filled them. */
    Structure blank();

    /** Calls the library's function that fills them. */
    int init(Structure params, long size);

    /** Its parameters as Java hands them over when nobody has changed any. */
    Structure defaults() throws IsolineException;

    /**
     * Runs it on the CPU.
     *
     * @param progress hears of it at least three times; null: a run that is short
     */
    void play(Progress progress) throws IsolineException;

    @Test
    default void paramsAreAsLargeAsTheLibrarySays() throws IsolineException {
        NativeLoader.load();
        Structure params = blank();
        Status.check(init(params, params.size()));
        assertEquals(params.size(), params.readField("struct_size"));
        // A struct that is not the first release's is refused, so these sizes are exact.
        assertThrows(IsolineException.class, () -> Status.check(init(params, params.size() - 8)));
    }

    @Test
    default void javaDefaultsAreTheLibrarys() throws IsolineException {
        NativeLoader.load();
        Structure library = blank();
        Status.check(init(library, library.size()));
        Structure java = defaults();
        assertTrue(library.dataEquals(java), library + "\n" + java);
    }

    @Test
    default void progressCancels() {
        AtomicInteger calls = new AtomicInteger();
        IsolineException e =
                assertThrows(
                        IsolineException.class, () -> play((f, s) -> calls.incrementAndGet() < 2));
        assertTrue(e.isCancelled(), e.getMessage());
        assertEquals(2, calls.get(), "no call after the one that cancelled");
    }

    @Test
    default void exceptionInProgressComesOutOfTheCall() throws IsolineException {
        RuntimeException mine = new RuntimeException("mine");
        RuntimeException thrown =
                assertThrows(
                        RuntimeException.class,
                        () ->
                                play(
                                        (f, s) -> {
                                            throw mine;
                                        }));
        assertSame(mine, thrown);
        play(null);
    }
}
