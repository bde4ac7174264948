package io.github.isoline.ij;

import ij.gui.Roi;
import io.github.isoline.TargetStatistics;

/** The outline of a target and the pixels in it, as its row and its selection show them. */
final class SnakeShape {
    /** The selection; null if the target is not there. */
    final Roi roi;

    final long pixels;

    /** The mean and the standard deviation of the pixels, as they are stored. */
    final double mean;

    final double deviation;

    /** The length of the outline, in the image's unit. */
    final double perimeter;

    SnakeShape(Roi roi, long pixels, double mean, double deviation, double perimeter) {
        this.roi = roi;
        this.pixels = pixels;
        this.mean = mean;
        this.deviation = deviation;
        this.perimeter = perimeter;
    }

    /** Creates the shape of a polygon, as the library measured it. */
    SnakeShape(Roi roi, TargetStatistics told, double perimeter) {
        this(roi, told.pixels(), told.mean(), told.deviation(), perimeter);
    }
}
