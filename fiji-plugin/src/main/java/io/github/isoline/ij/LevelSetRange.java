package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import java.util.function.BooleanSupplier;

/** The intensity range T ± ε of the object, as raw pixel values. */
final class LevelSetRange {
    /** The half width of the automatic range in standard deviations, the same as the library's. */
    private static final double AUTOMATIC_DEVIATIONS = 2;

    final double target;

    /** ε; 0 where all pixels of the sample are equal: the library then computes it. */
    final double epsilon;

    private LevelSetRange(double target, double epsilon) {
        this.target = target;
        this.epsilon = Math.max(0, epsilon);
    }

    /** Writes the range to the library's parameters. */
    void write(Params params) throws IsolineException {
        if (epsilon > 0) {
            params.set(LevelSetSettings.TARGET, target).set(LevelSetSettings.EPSILON, epsilon);
        }
    }

    /**
     * Computes one range for all planes, however they are divided into calls.
     *
     * @param stop is called at intervals
     * @return null if it was stopped
     */
    static LevelSetRange of(
            HyperStackSelection planes, LevelSetSettings settings, StartSurface start, BooleanSupplier stop)
            throws BadInput, IsolineException {
        ImagePlus image = planes.image;
        if (settings.is(LevelSetSettings.RANGE, LevelSetSettings.VALUES)) {
            return new LevelSetRange(
                    StackJob.rawThreshold(image, settings.number(LevelSetSettings.TARGET)),
                    settings.number(LevelSetSettings.EPSILON));
        }
        IntensitySample sample = new IntensitySample();
        if (settings.is(LevelSetSettings.RANGE, LevelSetSettings.ROI)) {
            Roi roi = StartSurface.areaSelection(image, "range=roi");
            sample.add(StackJob.pixels(image, shown(roi, planes)), StartSurface.pixels(roi, image));
            if (sample.count() == 0) {
                throw new BadInput("There are no pixels in the selection to sample (range=roi).");
            }
            return new LevelSetRange(sample.mean(), settings.number(LevelSetSettings.DEVIATIONS) * sample.deviation());
        }
        byte[] region = new byte[image.getWidth() * image.getHeight()];
        for (int index : planes.indices()) {
            if (stop.getAsBoolean()) {
                return null;
            }
            sample.add(StackJob.pixels(image, index), start.plane(index, region));
        }
        if (sample.count() == 0) {
            throw new BadInput("No pixel is inside the start (" + start.describe() + "): nothing can grow.");
        }
        return new LevelSetRange(sample.mean(), AUTOMATIC_DEVIATIONS * sample.deviation());
    }

    /** Returns the plane that a selection is sampled on: its slice, in the channel and frame shown. */
    private static int shown(Roi roi, HyperStackSelection planes) {
        int z = StartSurface.slice(roi, planes);
        int[] current = planes.position(planes.image.getCurrentSlice());
        return planes.image.getStackIndex(current[0], z, current[2]);
    }
}
