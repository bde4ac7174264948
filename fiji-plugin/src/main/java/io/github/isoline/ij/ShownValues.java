package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.Calibration;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;

/**
 * The pixel values that ImageJ shows and that people type, beside those that an image stores. They differ where the
 * calibration of the values is a line that rises, as for signed 16-bit images and for Hounsfield units. Any other
 * calibration is not followed, of which {@link #warning} tells.
 */
final class ShownValues {
    /** The values as they are stored. */
    static final ShownValues STORED = new ShownValues(0, 1);

    /** The distance from a whole number up to which a stored value is a rounding error of that. */
    private static final double ROUNDING = 1e-6;

    private final double ofZero;
    private final double step;

    private ShownValues(double ofZero, double step) {
        this.ofZero = ofZero;
        this.step = step;
    }

    static ShownValues of(ImagePlus image) {
        Calibration calibration = image.getCalibration();
        if (!isCalibrated(image) || !isRisingLine(calibration)) {
            return STORED;
        }
        double[] line = calibration.getCoefficients();
        return new ShownValues(line[0], line[1]);
    }

    /** Returns true if ImageJ shows other values than those that are stored: it never does with 32 bits or colours. */
    private static boolean isCalibrated(ImagePlus image) {
        return image.getBitDepth() <= Short.SIZE && image.getCalibration().calibrated();
    }

    private static boolean isRisingLine(Calibration calibration) {
        double[] line = calibration.getCoefficients();
        return calibration.getFunction() == Calibration.STRAIGHT_LINE
                && !calibration.zeroClip()
                && line != null
                && line.length > 1
                && line[1] > 0;
    }

    /** Returns the sentence about values that are shown otherwise than they are taken; null where there are none. */
    static String warning(ImagePlus image) {
        return isCalibrated(image) && !isRisingLine(image.getCalibration())
                ? "pixel values, typed ones and those in tables, are the stored ones and not those that ImageJ shows: it"
                        + " calibrates this image (Analyze > Calibrate) by another function than a straight line that rises."
                : null;
    }

    /** Returns the value that ImageJ shows for a stored one. */
    double of(double stored) {
        return ofZero + step * stored;
    }

    /** Returns the sum of some shown values for that of the stored ones. */
    double ofSum(double stored, long count) {
        return ofZero * count + step * stored;
    }

    /** Returns the difference of two shown values for that of the stored ones. */
    double difference(double stored) {
        return step * stored;
    }

    /** Returns the stored value for one that ImageJ shows. */
    double stored(double shown) {
        return whole((shown - ofZero) / step);
    }

    /** Returns the difference of two stored values for that of the shown ones. */
    double storedDifference(double shown) {
        return whole(shown / step);
    }

    /** A value that was computed from whole stored ones must compare with these as they do. */
    private double whole(double stored) {
        double nearest = Math.rint(stored);
        return this != STORED && Math.abs(stored - nearest) < ROUNDING ? nearest : stored;
    }

    /** Writes differences of pixel values that were typed to the library's parameters, as those of stored values. */
    Params storeDifferences(Settings settings, Params params, String... keys) throws IsolineException {
        for (String key : keys) {
            if (settings.setting(key).isUsed(settings) && !settings.isAutomatic(key)) {
                params.set(key, storedDifference(settings.number(key)));
            }
        }
        return params;
    }
}
