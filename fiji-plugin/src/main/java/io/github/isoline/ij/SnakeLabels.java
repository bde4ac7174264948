package io.github.isoline.ij;

import ij.ImagePlus;
import ij.process.LUT;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import java.awt.Color;
import java.util.List;

/** The label image: pixels hold the number of their target, else 0. */
final class SnakeLabels {
    /** The largest label of a 16-bit image; larger ones need 32 bits. */
    private static final int MOST_OF_16_BITS = 0xffff;

    private static final int COLOURS = 256;

    /** The step of the hue between neighbouring numbers, which gives them very different hues. */
    private static final float GOLDEN_RATIO = 0.618034f;

    private final HyperStackSelection planes;
    private final int largest;

    /** Holds the labels of each plane; only one of the two arrays is used. */
    private final short[][] small;

    private final float[][] large;

    /**
     * Creates an empty label image.
     *
     * @param largest the largest number, and how many targets a plane has at most
     */
    SnakeLabels(HyperStackSelection planes, int largest) throws BadInput, IsolineException {
        this.planes = planes;
        this.largest = largest;
        int pixels = planes.image.getWidth() * planes.image.getHeight();
        boolean fits = largest <= MOST_OF_16_BITS;
        small = fits ? Parallel.fill(new short[planes.size()][], () -> new short[pixels]) : null;
        large = fits ? null : Parallel.fill(new float[planes.size()][], () -> new float[pixels]);
    }

    /** Returns the image of labels that are known. */
    static ImagePlus of(HyperStackSelection planes, int[][] labels, int largest) throws BadInput, IsolineException {
        SnakeLabels made = new SnakeLabels(planes, largest);
        for (int place = 0; place < labels.length; place++) {
            int[] plane = labels[place];
            for (int i = 0; plane != null && i < plane.length; i++) {
                if (made.small != null) {
                    made.small[place][i] = (short) plane[i];
                } else {
                    made.large[place][i] = plane[i];
                }
            }
        }
        return made.image();
    }

    /**
     * Returns the image of labels in arrays of its pixels.
     *
     * @param largest the largest label
     */
    static ImagePlus of(HyperStackSelection planes, Object[] pixels, int largest) {
        String title = "Labels of " + planes.image.getTitle();
        return ResultImage.inColours(planes, pixels, title, "Label", colours(largest));
    }

    static PixelBuffer.Type type(int largest) {
        return largest <= MOST_OF_16_BITS ? PixelBuffer.Type.U16 : PixelBuffer.Type.F32;
    }

    /**
     * Adds a plane; labels that it has already stay.
     *
     * @param targets those that the library numbered from 1 on
     */
    void take(PixelBuffer buffer, int place, List<SnakeTarget> targets) {
        if (small != null) {
            short[] plane = small[place];
            short[] found = new short[plane.length];
            buffer.read(0, found);
            for (int i = 0; i < plane.length; i++) {
                int number = found[i] & MOST_OF_16_BITS;
                plane[i] = number == 0 || plane[i] != 0 ? plane[i] : (short) label(targets.get(number - 1));
            }
        } else {
            float[] plane = large[place];
            float[] found = new float[plane.length];
            buffer.read(0, found);
            for (int i = 0; i < plane.length; i++) {
                plane[i] = found[i] == 0 || plane[i] != 0 ? plane[i] : label(targets.get((int) found[i] - 1));
            }
        }
    }

    /** Returns the label of a target; 0 for one whose pixels were drawn in an earlier pass. */
    private static int label(SnakeTarget target) {
        return target.isRival ? 0 : target.id;
    }

    /** Returns the new image. */
    ImagePlus image() {
        return of(planes, small != null ? small : large, largest);
    }

    /** Returns black, and colours that distinguish neighbouring numbers. */
    private static LUT colours(int largest) {
        byte[][] steps = new byte[3][COLOURS];
        for (int i = 1; i < COLOURS; i++) {
            float brightness = 1 - (i % 3) * 0.15f;
            Color colour = new Color(Color.HSBtoRGB(i * GOLDEN_RATIO % 1, 0.75f, brightness));
            steps[0][i] = (byte) colour.getRed();
            steps[1][i] = (byte) colour.getGreen();
            steps[2][i] = (byte) colour.getBlue();
        }
        LUT lut = new LUT(steps[0], steps[1], steps[2]);
        lut.min = 0;
        lut.max = Math.max(COLOURS - 1, largest);
        return lut;
    }
}
