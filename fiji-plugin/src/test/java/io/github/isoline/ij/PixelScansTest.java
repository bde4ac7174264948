package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import ij.ImagePlus;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import io.github.isoline.Context;
import io.github.isoline.PixelBuffer;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The loops over pixels, against their plain definitions. */
class PixelScansTest {
    /** These sizes are more than one block, and no whole number of them. */
    private static final int WIDTH = 331;

    private static final int HEIGHT = 257;

    private final Random random = new Random(5);

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void thresholds(int bits) throws Exception {
        Object pixels = pixels(bits);
        ImagePlus image = image(bits, pixels);
        double[] thresholds = {-1e30, -3, -0.5, -0.0, 0, 0.5, 99, 99.5, 100, 254, 255, 256, 65534.5, 65535, 65536, 1e30
        };
        for (double threshold : thresholds) {
            assertMask(pixels, InsideTest.byStoredValue(true, threshold), v -> v > threshold);
            assertMask(pixels, InsideTest.byStoredValue(false, threshold), v -> v <= threshold);
        }
        double[][] ranges = {{3, 99}, {0, 0}, {7.5, 200.5}, {-10, 70000}, {90, 90}, {200, 255}};
        for (double[] range : ranges) {
            image.getProcessor().setThreshold(range[0], range[1], ImageProcessor.NO_LUT_UPDATE);
            double min = image.getProcessor().getMinThreshold();
            double max = image.getProcessor().getMaxThreshold();
            assertMask(pixels, InsideTest.byShownThreshold(image), v -> v >= min && v <= max);
        }
    }

    @Test
    void selection() throws Exception {
        ImagePlus image = image(8, pixels(8));
        image.setRoi(31, 40, 50, 60);
        InsideTest test = InsideTest.bySelection(image);
        byte[] mask = new byte[WIDTH * HEIGHT];
        assertEquals(50 * 60, test.mark(null, mask));
        assertEquals(50 * 60, written(test, null, mask));
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void ranges(int bits) {
        Object pixels = pixels(bits);
        double min = Double.POSITIVE_INFINITY;
        double max = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            double value = IntensitySample.value(pixels, i);
            if (!Double.isNaN(value) && !Double.isInfinite(value)) {
                min = Math.min(min, value);
                max = Math.max(max, value);
            }
        }
        GreyRange range = GreyRange.of(pixels);
        assertEquals(min, range.min);
        assertEquals(max, range.max);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void automaticRanges(int bits) {
        Object pixels = pixels(bits);
        double low = Double.POSITIVE_INFINITY;
        double high = Double.NEGATIVE_INFINITY;
        GreyRange all = GreyRange.of(pixels);
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            int[] others = {i % WIDTH + 1 < WIDTH ? i + 1 : -1, i + WIDTH < WIDTH * HEIGHT ? i + WIDTH : -1};
            for (int other : others) {
                double a = IntensitySample.value(pixels, i);
                double b = other < 0 ? Double.NaN : IntensitySample.value(pixels, other);
                if (Double.isFinite(a) && Double.isFinite(b)) {
                    low = Math.min(low, Math.max(a, b));
                    high = Math.max(high, Math.min(a, b));
                }
            }
        }
        GreyRange range = AutomaticRange.of(pixels, WIDTH).range();
        assertEquals(Math.max(all.min, low - (high - low)), range.min);
        assertEquals(Math.min(all.max, high + (high - low)), range.max);
    }

    @Test
    void singlePixelsDoNotCountInAnAutomaticRange() {
        float[] pixels = {1, 2, 9, Float.NaN, 3, 4, Float.POSITIVE_INFINITY, -8, 4};
        GreyRange range = AutomaticRange.of(pixels, 3).range();
        // 2 and 4 are the ends of neighbours.
        assertEquals(0, range.min);
        assertEquals(6, range.max);
        assertEquals(2, AutomaticRange.of(new float[] {2, 5}, 2).range().min);
        assertEquals(5, AutomaticRange.of(new float[] {2, 5}, 2).range().max);
        AutomaticRange planes = AutomaticRange.of(new short[] {4, 4, 4, 4}, 2);
        planes.add(AutomaticRange.of(new short[] {7, 7, 7, 900}, 2));
        assertEquals(4, planes.range().min);
        assertEquals(10, planes.range().max);
    }

