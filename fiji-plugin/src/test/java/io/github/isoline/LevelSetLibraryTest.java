package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Level sets through the Java layer, without ImageJ: structs, state, cancelling, shapes. */
class LevelSetLibraryTest implements OperationContract {
    private static final int SIDE = 32;
    private static final long ENDLESS = 10_000_000;

    @BeforeAll
    static void load() throws IsolineException {
        NativeLoader.load();
    }

    @Override
    public void play(Progress progress) throws IsolineException {
        try (Scene scene = new Scene();
                LevelSet surface = scene.start(restless())) {
            surface.step(progress == null ? 5 : ENDLESS, progress);
        }
    }

    /** Returns parameters with which the run never stops early. */
    private static Params restless() throws IsolineException {
        return LevelSet.neverStop(params());
    }

    @Test
    void surfaceGrowsToTheBorderOfABall() throws IsolineException {
        Params params = params();
        try (Scene scene = new Scene();
                LevelSet surface = scene.start(params)) {
            assertEquals(0, surface.iterations());
            assertEquals(80, surface.target());
            assertEquals(20, surface.epsilon());
            assertTrue(surface.timeStep() > 0);
            long before = surface.inside();
            surface.step(5000, null);
            assertTrue(surface.converged(), "after " + surface.iterations());
            assertTrue(surface.iterations() < 5000);
            assertTrue(surface.inside() > 2 * before);
            assertEquals(1, surface.inside() / (double) scene.ball, 0.05);
            surface.readMask(scene.mask);
            assertEquals(surface.inside(), scene.count());
            try (PixelBuffer phi = new PixelBuffer(scene.context, PixelBuffer.Type.F32, SIDE, SIDE, SIDE)) {
                surface.readPhi(phi);
                float[] slice = new float[SIDE * SIDE];
                byte[] mask = new byte[SIDE * SIDE];
                phi.read(SIDE / 2, slice);
                scene.mask.read(SIDE / 2, mask);
                for (int i = 0; i < slice.length; i++) {
                    assertEquals(slice[i] < 0, mask[i] != 0);
                }
            }
            Report report = surface.report();
            assertEquals(surface.iterations(), report.iterations());
            assertTrue(report.converged());
            assertTrue(report.seconds() > 0);
            assertTrue(report.device().startsWith("cpu"), report.device());
        }
    }

    @Test
    void piecesGiveWhatOneStepGives() throws IsolineException {
        Params params = params();
        try (Scene one = new Scene();
                Scene many = new Scene();
                LevelSet whole = one.start(params);
                LevelSet pieces = many.start(params)) {
            whole.step(5000, null);
            while (!pieces.converged() && pieces.iterations() < 5000) {
                pieces.step(7, null);
            }
            assertEquals(whole.iterations(), pieces.iterations());
            whole.readMask(one.mask);
            pieces.readMask(many.mask);
            byte[] a = new byte[SIDE * SIDE];
            byte[] b = new byte[SIDE * SIDE];
            for (int z = 0; z < SIDE; z++) {
                one.mask.read(z, a);
                many.mask.read(z, b);
                assertArrayEquals(a, b);
            }
        }
    }

    @Test
    void cancelledStepKeepsWhatItReached() throws IsolineException {
        AtomicInteger calls = new AtomicInteger();
        try (Scene scene = new Scene();
                LevelSet surface = scene.start(restless())) {
            IsolineException e = assertThrows(
                    IsolineException.class, () -> surface.step(ENDLESS, (f, s) -> calls.incrementAndGet() < 3));
            assertTrue(e.isCancelled(), e.getMessage());
            assertEquals(3, calls.get(), "no call after the one that cancelled");
            long reached = surface.iterations();
            assertTrue(reached < ENDLESS);
            surface.readMask(scene.mask);
            assertEquals(surface.inside(), scene.count());
            surface.step(5, null);
            assertEquals(reached + 5, surface.iterations());
        }
    }

    @Test
    void flagEndsCallsWithoutProgress() throws IsolineException, InterruptedException {
        try (Scene scene = new Scene()) {
            try (CancelFlag flag = new CancelFlag()) {
                scene.start(params()).close();
                Thread other = new Thread(flag::cancel);
                other.start();
                other.join();
                IsolineException e = assertThrows(IsolineException.class, () -> scene.start(params()));
                assertTrue(e.isCancelled(), e.getMessage());
            }
            scene.start(params()).close();
        }
    }

