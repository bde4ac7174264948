package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import io.github.isoline.IsolineException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Work on planes by several threads: all of them once, and failures as those of a loop. */
@Timeout(60)
class ParallelTest {
    private static final int THREADS = 4;

    @ParameterizedTest
    @CsvSource({"0, 4", "1, 4", "3, 4", "1000, 4", "1000, 1", "1000, 64"})
    void everyPlaneOnce(int count, int threads) throws Exception {
        AtomicIntegerArray done = new AtomicIntegerArray(count);
        Parallel.each(count, threads, done::incrementAndGet);
        for (int i = 0; i < count; i++) {
            assertEquals(1, done.get(i), "plane " + i);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1 << 20, (1 << 20) + 1, 3_000_000})
    void everyPixelOnce(int count) {
        AtomicIntegerArray done = new AtomicIntegerArray(count);
        Parallel.pixels(count, (from, some) -> {
            for (int i = from; i < from + some; i++) {
                done.incrementAndGet(i);
            }
        });
        for (int i = 0; i < count; i++) {
            assertEquals(1, done.get(i), "pixel " + i);
        }
    }

    @Test
    void workWithinWorkTakesNoMoreThreads() throws Exception {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        CountDownLatch together = new CountDownLatch(THREADS);
        Parallel.each(THREADS, THREADS, plane -> {
            together.countDown();
            await(together);
            Parallel.each(100, THREADS, piece -> threads.add(Thread.currentThread()));
        });
        // One that is late may find its pieces done by one that was early.
        assertTrue(threads.size() > 1 && threads.size() <= THREADS, threads.toString());
    }

    @Test
    void severalThreadsAtOnce() throws Exception {
        CountDownLatch together = new CountDownLatch(THREADS);
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        Parallel.each(THREADS, THREADS, plane -> {
            threads.add(Thread.currentThread());
            together.countDown();
            await(together);
        });
        assertEquals(THREADS, threads.size());
        assertTrue(threads.contains(Thread.currentThread()));
        threads.remove(Thread.currentThread());
        threads.forEach(thread -> assertTrue(thread.isDaemon()));
    }

    @Test
    void oneThreadIsTheCaller() throws Exception {
        Parallel.each(9, 1, plane -> assertEquals("main", mainOr(Thread.currentThread())));
    }

    private static String mainOr(Thread thread) {
        return thread.getName().startsWith("Isoline") ? thread.getName() : "main";
    }

    @Test
    void failuresComeAsThemselves() {
        BadInput bad = new BadInput("bad");
        assertSame(bad, thrown(BadInput.class, bad));
        IsolineException cancelled = IsolineException.cancelled();
        assertSame(cancelled, thrown(IsolineException.class, cancelled));
        RuntimeException unchecked = new IllegalStateException("unchecked");
        assertSame(unchecked, thrown(IllegalStateException.class, unchecked));
        OutOfMemoryError memory = new OutOfMemoryError("Java heap space");
        assertSame(memory, thrown(OutOfMemoryError.class, memory));
    }

    /** Throws on a helper, while the calling thread waits on another plane. */
    private static <T extends Throwable> T thrown(Class<T> type, Throwable failure) {
        Thread caller = Thread.currentThread();
        CountDownLatch failed = new CountDownLatch(1);
        return assertThrows(
                type,
                () -> Parallel.each(2, 2, plane -> {
                    if (Thread.currentThread() == caller) {
                        await(failed);
                        return;
                    }
                    failed.countDown();
                    if (failure instanceof IsolineException) {
                        throw (IsolineException) failure;
                    }
                    if (failure instanceof Error) {
                        throw (Error) failure;
                    }
                    throw (RuntimeException) failure;
                }));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, THREADS, 16})
    void firstFailureAsInALoop(int threads) {
        for (int run = 0; run < 50; run++) {
            AtomicInteger begun = new AtomicInteger();
            BadInput e = assertThrows(
                    BadInput.class,
                    () -> Parallel.each(1000, threads, plane -> {
                        begun.incrementAndGet();
                        if (plane >= 20) {
                            throw new BadInput("plane " + plane);
                        }
                    }));
            assertEquals("plane 20", e.getMessage());
            assertTrue(begun.get() <= 20 + threads, begun + " were begun");
        }
    }

    @Test
    void noMemoryForTheResult() {
        assertThrows(
                OutOfMemoryError.class,
                () -> Parallel.fill(new float[1 << 10][], () -> new float[Integer.MAX_VALUE / 2]));
    }

    @Test
    void interruptIsKeptUntilTheEnd() throws Exception {
        AtomicInteger done = new AtomicInteger();
        Thread.currentThread().interrupt();
        Parallel.each(100, THREADS, plane -> {
            Thread.yield();
            done.incrementAndGet();
        });
        assertTrue(Thread.interrupted());
        assertEquals(100, done.get());
    }

    @Test
    void workMayHaveWorkOfItsOwn() throws Exception {
        AtomicInteger done = new AtomicInteger();
        Parallel.each(8, THREADS, outer -> Parallel.each(8, THREADS, inner -> done.incrementAndGet()));
        assertEquals(64, done.get());
    }

    @Test
    void virtualStacksAreReadByOneThreadAtATime() throws Exception {
        AtomicInteger readers = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        ImageStack stack = new ImageStack(4, 4) {
            @Override
            public Object getPixels(int n) {
                most.accumulateAndGet(readers.incrementAndGet(), Math::max);
                Object pixels = super.getPixels(n);
                Thread.yield();
                readers.decrementAndGet();
                return pixels;
            }
        };
        for (int i = 0; i < 200; i++) {
            stack.addSlice("", new byte[16]);
        }
        ImagePlus image = new ImagePlus("stack", stack);
        most.set(0);
        Parallel.each(200, THREADS, plane -> Pixels.of(image, plane + 1));
        assertEquals(1, most.get());
    }

    @Test
    void escapeEndsTheWork() throws Exception {
        AtomicInteger done = new AtomicInteger();
        ij.IJ.resetEscape();
        IsolineException e;
        try {
            e = assertThrows(
                    IsolineException.class,
                    () -> Parallel.each(100_000, THREADS, plane -> {
                        StackJob.checkEscape();
                        if (done.incrementAndGet() == 10) {
                            ij.IJ.setKeyDown(java.awt.event.KeyEvent.VK_ESCAPE);
                        }
                    }));
        } finally {
            ij.IJ.resetEscape();
        }
        assertTrue(e.isCancelled());
        assertFalse(done.get() > 1000, done + " planes");
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(30, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