    @Test
    void rangeOfNothingFinite() {
        float[] none = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY};
        for (Object pixels : new Object[] {none, new float[0], new short[0]}) {
            GreyRange range = GreyRange.of(pixels);
            assertEquals(Double.POSITIVE_INFINITY, range.min);
            assertEquals(Double.NEGATIVE_INFINITY, range.max);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void twoValues(int bits) {
        for (int run = 0; run < 200; run++) {
            double[] some = new double[WIDTH * HEIGHT];
            int count = random.nextInt(5);
            TreeSet<Double> values = new TreeSet<>();
            for (int change = 0; change <= count; change++) {
                int at = random.nextInt(some.length);
                double value = random.nextInt(4) * 60.0;
                for (int i = at; i < (change == 0 ? some.length : Math.min(at + 3, some.length)); i++) {
                    some[i] = value;
                }
            }
            for (double value : some) {
                values.add(value);
            }
            TwoValues found = TwoValues.of(pixels(bits, some));
            assertEquals(values.size() > 2, found.isMore());
            if (values.size() == 2) {
                assertEquals((values.first() + values.last()) / 2, found.between(0));
            }
        }
    }

    /** A plain test of one pixel. */
    private interface Plain {
        boolean isInside(double value);
    }

    private static void assertMask(Object pixels, InsideTest test, Plain plain) throws Exception {
        byte[] expected = new byte[WIDTH * HEIGHT];
        int inside = 0;
        for (int i = 0; i < expected.length; i++) {
            double value = IntensitySample.value(pixels, i);
            expected[i] = (byte) (!Double.isNaN(value) && plain.isInside(value) ? 1 : 0);
            inside += expected[i];
        }
        byte[] mask = new byte[expected.length];
        assertEquals(inside, test.mark(pixels, mask));
        assertArrayEquals(expected, mask);
        assertEquals(inside, test.write(pixels, mask.length, null, 0));
        byte[] copied = new byte[expected.length];
        assertEquals(inside, written(test, pixels, copied));
        assertArrayEquals(expected, copied);
    }

    /** Writes the mask to native memory, after another slice, and reads it back. */
    private static int written(InsideTest test, Object pixels, byte[] mask) throws Exception {
        try (Context context = Context.open("cpu");
                PixelBuffer buffer = new PixelBuffer(context, PixelBuffer.Type.U8, WIDTH, HEIGHT, 2)) {
            int inside = test.write(pixels, mask.length, buffer, 1);
            buffer.read(1, mask);
            return inside;
        }
    }

    private Object pixels(int bits) {
        double[] values = new double[WIDTH * HEIGHT];
        for (int i = 0; i < values.length; i++) {
            values[i] = bits == 32 ? random.nextGaussian() * 200 : random.nextInt(1 << bits);
        }
        if (bits == 32) {
            double[] special = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, -0.0, 0, 99.5f};
            System.arraycopy(special, 0, values, 40_000, special.length);
        }
        return pixels(bits, values);
    }

    private static Object pixels(int bits, double[] values) {
        byte[] bytes = new byte[values.length];
        short[] shorts = new short[values.length];
        float[] floats = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) (int) values[i];
            shorts[i] = (short) (int) values[i];
            floats[i] = (float) values[i];
        }
        return bits == 8 ? bytes : bits == 16 ? shorts : floats;
    }

    private static ImagePlus image(int bits, Object pixels) {
        ImageProcessor processor;
        switch (bits) {
            case 8:
                processor = new ByteProcessor(WIDTH, HEIGHT, (byte[]) pixels);
                break;
            case 16:
                processor = new ShortProcessor(WIDTH, HEIGHT, (short[]) pixels, null);
                break;
            default:
                processor = new FloatProcessor(WIDTH, HEIGHT, (float[]) pixels);
                break;
        }
        return new ImagePlus("image", processor);
    }
}
