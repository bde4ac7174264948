package io.github.isoline.ij;

import io.github.isoline.Objects;
import java.lang.reflect.Array;
import java.util.Arrays;

/**
 * The sign that detected objects are noise: the mean of most of them differs from that of the background near them by a
 * few standard errors only. Starts lie where noise happens to be bright, which is worth about four; real objects have
 * some tens. Noise that is blurred over several pixels does not show it.
 */
final class NoiseSign {
    /** The distance of two pixels whose difference is noise: neighbours are alike in most images. */
    private static final int APART = 2;

    /** The most slices of a volume that are worth looking at. */
    static final int MOST_SLICES = 16;

    /** The most differences that are taken from a slice. */
    private static final int MOST_OF_SLICE = 1 << 13;

    /** The share of a normal distribution within a standard deviation; most pixels decide, and no borders do. */
    private static final double WITHIN = 0.6827;

    private static final double LEAST_ERRORS = 10;

    private int objects;
    private int weak;

    /**
     * Adds the objects of a slice or a volume.
     *
     * @param pixels those of some slices, as they are stored
     * @param labels of the same slices, 0 for the background
     */
    void add(Objects found, Object[] pixels, Object[] labels, int width) {
        double noise = noise(pixels, labels, width);
        for (int object = 0; object < found.count(); object++) {
            double height = Math.abs(found.mean(object) - found.background(object));
            objects++;
            // An object without background near it has no height, and is not weak.
            weak += height * Math.sqrt(found.voxels(object)) < LEAST_ERRORS * noise ? 1 : 0;
        }
    }

    /** Returns the standard deviation of the noise in the background; 0 where there is none. */
    private static double noise(Object[] pixels, Object[] labels, int width) {
        double[] differences = new double[pixels.length * MOST_OF_SLICE];
        int count = 0;
        for (int slice = 0; slice < pixels.length; slice++) {
            int all = Array.getLength(pixels[slice]);
            int stride = (all + MOST_OF_SLICE - 1) / MOST_OF_SLICE;
            for (int at = 0; at + APART < all; at += stride) {
                boolean outside = at % width + APART < width
                        && IntensitySample.value(labels[slice], at) == 0
                        && IntensitySample.value(labels[slice], at + APART) == 0;
                double apart = Math.abs(
                        IntensitySample.value(pixels[slice], at) - IntensitySample.value(pixels[slice], at + APART));
                if (outside && apart < Double.POSITIVE_INFINITY) {
                    differences[count++] = apart;
                }
            }
        }
        Arrays.sort(differences, 0, count);
        return count == 0 ? 0 : differences[(int) (count * WITHIN)] / Math.sqrt(2);
    }

    /** Returns the sentence about objects most of which look like noise; null where they do not. */
    String warning() {
        return 2 * weak <= objects
                ? null
                : String.format(
                        "%s of %s stand out from the background near them by no more than noise does: there may be no object."
                                + " Raise sigma or prominence, give a threshold, or start from something else than detect.",
                        weak, RunLog.count(objects, "object"));
    }
}
