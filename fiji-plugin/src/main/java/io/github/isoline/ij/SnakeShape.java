package io.github.isoline.ij;

import ij.gui.Roi;
import io.github.isoline.TargetStatistics;

/** The outline of a target and the pixels in it, as its row and its selection show them. */
final class SnakeShape {
    /** The selection; null if the target is not there. */
    final Roi roi;

    final long pixels;

    /** The number of those that have a finite value. */
    final long measured;

    /** The mean and the standard deviation of the pixels, as they are stored. */
    final double mean;

    final double deviation;

    /** The length of the outline, in the image's unit. */
    final double perimeter;

    /** Creates the shape of a curve. */
    SnakeShape(Roi roi, long pixels, IntensitySample sample, double perimeter) {
        this.roi = roi;
        this.pixels = pixels;
        measured = sample.count();
        mean = sample.mean();
        deviation = sample.deviation();
        this.perimeter = perimeter;
    }

    /** Creates the shape of a polygon, as the library measured it. */
    SnakeShape(Roi roi, TargetStatistics told, double perimeter) {
        this.roi = roi;
        pixels = told.pixels();
        measured = pixels;
        mean = told.mean();
        deviation = told.deviation();
        this.perimeter = perimeter;
    }
}
