package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Edge drawing through the Java layer, without ImageJ: structs, segments, cancelling. */
class EdgeDrawingLibraryTest implements OperationContract {
    private static final int SIDE = 48;

    @BeforeAll
    static void load() throws IsolineException {
        NativeLoader.load();
    }

    @Override
    public void play(Progress progress) throws IsolineException {
        assertNotNull(draw(progress == null ? 1 : 3000, EdgeDrawing.Find.SEGMENTS, progress)
                .found());
    }

    @Test
    void automaticThresholdIsTheLibrarys() throws IsolineException {
        // The edges are those of the threshold that the library returns.
        float[] ramp = new float[SIDE * SIDE];
        Random random = new Random(5);
        for (int i = 0; i < ramp.length; i++) {
            ramp[i] = -3 + (float) (i % SIDE > SIDE / 2 ? 7.5 : 0.25) + random.nextFloat();
        }
        try (Context context = Context.open("cpu");
                PixelBuffer input = new PixelBuffer(context, PixelBuffer.Type.F32, SIDE, SIDE, 1);
                PixelBuffer edges = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 1)) {
            input.write(0, ramp);
            Params params = new Params(EdgeDrawing.NAME);
            byte[] automatic = new byte[SIDE * SIDE];
            assertNull(EdgeDrawing.run(context, params, input, edges, null, 1, null)
                    .found());
            edges.read(0, automatic);
            double threshold = EdgeDrawing.automaticThreshold(context, params, input, 1);
            // The noise is uniform, from 0 to 1, in halves that differ by 7.25.
            assertTrue(threshold > 1 && threshold < 7.25, "threshold " + threshold);
            params.set("gradient_threshold", threshold);
            byte[] explicit = new byte[SIDE * SIDE];
            EdgeDrawing.run(context, params, input, edges, null, 1, null);
            edges.read(0, explicit);
            assertArrayEquals(automatic, explicit);
        }
    }

    @Test
    void segmentsOfASquareAreThere() throws IsolineException {
        Segments segments = (Segments) draw(2, EdgeDrawing.Find.SEGMENTS, null).found();
        assertEquals(2, segments.count());
        for (int i = 0; i < 2; i++) {
            assertEquals(i, segments.slice(i));
            assertFalse(segments.isClosed(i));
            // The edge is the row of grey pixels, from the first column to the last.
            assertEquals(SIDE, segments.pointCount(i));
            for (int p = 0; p < SIDE; p++) {
                assertEquals(p, segments.x(i, p));
                assertEquals(20, segments.y(i, p));
            }
            assertEquals((SIDE - 1) * 0.25, segments.length(i, 0.25, 9), 1e-12);
            assertTrue(segments.meanGradient(i) > 100);
            int segment = i;
            assertThrows(IndexOutOfBoundsException.class, () -> segments.x(segment, SIDE));
            assertThrows(IndexOutOfBoundsException.class, () -> segments.y(segment, -1));
        }
        assertEquals(2 * SIDE, segments.pointCount());
    }

    @Test
    void linesOfASquareAreThereAndCanBeCancelled() throws IsolineException {
        byte[] pixels = new byte[SIDE * SIDE];
        for (int y = 10; y < 38; y++) {
            Arrays.fill(pixels, y * SIDE + 12, y * SIDE + 40, (byte) 200);
        }
        try (Context context = Context.open("cpu");
                PixelBuffer input = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 2);
                PixelBuffer edges = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 2)) {
            input.write(1, pixels);
            Params params = new Params(EdgeDrawing.NAME);
            List<Double> steps = new ArrayList<>();
            Findings<InSlices> result =
                    EdgeDrawing.run(context, params, input, edges, EdgeDrawing.Find.LINES, 2, (fraction, stage) -> {
                        steps.add(fraction);
                        return true;
                    });
            Lines lines = (Lines) result.found();
            assertEquals(4, lines.count());
            for (int i = 0; i < 4; i++) {
                assertEquals(1, lines.slice(i));
                // The middle of each side is 14 pixels from the middle of the square.
                double x = (lines.x(i, 0) + lines.x(i, 1)) / 2 - 25.5;
                double y = (lines.y(i, 0) + lines.y(i, 1)) / 2 - 23.5;
                assertEquals(14, Math.hypot(x, y), 1);
                assertTrue(lines.pointCount(i) > 20, "points");
                assertTrue(lines.rms(i) <= 0.5 && lines.logFalseAlarms(i) <= 0, "numbers");
            }
            byte[] map = new byte[SIDE * SIDE];
            edges.read(1, map);
            assertTrue(map[(SIDE / 2) * SIDE + 11] != 0 || map[(SIDE / 2) * SIDE + 12] != 0, "no map");
            // The progress goes on from drawing to lines, and never back.
            for (int i = 1; i < steps.size(); i++) {
                assertTrue(steps.get(i) >= steps.get(i - 1), steps.toString());
            }
            assertTrue(steps.get(steps.size() - 1) >= 0.7 && steps.get(steps.size() - 1) <= 1, steps.toString());
            IsolineException cancelled = assertThrows(
                    IsolineException.class,
                    () -> EdgeDrawing.run(
                            context,
                            params,
                            input,
                            null,
                            EdgeDrawing.Find.LINES,
                            2,
                            (fraction, stage) -> fraction < 0.7));
            assertTrue(cancelled.isCancelled());
            input.write(0, new byte[SIDE * SIDE]);
            input.write(1, new byte[SIDE * SIDE]);
            assertEquals(
                    0,
                    EdgeDrawing.run(context, params, input, null, EdgeDrawing.Find.LINES, 2, null)
                            .found()
                            .count());
        }
    }

    @Test
    void nothingWantedIsSaid() {
        IsolineException e = assertThrows(IsolineException.class, () -> draw(1, null, null));
        assertTrue(e.getMessage().contains("segments"), e.getMessage());
    }

    @Test
    void numbersThatCWouldTurnAroundAreRefused() throws IsolineException {
        Params params = new Params(EdgeDrawing.NAME);
        assertTrue(assertThrows(IsolineException.class, () -> params.set("scan_interval", -1))
                .getMessage()
                .contains("scan_interval"));
        assertThrows(IsolineException.class, () -> params.set("min_length", 1L << 32));
    }

    /** Draws black above and white below a row of grey, in every slice. */
    private static Findings<InSlices> draw(int slices, EdgeDrawing.Find find, Progress progress)
            throws IsolineException {
        byte[] pixels = new byte[SIDE * SIDE];
        for (int i = 0; i < pixels.length; i++) {
            int y = i / SIDE;
            pixels[i] = (byte) (y < 20 ? 0 : y == 20 ? 128 : 255);
        }
        try (Context context = Context.open("cpu");
                PixelBuffer input = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, slices)) {
            for (int z = 0; z < slices; z++) {
                input.write(z, pixels);
            }
            Params params = new Params(EdgeDrawing.NAME);
            return EdgeDrawing.run(context, params, input, null, find, slices, progress);
        }
    }
}
