package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.OvalRoi;
import ij.gui.Roi;
import ij.plugin.filter.EDM;
import ij.plugin.filter.GaussianBlur;
import ij.plugin.filter.MaximumFinder;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import java.awt.Polygon;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Discs to start from, around points or around objects that are detected. Their radius is given, or the distance to the
 * border of the objects on that plane: of the pixels that the threshold shown by the image marks, else of those on the
 * brighter or darker side of ImageJ's automatic threshold, whichever are fewer; of the other ones, if no point is
 * there.
 */
final class StartDiscs {
    /** The smallest automatic radius, in pixels. */
    private static final double LEAST_RADIUS = 2;

    /** The standard deviation of the smoothing before the automatic threshold, in pixels. */
    private static final double NOISE_SIGMA = 1;

    private static final double BLUR_ACCURACY = 0.002;

    /** The standard deviation of the smoothing before maxima are searched, as a share of the middle radius. */
    private static final double SIGMA_OF_RADIUS = 1.0 / 3;

    /** The least rise of a maximum over the saddle to a higher one, as a share of the objects' contrast. */
    private static final double PROMINENCE = 0.02;

    /** The least rise of a maximum of the distance, in pixels, as in ImageJ's own watershed. */
    private static final double DISTANCE_PROMINENCE = 0.5;

    /** The largest automatic radius on the other side of the automatic threshold, as a share of the shorter side. */
    private static final double MOST_OF_IMAGE = 1.0 / 4;

    private static final int INSIDE = 255;

    private final ImagePlus image;
    private final int index;

    /** Holds true if the objects are darker than their background. */
    private boolean dark;

    /** Holds the distance to the border of the objects, in pixels; 0 outside. */
    private FloatProcessor distance;

    StartDiscs(ImagePlus image, int index) {
        this.image = image;
        this.index = index;
    }

    /**
     * Returns discs around points.
     *
     * @param points column and row of each, where whole numbers are the corners of pixels
     * @param radius in the image's unit; 0 for an automatic one
     */
    List<Roi> around(List<double[]> points, double radius) throws BadInput {
        VoxelSize size = new VoxelSize(image, false);
        double[] radii = radius > 0 ? null : radii(points);
        List<Roi> discs = new ArrayList<>();
        for (int i = 0; i < points.size(); i++) {
            double x = points.get(i)[0];
            double y = points.get(i)[1];
            double rx = radii == null ? Math.max(1, radius / size.x) : radii[i];
            double ry = radii == null ? Math.max(1, radius / size.y) : radii[i];
            int left = (int) Math.round(x - rx);
            int top = (int) Math.round(y - ry);
            discs.add(new OvalRoi(left, top, (int) Math.round(2 * rx), (int) Math.round(2 * ry)));
        }
        return discs;
    }

    /**
     * Returns discs around the maxima of the smoothed plane that lie in objects; minima, where objects are dark.
     *
     * @param radius in the image's unit; 0 for an automatic one
     */
    List<Roi> detected(double radius) throws BadInput {
        if (!GreyRange.of(Pixels.of(image, index)).hasExtent()) {
            // Rounding errors of the smoothing are no objects.
            return new ArrayList<>();
        }
        measure(false);
        double middle = radius > 0 ? radius / new VoxelSize(image, false).x : middleRadius();
        double sigma = Math.max(NOISE_SIGMA, middle * SIGMA_OF_RADIUS);
        FloatProcessor smooth = smoothed(sigma);
        double[] sums = new double[2];
        int inside = 0;
        for (int i = 0; i < smooth.getPixelCount(); i++) {
            smooth.setf(i, dark ? -smooth.getf(i) : smooth.getf(i));
            boolean object = distance.getf(i) > 0;
            inside += object ? 1 : 0;
            sums[object ? 1 : 0] += smooth.getf(i);
        }
        List<double[]> points = new ArrayList<>();
        int outside = smooth.getPixelCount() - inside;
        if (inside == 0 || outside == 0) {
            return new ArrayList<>();
        }
        double contrast = sums[1] / inside - sums[0] / outside;
        Polygon maxima = new MaximumFinder().getMaxima(smooth, Math.max(0, contrast * PROMINENCE), false);
        for (int i = 0; i < maxima.npoints; i++) {
            if (distance.getf(maxima.xpoints[i], maxima.ypoints[i]) > 0) {
                // The point is the centre of its pixel.
                points.add(new double[] {maxima.xpoints[i] + 0.5, maxima.ypoints[i] + 0.5});
            }
        }
        // The finder's order is that of the maxima's height.
        points.sort((a, b) -> a[1] == b[1] ? Double.compare(a[0], b[0]) : Double.compare(a[1], b[1]));
        return around(points, radius);
    }