    @Test
    void contextMayBeClosedBeforeTheSurface() throws IsolineException {
        Scene scene = new Scene();
        LevelSet surface = scene.start(params());
        scene.context.close();
        surface.step(10, null);
        assertEquals(10, surface.iterations());
        surface.close();
        surface.close();
        assertThrows(IsolineException.class, () -> surface.step(1, null));
        scene.close();
    }

    @Test
    void mistakesAreSaidByTheirNames() throws IsolineException {
        Params params = params();
        for (Object[] wrong : new Object[][] {{"reinitialise_every", -1.0}, {"alpha", 2.0}}) {
            String name = (String) wrong[0];
            String said = assertThrows(IsolineException.class, () -> params.set(name, (Double) wrong[1]))
                    .getMessage();
            assertTrue(said.startsWith(name), said);
        }
        params.set("alpha", 0.5).set("time_step", 1e6);
        assertTrue(refusal(params).contains("stable limit"), refusal(params));
    }

    private static String refusal(Params params) throws IsolineException {
        try (Scene scene = new Scene()) {
            return assertThrows(
                            IsolineException.class, () -> scene.start(params).close())
                    .getMessage();
        }
    }

    @Test
    void shapesAreFilledInTheUnitOfTheSpacing() throws IsolineException {
        try (Context context = Context.open("cpu");
                PixelBuffer mask = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 3)) {
            byte[] slice = new byte[SIDE * SIDE];
            for (int z = 0; z < 3; z++) {
                mask.write(z, slice);
            }
            mask.setSpacing(0.5, 1, 4);
            Masks.fillSpheres(mask, 3, new double[] {10, 10, 1, 3.1}, 7);
            int[] wanted = new int[3];
            for (int z = 0; z < 3; z++) {
                mask.read(z, slice);
                for (int i = 0; i < slice.length; i++) {
                    double x = (i % SIDE - 10) * 0.5;
                    double y = i / SIDE - 10;
                    boolean inside = x * x + y * y + Math.pow((z - 1) * 4, 2) <= 3.1 * 3.1;
                    wanted[z] += inside ? 1 : 0;
                    assertEquals(inside ? 7 : 0, slice[i], "pixel " + i + " of slice " + z);
                }
            }
            assertTrue(wanted[1] > 50 && wanted[0] == 0, "4 is farther than 3.1");
            Masks.fillBoxes(mask, 3, new double[] {2, 3, 0, 4, 3, 1}, 9);
            mask.read(0, slice);
            assertEquals(9, slice[3 * SIDE + 4]);
            assertEquals(0, slice[3 * SIDE + 5]);
            mask.read(2, slice);
            assertEquals(0, slice[3 * SIDE + 4]);
            assertThrows(IsolineException.class, () -> Masks.fillSpheres(mask, 3, new double[] {1, 1, 1, -1}, 1));
        }
    }

    private static Params params() throws IsolineException {
        Params params = new Params(LevelSet.NAME);
        return params.set("target", 80).set("epsilon", 20).set("alpha", 0.2);
    }

    /** A grey ball in the dark, and a small cube in its middle to start from. */
    private static final class Scene implements AutoCloseable {
        final Context context = Context.open("cpu");
        final PixelBuffer image = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, SIDE);
        final PixelBuffer mask = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, SIDE);
        int ball;

        Scene() throws IsolineException {
            for (int z = 0; z < SIDE; z++) {
                byte[] grey = new byte[SIDE * SIDE];
                byte[] cube = new byte[SIDE * SIDE];
                for (int i = 0; i < grey.length; i++) {
                    double x = i % SIDE - 15.5;
                    double y = i / SIDE - 15.5;
                    boolean inside = x * x + y * y + Math.pow(z - 15.5, 2) < 100;
                    grey[i] = (byte) (inside ? 80 : 10);
                    ball += inside ? 1 : 0;
                    boolean near = Math.max(Math.max(Math.abs(x), Math.abs(y)), Math.abs(z - 15.5)) < 4;
                    cube[i] = (byte) (near ? 1 : 0);
                }
                image.write(z, grey);
                mask.write(z, cube);
            }
        }

        LevelSet start(Params params) throws IsolineException {
            return LevelSet.start(context, image, mask, SIDE, params);
        }

        long count() {
            long count = 0;
            byte[] slice = new byte[SIDE * SIDE];
            for (int z = 0; z < SIDE; z++) {
                mask.read(z, slice);
                for (byte pixel : slice) {
                    count += pixel == -1 ? 1 : 0;
                }
            }
            return count;
        }

        @Override
        public void close() {
            image.close();
            mask.close();
            context.close();
        }
    }
}
