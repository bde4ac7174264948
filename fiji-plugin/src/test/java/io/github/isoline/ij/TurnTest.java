package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.Progress;
import java.awt.event.KeyEvent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two commands that compute on the same device at the same time. */
@Timeout(120)
class TurnTest extends HeadlessTest {
    /** A run of another command, which holds the device until it is let go, but no longer than half a minute. */
    private static final class Other {
        final CountDownLatch waits = new CountDownLatch(1);
        private final CountDownLatch computes = new CountDownLatch(1);
        private final CountDownLatch enough = new CountDownLatch(1);
        private final FutureTask<ImagePlus> run;

        Other() throws IsolineException {
            ImagePlus image = open("horse.png");
            DistanceJob job = new DistanceJob(
                    image, Settings.fromMacro(new DistanceSettings(), "device=cpu threshold=127 stack=current"));
            run = new FutureTask<>(() -> job.run((fraction, stage) -> {
                if (stage.equals(Turn.WAITING)) {
                    waits.countDown();
                    return true;
                }
                computes.countDown();
                return await(enough);
            }));
            new Thread(run, "other command").start();
        }

        private static boolean await(CountDownLatch latch) {
            try {
                return latch.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        void letGo() {
            enough.countDown();
        }

        /** Lets it go, and asserts that it ends with its result. */
        void end() throws Exception {
            letGo();
            assertNotNull(run.get(60, TimeUnit.SECONDS));
        }
    }

    private static EdgeStrengthJob job() throws IsolineException {
        String options = "device=cpu mode=iterations iterations=5 threshold=127";
        return new EdgeStrengthJob(open("camera.png"), Settings.fromMacro(new EdgeStrengthSettings(), options));
    }

    @Test
    void commandThatWaitsForAnotherSaysSo() throws Exception {
        List<String> stages = new ArrayList<>();
        Other other = new Other();
        assertTrue(Other.await(other.computes));
        ImagePlus made = job().run((fraction, stage) -> {
            stages.add(stage);
            other.letGo();
            return true;
        });
        assertNotNull(made);
        other.end();
        assertEquals(Turn.WAITING, stages.get(0));
        assertFalse(stages.get(stages.size() - 1).equals(Turn.WAITING), stages.toString());
    }

    @Test
    void escapeEndsTheWait() throws Exception {
        Other other = new Other();
        assertTrue(Other.await(other.computes));
        IsolineException e =
                assertThrows(IsolineException.class, () -> job().run((fraction, stage) -> !stage.equals(Turn.WAITING)));
        assertTrue(e.isCancelled(), e.getMessage());
        assertEquals(1, other.enough.getCount());
        other.end();
    }

    /** Takes a turn in a thread of its own, and adds its name to a list then. */
    private static Thread inTurn(List<String> order, String name, Progress progress) {
        Thread thread = new Thread(() -> {
            try {
                Turn.use("cpu", progress, context -> order.add(name));
            } catch (IsolineException e) {
                order.add(e.getMessage());
            }
        });
        thread.start();
        return thread;
    }

    @Test
    void turnsAreInTheOrderOfTheWaits() throws Exception {
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch firstWaits = new CountDownLatch(1);
        CountDownLatch secondWaits = new CountDownLatch(1);
        CountDownLatch turnIsFree = new CountDownLatch(1);
        Other other = new Other();
        assertTrue(Other.await(other.computes));
        Thread first = inTurn(order, "first", (fraction, stage) -> {
            firstWaits.countDown();
            return Other.await(turnIsFree);
        });
        assertTrue(Other.await(firstWaits));
        Thread second = inTurn(order, "second", (fraction, stage) -> {
            secondWaits.countDown();
            return true;
        });
        assertTrue(Other.await(secondWaits));
        other.end();
        // The second one has the time to get ahead.
        second.join(500);
        turnIsFree.countDown();
        first.join();
        second.join();
        assertEquals(Arrays.asList("first", "second"), order);
    }

    @Test
    void previewThatWaitsSaysSoAndEndsForANewerRequest() throws Exception {
        Other other = new Other();
        assertTrue(Other.await(other.computes));
        PreviewMessages listener = new PreviewMessages();
        LivePreview<String> preview = new LivePreview<String>(open("horse.png"), listener) {
            @Override
            String compute(String settings, boolean draw) throws IsolineException {
                return settings.isEmpty() ? "no need to wait" : run("cpu", (context, progress) -> settings);
            }
        };
        preview.request("old", true);
        assertEquals(Turn.WAITING + "...", listener.next());
        preview.request("", true);
        assertEquals("no need to wait", listener.next());
        preview.request("new", true);
        assertEquals(Turn.WAITING + "...", listener.next());
        other.end();
        assertEquals("new", listener.next());
        preview.close();
    }

    @Test
    void escapeInALaterWaitKeepsWhatWasComputed() throws Exception {
        String options = "device=cpu start=box range=values target=180 epsilon=60 stack=slices mask_stack";
        LevelSetJob job = new LevelSetJob(open("brain.tif"), Settings.fromMacro(new LevelSetSettings(), options));
        job.callBytes = 1;
        AtomicReference<Other> other = new AtomicReference<>();
        ImagePlus made = job.run((fraction, stage) -> {
            if (stage.equals(Turn.WAITING)) {
                return false;
            }
            if (other.get() == null) {
                try {
                    other.set(new Other());
                } catch (IsolineException e) {
                    throw new AssertionError(e);
                }
                // It takes its turn when this call has ended.
                assertTrue(Other.await(other.get().waits));
            }
            return true;
        });
        other.get().end();
        assertTrue(job.stopped);
        assertEquals(job.image.getStackSize(), made.getStackSize());
        String warning = job.warnings().toString();
        assertTrue(warning.contains("slices that the run did not reach"), warning);
    }

    @Test
    void escapeIsForTheCommandThatComputes() throws Exception {
        DeviceInfo cpu = DeviceInfo.list().get(0);
        try (StatusBar waiting = new StatusBar(cpu, "cancel")) {
            try (StatusBar computing = new StatusBar(cpu, "cancel")) {
                assertTrue(computing.step(0.5, "smoothing"));
                // It reports nothing for a while.
                Thread.sleep(1200);
                IJ.setKeyDown(KeyEvent.VK_ESCAPE);
                assertTrue(waiting.step(0, Turn.WAITING));
                assertFalse(computing.step(0.5, "smoothing"));
                assertTrue(waiting.step(0, Turn.WAITING));
                // The command that was cancelled ends, and the other one computes.
                assertFalse(computing.step(0.5, "smoothing"));
            }
            assertTrue(waiting.step(0.5, "smoothing"));
            IJ.setKeyDown(KeyEvent.VK_ESCAPE);
            // A preview has no status bar: without another command the key is that of the one that waits.
            assertFalse(waiting.step(0, Turn.WAITING));
        }
    }
}
