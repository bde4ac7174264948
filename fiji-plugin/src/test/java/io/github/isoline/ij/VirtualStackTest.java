package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.VirtualStack;
import ij.process.ImageProcessor;
import io.github.isoline.IsolineException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Virtual stacks, whose planes are read when they are needed: larger than Java's memory, and with planes that fail. */
@Timeout(120)
class VirtualStackTest extends HeadlessTest {
    private static final int SIDE = 64;
    private static final int PLANES = 24;

    /**
     * Memory for the calls of two planes of 8 bits at a time, beside the result and the two planes that are read next.
     */
    private static final long TWO_PLANES = 2L * SIDE * SIDE * (2 + Float.BYTES);

    /** Planes that are made at each access, and the indices of those that were asked for. */
    private static class Planes extends VirtualStack {
        final List<Integer> asked = Collections.synchronizedList(new ArrayList<>());
        private final int side;
        private final int count;
        private final int bits;

        Planes(int side, int count, int bits) {
            super(side, side, null, "");
            this.side = side;
            this.count = count;
            this.bits = bits;
        }

        @Override
        public Object getPixels(int n) {
            asked.add(n);
            if (bits == 8) {
                byte[] plane = new byte[side * side];
                for (int i = 0; i < plane.length; i++) {
                    plane[i] = (byte) value(n, i);
                }
                return plane;
            }
            if (bits == 16) {
                short[] plane = new short[side * side];
                for (int i = 0; i < plane.length; i++) {
                    plane[i] = (short) value(n, i);
                }
                return plane;
            }
            float[] plane = new float[side * side];
            for (int i = 0; i < plane.length; i++) {
                plane[i] = value(n, i);
            }
            return plane;
        }

        /** A square on a darker ground, which wanders. */
        private int value(int n, int i) {
            int x = i % side - n % (side / 2);
            int y = i / side - side / 4;
            return x >= 0 && x < side / 3 && y >= 0 && y < side / 3 ? 180 + n % 40 : 20;
        }

        @Override
        public ImageProcessor getProcessor(int n) {
            ImageStack one = new ImageStack(side, side);
            one.addSlice("", getPixels(n));
            return one.getProcessor(1);
        }

        @Override
        public int size() {
            return count;
        }

        @Override
        public int getSize() {
            return count;
        }

        @Override
        public String getSliceLabel(int n) {
            return "";
        }

        @Override
        public int getBitDepth() {
            return bits;
        }
    }

    private static ImagePlus image(Planes planes) {
        ImagePlus image = new ImagePlus("virtual", planes);
        planes.asked.clear();
        return image;
    }

    private static EdgeStrengthJob job(ImagePlus image) throws IsolineException {
        String options = "device=cpu mode=iterations iterations=9 threshold=100";
        EdgeStrengthJob job = new EdgeStrengthJob(image, Settings.fromMacro(new EdgeStrengthSettings(), options));
        job.callBytes = TWO_PLANES;
        return job;
    }

    @Test
    void planesAreReadOnceAndWhileOthersAreComputed() throws Exception {
        CountDownLatch ahead = new CountDownLatch(4);
        AtomicInteger most = new AtomicInteger();
        Planes planes = new Planes(SIDE, PLANES, 8) {
            @Override
            public Object getPixels(int n) {
                Object pixels = super.getPixels(n);
                ahead.countDown();
                return pixels;
            }
        };
        ImagePlus image = image(planes);
        ImagePlus made = job(image).run((fraction, stage) -> {
            // The first call waits until the planes of the next one have been read, too.
            await(ahead);
            most.accumulateAndGet(planes.asked.size() - 2 * (int) (fraction * PLANES / 2), Math::max);
            return true;
        });
        assertEquals(PLANES, planes.asked.size());
        assertTrue(most.get() >= 4 && most.get() <= 6, most + " planes at a time");
        ImagePlus whole = new ImagePlus("in memory", inMemory(planes));
        ImagePlus wanted = job(whole).run(null);
        for (int n = 1; n <= PLANES; n++) {
            assertArrayEquals(pixels(wanted, n), pixels(made, n));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 8, PLANES})
    void planeThatCannotBeReadIsNamed(int failing) throws Exception {
        ImagePlus image = image(new Planes(SIDE, PLANES, 8) {
            @Override
            public Object getPixels(int n) {
                return n == failing ? null : super.getPixels(n);
            }
        });
        BadInput refused = assertThrows(BadInput.class, () -> job(image).run(null));
        assertTrue(
                refused.getMessage().startsWith("\"virtual\" (slice " + failing + ") cannot be read"),
                refused.getMessage());
    }