    /**
     * Returns the automatic radius of each point in pixels: the distance to the border of the objects, at most half of
     * that to the next point.
     */
    double[] radii(List<double[]> points) throws BadInput {
        measure(false);
        double[] radii = distances(points);
        if (!isThresholdShown() && Arrays.stream(radii).max().orElse(0) == 0) {
            // Objects may be on the other side of the threshold; a far border is none of theirs.
            measure(true);
            radii = distances(points);
            // Other points of the plane are looked for on the first side again.
            distance = null;
            double most = Math.min(image.getWidth(), image.getHeight()) * MOST_OF_IMAGE;
            radii = Arrays.stream(radii).max().orElse(0) > most ? new double[radii.length] : radii;
        }
        double[] known =
                Arrays.stream(radii).filter(radius -> radius > 0).sorted().toArray();
        if (known.length == 0) {
            throw new BadInput(
                    "There is no automatic radius: %s of \"%s\" in %s beside the objects that %s marks. Give a radius (in a "
                            + "macro radius=NUMBER), or set a threshold with Image > Adjust > Threshold that marks the "
                            + "objects.",
                    points.size() == 1 ? "the point" : "all points",
                    image.getTitle(),
                    HyperStackSelection.everything(image).name(index) + (points.size() == 1 ? " lies" : " lie"),
                    isThresholdShown() ? "the threshold of the image" : "ImageJ's automatic threshold");
        }
        // A point beside the objects gets the middle radius of the others.
        double middle = known[known.length / 2];
        for (int i = 0; i < radii.length; i++) {
            radii[i] = radii[i] > 0 ? radii[i] : middle;
        }
        return apart(points, radii);
    }

    /** Returns the distance from each point to the border of the objects; 0 outside. */
    private double[] distances(List<double[]> points) {
        double[] distances = new double[points.size()];
        for (int i = 0; i < distances.length; i++) {
            int x = (int) Math.floor(points.get(i)[0]);
            int y = (int) Math.floor(points.get(i)[1]);
            boolean in = x >= 0 && y >= 0 && x < distance.getWidth() && y < distance.getHeight();
            distances[i] = in ? distance.getf(x, y) : 0;
        }
        return distances;
    }

    /** Returns the radii, but at most half the distance to the next point. */
    private static double[] apart(List<double[]> points, double... radii) {
        Integer[] byRow = new Integer[radii.length];
        Arrays.setAll(byRow, i -> i);
        Arrays.sort(byRow, Comparator.comparingDouble(i -> points.get(i)[1]));
        double[] fitting = new double[radii.length];
        for (int at = 0; at < byRow.length; at++) {
            double[] point = points.get(byRow[at]);
            double nearest = 2 * radii[byRow[at]];
            for (int step = -1; step <= 1; step += 2) {
                // Points on farther rows are farther away.
                for (int other = at + step; other >= 0 && other < byRow.length; other += step) {
                    double[] next = points.get(byRow[other]);
                    if (Math.abs(next[1] - point[1]) >= nearest) {
                        break;
                    }
                    nearest = Math.min(nearest, Math.hypot(next[0] - point[0], next[1] - point[1]));
                }
            }
            fitting[byRow[at]] = Math.max(LEAST_RADIUS, nearest / 2);
        }
        return fitting;
    }

    /** Returns the radius that half of the objects' area has at most. */
    private double middleRadius() {
        Polygon centres = new MaximumFinder().getMaxima(distance, DISTANCE_PROMINENCE, false);
        double[] radii = new double[centres.npoints];
        double all = 0;
        for (int i = 0; i < radii.length; i++) {
            radii[i] = distance.getf(centres.xpoints[i], centres.ypoints[i]);
            all += radii[i] * radii[i];
        }
        Arrays.sort(radii);
        double area = 0;
        for (double radius : radii) {
            area += radius * radius;
            if (area >= all / 2) {
                return radius;
            }
        }
        return LEAST_RADIUS;
    }

    private boolean isThresholdShown() {
        return image.getProcessor().getMinThreshold() != ImageProcessor.NO_THRESHOLD;
    }

    private FloatProcessor smoothed(double sigma) throws BadInput {
        Object pixels = Pixels.of(image, index);
        FloatProcessor smooth = new FloatProcessor(image.getWidth(), image.getHeight());
        for (int i = 0; i < smooth.getPixelCount(); i++) {
            float value = (float) IntensitySample.value(pixels, i);
            smooth.setf(i, Float.isNaN(value) || Float.isInfinite(value) ? 0 : value);
        }
        new GaussianBlur().blurGaussian(smooth, sigma, sigma, BLUR_ACCURACY);
        return smooth;
    }

    /**
     * Finds the objects, and measures the distance to their border.
     *
     * @param other true for the side of the automatic threshold with more pixels
     */
    private void measure(boolean other) throws BadInput {
        if (distance != null && !other) {
            return;
        }
        byte[] mask = new byte[image.getWidth() * image.getHeight()];
        FloatProcessor smooth = smoothed(NOISE_SIGMA);
        int inside;
        boolean shown = isThresholdShown();
        if (shown) {
            inside = InsideTest.byShownThreshold(image).mark(Pixels.of(image, index), mask);
        } else {
            smooth.setAutoThreshold("Default dark");
            InsideTest above = InsideTest.byStoredValue(true, Math.nextDown(smooth.getMinThreshold()));
            inside = above.mark(smooth.getPixels(), mask);
        }
        boolean inverse = !shown && 2 * inside > mask.length != other;
        double[] sums = new double[2];
        int[] counts = new int[2];
        for (int i = 0; i < mask.length; i++) {
            int object = mask[i] != 0 != inverse ? 1 : 0;
            counts[object]++;
            sums[object] += smooth.getf(i);
            mask[i] = (byte) (object * INSIDE);
        }
        dark = sums[1] / counts[1] < sums[0] / counts[0];
        ByteProcessor objects = new ByteProcessor(image.getWidth(), image.getHeight(), mask);
        distance = new EDM().makeFloatEDM(objects, 0, false);
    }
}
