package io.github.isoline.ij;

import ij.gui.PolygonRoi;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.Polygons;
import io.github.isoline.TargetStatistics;
import java.awt.Rectangle;

/**
 * The smooth outlines of the targets on a plane. Label image, selections and rows follow them: a target has the pixels
 * in its curve. Where targets compete, it loses those outside the curve, and gets those between curve and polygon that
 * no other target has.
 */
final class SnakeCurves {
    /** The number of points for each edge of a polygon. */
    private static final int POINTS_PER_EDGE = 8;

    private final SnakePixels pixels;
    private final boolean competing;

    /** Holds the curves: x and y alternately. */
    private final double[][] curves;

    /** Holds the area in each curve; null for a target that is not there or whose curve has no pixel. */
    private final Roi[] rois;

    /**
     * Makes the curves, and gives the targets their pixels.
     *
     * @param pixels those of the polygons, which change
     */
    SnakeCurves(
            Polygons polygons,
            TargetStatistics[] statistics,
            SnakePixels pixels,
            SnakeSettings settings,
            int width,
            int height)
            throws IsolineException {
        this.pixels = pixels;
        competing = settings.isCompeting();
        curves = polygons.smooth(settings.number(SnakeSettings.NODE_SPACING), POINTS_PER_EDGE);
        rois = new Roi[curves.length];
        AreaPixels[] inside = new AreaPixels[curves.length];
        AreaPixels[] limits = new AreaPixels[curves.length];
        Rectangle[] boxes = new Rectangle[curves.length];
        for (int i = 0; i < curves.length; i++) {
            if (!statistics[i].isThere()) {
                continue;
            }
            int number = number(i);
            Roi roi = area(curves[i], width, height);
            AreaPixels corners = new AreaPixels(SnakeJob.polygon(polygons.get(i)));
            limits[i] = statistics[i].overlaps() ? corners : null;
            boxes[i] = SimplePolygon.bounds(polygons.get(i));
            inside[i] = new AreaPixels(roi);
            boolean[] any = {false};
            inside[i].forEach((x, y) -> any[0] |= !competing || pixels.number(x, y) == number);
            rois[i] = any[0] ? roi : null;
            inside[i] = any[0] ? inside[i] : corners;
        }
        if (competing) {
            share(inside, limits, boxes);
        } else {
            draw(inside, width, height);
        }
    }

    /**
     * Gives targets the pixels in their curves that no other one has.
     *
     * @param limits the polygons of targets that others limit, else null: pixels of such a polygon that are not the
     *     target's are in the territory of another one
     */
    private void share(AreaPixels[] inside, AreaPixels[] limits, Rectangle[] boxes) {
        // Pixels outside of curves are freed first, since they may lie in the curves of neighbours.
        for (int i = 0; i < inside.length; i++) {
            AreaPixels here = inside[i];
            int number = number(i);
            if (here != null) {
                pixels.forEach(number, boxes[i], (x, y) -> {
                    if (!here.contains(x, y)) {
                        pixels.set(x, y, 0);
                    }
                });
            }
        }
        for (int i = 0; i < inside.length; i++) {
            AreaPixels limit = limits[i];
            int number = number(i);
            if (inside[i] != null) {
                inside[i].forEach((x, y) -> {
                    if (pixels.number(x, y) == 0 && (limit == null || !limit.contains(x, y))) {
                        pixels.set(x, y, number);
                    }
                });
            }
        }
    }

    /** Draws the curves; where several have a pixel, it gets the smallest number. */
    private void draw(AreaPixels[] inside, int width, int height) {
        for (int i = 0; i < width * height; i++) {
            pixels.set(i % width, i / width, 0);
        }
        for (int i = inside.length - 1; i >= 0; i--) {
            int number = number(i);
            if (inside[i] != null) {
                inside[i].forEach((x, y) -> pixels.set(x, y, number));
            }
        }
    }

    private static int number(int target) {
        return target + 1;
    }

    /** Returns a curve as an area; points are moved to the border of the image where they lie outside. */
    private static Roi area(double[] curve, int width, int height) {
        int count = curve.length / 2;
        float[] x = new float[count];
        float[] y = new float[count];
        for (int i = 0; i < count; i++) {
            x[i] = (float) Math.max(0, Math.min(width, curve[2 * i]));
            y[i] = (float) Math.max(0, Math.min(height, curve[2 * i + 1]));
        }
        return new PolygonRoi(x, y, count, Roi.POLYGON);
    }

    /**
     * Returns what a target's row and selection show; null if it has no curve.
     *
     * @param values the plane's pixels, as they are stored
     * @param binary true if pixels are above 0 or not
     * @param size of a pixel, in the image's unit
     */
    SnakeShape shape(int target, Object values, int width, boolean binary, VoxelSize size) {
        Roi roi = rois[target];
        if (roi == null) {
            return null;
        }
        int number = number(target);
        IntensitySample sample = new IntensitySample();
        long[] all = {0};
        long[] own = {0};
        new AreaPixels(roi).forEach((x, y) -> {
            all[0]++;
            if (!competing || pixels.number(x, y) == number) {
                own[0]++;
                double value = IntensitySample.value(values, y * width + x);
                sample.add(binary ? value > 0 ? 1 : 0 : value);
            }
        });
        boolean isPart = own[0] < all[0];
        Roi shown = isPart ? pixels.outline(number, roi.getBounds()) : roi;
        return new SnakeShape(shown, own[0], sample, SimplePolygon.perimeter(curves[target], size.x, size.y));
    }
}