    @Test
    void exceptionOfTheReaderReachesTheCaller() throws Exception {
        ImagePlus image = image(new Planes(SIDE, PLANES, 8) {
            @Override
            public Object getPixels(int n) {
                if (n == 7) {
                    throw new IllegalStateException("the disk is gone");
                }
                return super.getPixels(n);
            }
        });
        IllegalStateException thrown =
                assertThrows(IllegalStateException.class, () -> job(image).run(null));
        assertEquals("the disk is gone", thrown.getMessage());
    }

    @Test
    void cancelReadsNoFurtherPlanes() throws Exception {
        Planes planes = new Planes(SIDE, PLANES, 8);
        ImagePlus image = image(planes);
        IsolineException cancelled =
                assertThrows(IsolineException.class, () -> job(image).run((fraction, stage) -> false));
        assertTrue(cancelled.isCancelled());
        assertTrue(planes.asked.size() <= 4, planes.asked.toString());
        int asked = planes.asked.size();
        Thread.sleep(50);
        assertEquals(asked, planes.asked.size());
    }

    @Test
    void stopThatKeepsTheResultReadsNoFurtherPlanes() throws Exception {
        Planes planes = new Planes(SIDE, PLANES, 8);
        String options = "device=cpu start=box range=values target=180 epsilon=60 mask_stack";
        LevelSetJob job = new LevelSetJob(image(planes), Settings.fromMacro(new LevelSetSettings(), options));
        job.callBytes = 1;
        assertEquals(PLANES, job.run((fraction, stage) -> false).getStackSize());
        assertTrue(job.stopped);
        assertTrue(planes.asked.size() <= 4, planes.asked.toString());
    }

    /** Each operation in a Java of little memory: the stack, or the stack and the result, does not fit into it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "Isolines...|8|level=100|96",
                "Edge Drawing...|16|find=segments edge_map|200",
                "Edge Strength Function...|32|mode=iterations iterations=1 threshold=100|330",
                "Signed Distance...|32|threshold=100 stack=slices|330"
            })
    void stacksLargerThanTheMemoryAreComputed(String scene, @TempDir Path folder) throws Exception {
        String[] parts = scene.split("\\|");
        List<String> options = new ArrayList<>();
        options.add("-Xmx" + parts[3] + "m");
        options.add("-Djava.awt.headless=true");
        String natives = System.getProperty("isoline.native.dir");
        if (natives != null) {
            options.add("-Disoline.native.dir=" + natives);
        }
        HeadlessProcess.Outcome outcome = HeadlessProcess.java(
                folder,
                System.getProperty("java.class.path"),
                options,
                InLittleMemory.class.getName(),
                parts[0],
                parts[1],
                parts[2]);
        assertEquals("", outcome.errors);
        assertEquals(0, outcome.status, outcome.out);
        assertTrue(outcome.out.contains("done"), outcome.out);
    }

    /** Runs a command on a virtual stack of 256 MB, in planes of 1 megapixel; prints "done". */
    static final class InLittleMemory {
        public static void main(String[] args) throws Exception {
            HeadlessImageJ.registerCommands();
            int bits = Integer.parseInt(args[1]);
            int count = bits == 32 ? 64 : bits == 16 ? 128 : 256;
            ImagePlus image = new ImagePlus("virtual", new Planes(1024, count, bits));
            ij.WindowManager.setTempCurrentImage(image);
            ij.IJ.run(args[0], "device=cpu " + args[2]);
            ImagePlus made = ij.WindowManager.getCurrentImage();
            System.out.println(made == image || made.getStackSize() == count ? "done" : "another image");
        }
    }

    private static ImageStack inMemory(Planes planes) {
        ImageStack all = new ImageStack(SIDE, SIDE);
        for (int n = 1; n <= planes.size(); n++) {
            all.addSlice("", planes.getPixels(n));
        }
        return all;
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(30, TimeUnit.SECONDS), "planes are read only after the call");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
