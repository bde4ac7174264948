package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.process.ByteProcessor;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests masks as polygons of pixel corners: exact, simple, and thinned without losing their shape. */
class SnakeOutlinesTest {
    private static final int WIDTH = 30;

    @Test
    void outlinesAreThoseOfThePixels() {
        int[] picture = picture("..........", ".11.......", ".11..22...", "......2...", ".....3....", "..........");
        List<MaskOutlines.Part> parts = MaskOutlines.of(picture, 10);
        assertEquals(3, parts.size());
        assertArrayEquals(sorted(1, 1, 3, 1, 3, 3, 1, 3), sorted(parts.get(0).outline));
        assertEquals(4, parts.get(0).pixels);
        assertArrayEquals(sorted(5, 2, 7, 2, 7, 4, 6, 4, 6, 3, 5, 3), sorted(parts.get(1).outline));
        assertArrayEquals(sorted(5, 4, 6, 4, 6, 5, 5, 5), sorted(parts.get(2).outline));
    }

    @Test
    void partsThatTouchByACornerAreTwo() {
        List<MaskOutlines.Part> parts = MaskOutlines.of(picture("11..", "11..", "..11", "..11"), 4);
        assertEquals(2, parts.size());
    }

    @Test
    void ringsThatCloseByACornerAreFilled() {
        // The end of this hook touches its beginning by a corner: its outline passes there twice.
        int[] hook = picture(".111.", ".1.1.", "1..1.", "1111.");
        List<MaskOutlines.Part> parts = MaskOutlines.of(hook, 5);
        MaskOutlines.Part part = parts.get(0);
        assertEquals(1, parts.size());
        assertEquals(11, part.pixels);
        assertTrue(SimplePolygon.isSimple(part.outline));
        assertTrue(part.hasHoles());
        assertEquals(14, SimplePolygon.twiceArea(part.outline) / 2);
    }

    @Test
    void outlinesOfNoiseAreSimpleAndHoldTheirPixels() {
        Random random = new Random(3);
        for (int run = 0; run < 200; run++) {
            int[] picture = new int[WIDTH * WIDTH];
            double share = 0.3 + 0.5 * random.nextDouble();
            for (int i = 0; i < picture.length; i++) {
                picture[i] = random.nextDouble() < share ? 1 + random.nextInt(2) : 0;
            }
            int pixels = 0;
            for (MaskOutlines.Part part : MaskOutlines.of(picture, WIDTH)) {
                pixels += part.pixels;
                assertTrue(SimplePolygon.isSimple(part.outline));
                long area = SimplePolygon.twiceArea(part.outline) / 2;
                assertEquals(area, filled(part.outline));
                assertTrue(part.hasHoles() ? area > part.pixels : area == part.pixels);
            }
            int all = 0;
            for (int value : picture) {
                all += value > 0 ? 1 : 0;
            }
            assertEquals(all, pixels);
        }
    }

    @Test
    void thinnedOutlinesAreSimpleAndAboutTheSame() {
        Random random = new Random(4);
        for (int run = 0; run < 100; run++) {
            double radius = 3 + 40 * random.nextDouble();
            double wobble = random.nextDouble() * 0.4;
            int side = 140;
            int[] picture = new int[side * side];
            for (int i = 0; i < picture.length; i++) {
                double dx = i % side - 70;
                double dy = i / side - 70;
                double bend = 1 + wobble * Math.sin(5 * Math.atan2(dy, dx));
                picture[i] = Math.hypot(dx, dy) <= radius * bend ? 1 : 0;
            }
            MaskOutlines.Part part = MaskOutlines.of(picture, side).get(0);
            int[] thin = NodeThinner.thin(part.outline, 16);
            assertTrue(SimplePolygon.isSimple(thin), "run " + run);
            double area = SimplePolygon.twiceArea(thin) / 2.0;
            assertEquals(1, area / part.pixels, 0.151, "run " + run);
            if (radius > 12) {
                assertTrue(thin.length < part.outline.length / 2, "run " + run);
            }
        }
    }

    @Test
    void linesOfPixelsAreNotLost() {
        int[] line = NodeThinner.thin(new int[] {3, 4, 23, 4, 23, 5, 3, 5}, 16);
        assertEquals(40, SimplePolygon.twiceArea(line));
        int[] dot = NodeThinner.thin(new int[] {3, 4, 4, 4, 4, 5, 3, 5}, 16);
        assertEquals(2, SimplePolygon.twiceArea(dot));
    }

    @Test
    void polygonsThatTouchThemselvesAreSeen() {
        assertTrue(SimplePolygon.isSimple(new int[] {0, 0, 10, 0, 20, 0, 20, 20, 0, 20}));
        // These are a bow tie, two loops that share a corner, a spike, a notch as deep as the
        // polygon, a line.
        for (int[] nodes : new int[][] {
            {10, 10, 30, 30, 30, 10, 10, 30},
            {0, 0, 20, 0, 10, 10, 20, 20, 0, 20, 10, 10},
            {0, 0, 20, 0, 20, 10, 40, 10, 20, 10, 20, 20, 0, 20},
            {0, 0, 20, 0, 20, 20, 12, 20, 10, 0, 8, 20, 0, 20},
            {0, 0, 10, 0, 20, 0},
            {0, 0, 10, 0}
        }) {
            assertFalse(SimplePolygon.isSimple(nodes), java.util.Arrays.toString(nodes));
        }
    }

    /** Returns the number of pixels that ImageJ counts in a polygon. */
    private static int filled(int[] nodes) {
        int count = nodes.length / 2;
        int[] x = new int[count];
        int[] y = new int[count];
        for (int i = 0; i < count; i++) {
            x[i] = nodes[2 * i];
            y[i] = nodes[2 * i + 1];
        }
        ByteProcessor pixels = new ByteProcessor(WIDTH, WIDTH);
        pixels.setValue(255);
        pixels.fill(new PolygonRoi(x, y, count, Roi.POLYGON));
        return pixels.getHistogram()[255];
    }

    private static int[] picture(String... rows) {
        int width = rows[0].length();
        int[] values = new int[width * rows.length];
        for (int i = 0; i < values.length; i++) {
            char c = rows[i / width].charAt(i % width);
            values[i] = c == '.' ? 0 : c - '0';
        }
        return values;
    }

    /** Returns the corners in an order that does not depend on where the outline begins. */
    private static long[] sorted(int... nodes) {
        long[] keys = new long[nodes.length / 2];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = nodes[2 * i] * 1000L + nodes[2 * i + 1];
        }
        java.util.Arrays.sort(keys);
        return keys;
    }
}
