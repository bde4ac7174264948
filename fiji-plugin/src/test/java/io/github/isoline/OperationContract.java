package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * Progress that cancels, through the Java layer. The test of an operation with a call of its own implements this; edge
 * strength stands for those from one image to another.
 */
interface OperationContract {
    /**
     * Runs the operation on the CPU.
     *
     * @param progress is called at least three times; null: a short run
     */
    void play(Progress progress) throws IsolineException;

    @Test
    default void progressCancels() {
        AtomicInteger calls = new AtomicInteger();
        IsolineException e = assertThrows(IsolineException.class, () -> play((f, s) -> calls.incrementAndGet() < 2));
        assertTrue(e.isCancelled(), e.getMessage());
        assertEquals(2, calls.get(), "no call after the one that cancelled");
    }

    @Test
    default void exceptionInProgressComesOutOfTheCall() throws IsolineException {
        RuntimeException mine = new RuntimeException("mine");
        RuntimeException thrown = assertThrows(
                RuntimeException.class,
                () -> play((f, s) -> {
                    throw mine;
                }));
        assertSame(mine, thrown);
        play(null);
    }
}
