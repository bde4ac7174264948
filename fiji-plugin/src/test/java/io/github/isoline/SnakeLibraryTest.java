package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Region snakes through the Java layer, without ImageJ: structs, state, cancelling. */
class SnakeLibraryTest implements OperationContract {
    private static final int SIDE = 96;

    @BeforeAll
    static void load() throws IsolineException {
        NativeLoader.load();
    }

    @Override
    public void play(Progress progress) throws IsolineException {
        // There are many targets in noise: the library reports as they end.
        int many = progress == null ? 1 : 20_000;
        int[][] starts = new int[many][];
        for (int i = 0; i < many; i++) {
            starts[i] = square(10 + i % 40, 12 + i % 37, 40);
        }
        try (Scene scene = new Scene();
                Snake snake = scene.start(Polygons.of(starts), new Params(Snake.NAME))) {
            snake.step(Long.MAX_VALUE, progress);
        }
    }

    @Test
    void discIsFoundFromARectangle() throws IsolineException {
        try (Scene scene = new Scene();
                Snake snake = scene.start(null, new Params(Snake.NAME));
                PixelBuffer labels = new PixelBuffer(scene.context, PixelBuffer.Type.U16, SIDE, SIDE, 1)) {
            assertEquals(1, snake.count());
            assertFalse(snake.isEnded());
            assertEquals(TargetStatistics.State.RUNNING, snake.statistics()[0].state());
            assertArrayEquals(
                    new int[] {24, 24, 72, 24, 72, 72, 24, 72}, snake.polygons().get(0));
            snake.step(3, null);
            assertEquals(3, snake.iterations());
            snake.step(Long.MAX_VALUE, null);
            assertTrue(snake.isEnded());
            TargetStatistics found = snake.statistics()[0];
            assertEquals(TargetStatistics.State.CONVERGED, found.state());
            assertEquals(Math.PI * 400, found.pixels(), 60);
            assertEquals(150, found.mean(), 2);
            assertEquals(SIDE * SIDE, found.pixels() + found.backgroundPixels());
            assertTrue(found.deviation() > 20 && found.backgroundDeviation() > 20);
            snake.drawLabels(labels);
            short[] pixels = new short[SIDE * SIDE];
            labels.read(0, pixels);
            int inside = 0;
            for (short pixel : pixels) {
                inside += pixel;
            }
            assertEquals(found.pixels(), inside);
            assertTrue(snake.report().seconds() > 0);
        }
    }

    @Test
    void targetsKeepTheirOrder() throws IsolineException {
        Polygons starts = Polygons.of(square(30, 30, 40), square(-90, -90, 20), square(35, 35, 30));
        assertEquals(3, starts.count());
        assertEquals(12, starts.nodeCount());
        try (Scene scene = new Scene();
                Snake snake = scene.start(starts, new Params(Snake.NAME))) {
            snake.step(Long.MAX_VALUE, null);
            TargetStatistics[] found = snake.statistics();
            assertEquals(TargetStatistics.State.CONVERGED, found[0].state());
            assertEquals(TargetStatistics.State.LEFT_IMAGE, found[1].state());
            assertEquals("left image", found[1].state().toString());
            assertFalse(found[1].isThere());
            assertArrayEquals(starts.get(1), snake.polygons().get(1));
            assertEquals(TargetStatistics.State.CONVERGED, found[2].state());
        }
    }

    @Test
    void noTargetsAreNoFailure() throws IsolineException {
        try (Scene scene = new Scene();
                Snake snake = scene.start(Polygons.of(), new Params(Snake.NAME))) {
            snake.step(Long.MAX_VALUE, null);
            assertTrue(snake.isEnded());
            assertEquals(0, snake.polygons().count());
            assertEquals(0, snake.statistics().length);
        }
    }

    @Test
    void cancelledSnakeCanBeReadAndGoesOn() throws IsolineException {
        int[][] starts = new int[2000][];
        for (int i = 0; i < starts.length; i++) {
            starts[i] = square(10 + i % 40, 12 + i % 37, 40);
        }
        try (Scene scene = new Scene();
                Snake cut = scene.start(Polygons.of(starts), new Params(Snake.NAME));
                Snake whole = scene.start(Polygons.of(starts), new Params(Snake.NAME))) {
            whole.step(Long.MAX_VALUE, null);
            IsolineException e =
                    assertThrows(IsolineException.class, () -> cut.step(Long.MAX_VALUE, (fraction, stage) -> false));
            assertTrue(e.isCancelled());
            assertEquals(starts.length, cut.polygons().count());
            cut.step(Long.MAX_VALUE, null);
            for (int i = 0; i < starts.length; i++) {
                assertArrayEquals(whole.polygons().get(i), cut.polygons().get(i));
            }
        }
    }

    @Test
    void badParametersAndPolygonsAreNamed() throws IsolineException {
        try (Scene scene = new Scene()) {
            Params params = new Params(Snake.NAME);
            assertSays("largest_step", () -> params.set("largest_step", 3));
            assertSays("largest_step", () -> params.set("largest_step", -1));
            Polygons bow = Polygons.of(new int[] {10, 10, 40, 40, 40, 10, 10, 40});
            assertSays("polygon 0 crosses itself", () -> scene.start(bow, new Params(Snake.NAME)));
            Snake snake = scene.start(null, new Params(Snake.NAME));
            assertSays("iterations must be 0 or more", () -> snake.step(-1, null));
            snake.close();
            snake.close();
            assertSays("was closed", snake::polygons);
        }
    }

    private static void assertSays(String words, org.junit.jupiter.api.function.Executable call) {
        String message = assertThrows(IsolineException.class, call).getMessage();
        assertTrue(message.contains(words), message);
    }

    private static int[] square(int x, int y, int side) {
        return new int[] {x, y, x + side, y, x + side, y + side, x, y + side};
    }

    /** A disc of radius 20 in the middle of noise. */
    private static final class Scene implements AutoCloseable {
        private final Context context = Context.open("cpu");
        private final PixelBuffer input = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 1);

        Scene() throws IsolineException {
            Random random = new Random(5);
            byte[] pixels = new byte[SIDE * SIDE];
            for (int i = 0; i < pixels.length; i++) {
                double dx = i % SIDE - (SIDE - 1) / 2.0;
                double dy = i / SIDE - (SIDE - 1) / 2.0;
                double mean = dx * dx + dy * dy <= 400 ? 150 : 100;
                double noisy = mean + 25 * random.nextGaussian();
                pixels[i] = (byte) Math.max(0, Math.min(255, Math.round(noisy)));
            }
            input.write(0, pixels);
        }

        Snake start(Polygons initial, Params params) throws IsolineException {
            return Snake.start(context, input, initial, params);
        }

        @Override
        public void close() {
            input.close();
            context.close();
        }
    }
}
