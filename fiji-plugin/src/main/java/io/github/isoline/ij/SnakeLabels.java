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

    /** Holds the labels of each plane, as short[] or float[]. */
    private final Object[] labels;

    /** @param largest the largest number, and how many targets a plane has at most */
    SnakeLabels(HyperStackSelection planes, int largest) throws IsolineException {
        this.planes = planes;
        this.largest = largest;
        int pixels = planes.image.getWidth() * planes.image.getHeight();
        labels = Parallel.fill(new Object[planes.size()], () -> empty(type(largest), pixels));
    }

    /** Returns the image of labels, of which this is the largest, in arrays of its pixels. */
    static ImagePlus of(HyperStackSelection planes, Object[] pixels, int largest) {
        String title = "Labels of " + planes.image.getTitle();
        return ResultImage.inColours(planes, pixels, title, "Label", colours(largest));
    }

    static PixelBuffer.Type type(int largest) {
        return largest <= MOST_OF_16_BITS ? PixelBuffer.Type.U16 : PixelBuffer.Type.F32;
    }

    /** Returns an array of pixels without a label. */
    static Object empty(PixelBuffer.Type type, int pixels) {
        return type == PixelBuffer.Type.U16 ? new short[pixels] : new float[pixels];
    }

    /** Returns an array of pixels with these labels. */
    static Object pixels(PixelBuffer.Type type, int... labels) {
        Object plane = empty(type, labels.length);
        for (int i = 0; i < labels.length; i++) {
            set(plane, i, labels[i]);
        }
        return plane;
    }

    /** Returns labels as float[] if the largest one does not fit in 16 bits, else as they are. */
    static Object withRoom(Object plane, int largest) {
        if (plane instanceof float[] || largest <= MOST_OF_16_BITS) {
            return plane;
        }
        float[] wide = new float[((short[]) plane).length];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = (float) IntensitySample.value(plane, i);
        }
        return wide;
    }

    /** Gives a label to a pixel of such an array. */
    static void set(Object plane, int pixel, int label) {
        if (plane instanceof short[]) {
            ((short[]) plane)[pixel] = (short) label;
        } else {
            ((float[]) plane)[pixel] = label;
        }
    }

    /** Adds a plane with the targets that the library numbered from 1 on; labels that it has already stay. */
    void take(PixelBuffer buffer, int place, List<SnakeTarget> targets) {
        Object plane = labels[place];
        int[] found = SnakePixels.read(buffer);
        for (int i = 0; i < found.length; i++) {
            if (found[i] != 0 && IntensitySample.value(plane, i) == 0) {
                set(plane, i, label(targets.get(found[i] - 1)));
            }
        }
    }

    /** Returns the label of a target; 0 for one whose pixels were drawn in an earlier pass. */
    private static int label(SnakeTarget target) {
        return target.isRival ? 0 : target.id;
    }

    /** Returns the new image. */
    ImagePlus image() {
        return of(planes, labels, largest);
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
