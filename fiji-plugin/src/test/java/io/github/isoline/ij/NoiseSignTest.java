package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ij.ImagePlus;
import ij.ImageStack;
import ij.process.FloatProcessor;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The warning about objects that are noise. */
class NoiseSignTest extends HeadlessTest {
    private static final String SAID = "stand out from the background near them by no more than noise does";

    private static boolean isSaid(ImagePlus image, String options) throws Exception {
        return Isoline.growObjects(image, options + " label_image")
                .getWarnings()
                .toString()
                .contains(SAID);
    }

    /** Returns noise of the standard deviation 10, with as many discs or balls as there is room for on a grid. */
    private static ImagePlus noise(int bits, int depth, double height) {
        Random random = new Random(5);
        int side = depth > 1 ? 80 : 200;
        ImageStack stack = new ImageStack(side, side);
        for (int z = 0; z < depth; z++) {
            FloatProcessor plane = new FloatProcessor(side, side);
            for (int i = 0; i < side * side; i++) {
                double x = i % side % 40 - 20;
                double y = i / side % 40 - 20;
                boolean in = x * x + y * y + (z - depth / 2) * (z - depth / 2) < 64;
                plane.setf(i, (float) Math.rint(100 + (in ? height : 0) + 10 * random.nextGaussian()));
            }
            stack.addSlice(bits == 8 ? plane.convertToByte(false) : bits == 16 ? plane.convertToShort(false) : plane);
        }
        return new ImagePlus("noise", stack);
    }

    @ParameterizedTest
    @CsvSource({"8, 1, slices", "16, 1, slices", "32, 1, slices", "32, 3, slices", "16, 20, volume"})
    void noiseIsSaid(int bits, int depth, String stack) throws Exception {
        assertEquals(true, isSaid(noise(bits, depth, 0), "stack=" + stack));
        assertEquals(false, isSaid(noise(bits, depth, 40), "stack=" + stack));
    }

    @Test
    void startsThatWereGivenAreNotDoubted() throws Exception {
        ImagePlus image = noise(32, 1, 0);
        image.setRoi(50, 50, 5, 5);
        assertEquals(false, isSaid(image, "start=roi"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nuclei.png",
                "coins.png",
                "cell.png",
                "microaneurysms.png",
                "brain.tif",
                "horse.png",
                "moon.png",
                "page.png",
                "pattern.png",
                "camera.png"
            })
    void realImagesAreNoNoise(String name) throws Exception {
        for (String side : new String[] {"above", "below"}) {
            assertEquals(false, isSaid(open(name), "iterations=40 foreground=" + side), side);
        }
    }
}
