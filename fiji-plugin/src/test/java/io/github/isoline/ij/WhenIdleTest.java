package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The action after a time without use. */
@Timeout(60)
class WhenIdleTest {
    private static final int IDLE = 200;

    private final Semaphore acts = new Semaphore(0);
    private final WhenIdle idle = new WhenIdle(IDLE, acts::release);

    @Test
    void actsOnceAWhileAfterAUse() throws InterruptedException {
        idle.begin();
        long ended = System.nanoTime();
        idle.end();
        assertTrue(acts.tryAcquire(30, TimeUnit.SECONDS));
        assertTrue(System.nanoTime() - ended >= TimeUnit.MILLISECONDS.toNanos(IDLE));
        Thread.sleep(2 * IDLE);
        assertEquals(0, acts.availablePermits());
    }

    @Test
    void neverDuringAUse() throws InterruptedException {
        idle.begin();
        idle.begin();
        idle.end();
        Thread.sleep(3 * IDLE);
        assertEquals(0, acts.availablePermits());
        idle.end();
        assertTrue(acts.tryAcquire(30, TimeUnit.SECONDS));
    }

    @Test
    void eachUsePutsItOff() throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(4 * IDLE);
        long last = System.nanoTime();
        while (System.nanoTime() < until) {
            idle.begin();
            // On a busy machine this thread itself may have waited for too long.
            boolean late = System.nanoTime() - last > TimeUnit.MILLISECONDS.toNanos(IDLE);
            assertTrue(late || acts.availablePermits() == 0);
            last = System.nanoTime();
            idle.end();
            acts.drainPermits();
            Thread.sleep(1);
        }
        assertTrue(acts.tryAcquire(30, TimeUnit.SECONDS));
    }

    @Test
    void aUseWaitsForTheAction() throws InterruptedException {
        Semaphore go = new Semaphore(0);
        boolean[] acted = {false};
        WhenIdle slow = new WhenIdle(0, () -> {
            acts.release();
            go.acquireUninterruptibly();
            acted[0] = true;
        });
        slow.begin();
        slow.end();
        assertTrue(acts.tryAcquire(30, TimeUnit.SECONDS));
        Thread helper = new Thread(() -> go.release());
        helper.start();
        slow.begin();
        assertTrue(acted[0]);
        slow.end();
        helper.join();
        go.release();
    }
}
