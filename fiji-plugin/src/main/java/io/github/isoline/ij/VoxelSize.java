package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.Calibration;
import java.util.function.Function;

/** The size of an image's voxels in its unit of length, with a warning if it is doubtful. */
final class VoxelSize {
    static final String PIXELS = "pixels";

    final double x;
    final double y;

    /** The distance between slices; unused for independent slices. */
    final double z;

    /** The unit of length; "pixels" for an image without a scale. */
    final String unit;

    /** A warning that the user should check the size; null if there is none. */
    final String warning;

    /** @param volume true if the distance between slices counts */
    VoxelSize(ImagePlus image, boolean volume) throws BadInput {
        Calibration calibration = image.getCalibration();
        x = calibration.pixelWidth;
        y = calibration.pixelHeight;
        if (!isSize(x) || !isSize(y)) {
            throw new BadInput(
                    "The pixels of \"%s\" have the size %s x %s. Set pixel width and height in Image > "
                            + "Properties.",
                    image.getTitle(), OperationDialog.number(x), OperationDialog.number(y));
        }
        unit = unit(calibration);
        boolean depth = isSize(calibration.pixelDepth);
        z = depth ? calibration.pixelDepth : x;
        warning = volume ? doubt(calibration, depth) : null;
    }

    /** Returns a text about the size of an image's voxels, or why it has none. */
    static String describe(ImagePlus image, boolean volume, Function<VoxelSize, String> text) {
        try {
            return text.apply(new VoxelSize(image, volume));
        } catch (BadInput e) {
            return e.getMessage();
        }
    }

    /** Returns the sides, without the unit. */
    String sides(boolean volume) {
        String plane = OperationDialog.number(x) + " x " + OperationDialog.number(y);
        return volume ? plane + " x " + OperationDialog.number(z) : plane;
    }

    /** Returns the warning, with what separates it from the text before; an empty text if there is none. */
    String attention(String separator) {
        return warning == null ? "" : separator + "Attention: " + warning;
    }

    private String doubt(Calibration calibration, boolean depth) {
        String set = " Set it in Image > Properties.";
        if (!depth) {
            return String.format(
                    "the voxel depth is %s; the pixel width, %s, was used instead.%s",
                    OperationDialog.number(calibration.pixelDepth), OperationDialog.number(x), set);
        }
        String xUnit = calibration.getXUnit();
        String zUnit = calibration.getZUnit();
        if (!xUnit.equals(calibration.getYUnit()) || !xUnit.equals(zUnit)) {
            return String.format(
                    "the units along x, y and z differ (%s, %s, %s); the numbers were taken as they are.%s",
                    xUnit, calibration.getYUnit(), zUnit, set);
        }
        boolean pixels = PIXELS.equals(unit);
        boolean plain = x == 1 && y == 1;
        if (calibration.pixelDepth == 1 && pixels != plain) {
            // If both width and unit were set, a depth of 1 was most likely set, too.
            return String.format(
                    "the voxel depth is 1%s, ImageJ's default where no depth was set; please check it.%s",
                    pixels ? "" : " " + calibration.getUnit(), set);
        }
        return null;
    }

    /** Returns the unit of length for headings and titles; "pixels" where there is none. */
    static String unit(Calibration calibration) {
        String units = calibration.getUnits();
        boolean none = !calibration.scaled() || units == null || units.trim().isEmpty();
        return none || units.equals("pixel") ? PIXELS : units;
    }

    private static boolean isSize(double value) {
        return value > 0 && value < Double.POSITIVE_INFINITY;
    }
}
