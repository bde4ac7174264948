package io.github.isoline.ij;

import ij.gui.Line;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import io.github.isoline.Lines;

/** The straight lines of an image. */
final class FoundLines extends Found<Lines> {
    FoundLines(HyperStackSelection planes, EdgeDrawingSettings settings) {
        super(planes, settings, "Line", "line-");
    }

    @Override
    double length(Lines lines, int at) {
        return Math.hypot(lines.x(at, 1) - lines.x(at, 0), lines.y(at, 1) - lines.y(at, 0));
    }

    @Override
    Roi shape(Lines lines, int at) {
        // ImageJ itself counts lines from the pixels' centres.
        return new Line(lines.x(at, 0), lines.y(at, 0), lines.x(at, 1), lines.y(at, 1));
    }

    @Override
    void addValues(ResultsTable table, int number, Lines lines, int at) {
        Calibration calibration = image.getCalibration();
        for (int end = 0; end < 2; end++) {
            table.addValue("X" + (end + 1), calibration.getX(lines.x(at, end) + CENTRE));
            table.addValue("Y" + (end + 1), calibration.getY(lines.y(at, end) + CENTRE, image.getHeight()));
        }
        double dx = (lines.x(at, 1) - lines.x(at, 0)) * calibration.pixelWidth;
        // Rows are numbered downwards.
        double dy = (lines.y(at, 0) - lines.y(at, 1)) * calibration.pixelHeight;
        table.addValue("Angle", Math.toDegrees(Math.atan2(dy, dx)));
        table.addValue("Length", Math.hypot(dx, dy));
        table.addValue("Points", lines.pointCount(at));
        ShapeColumns.addRms(table, image, lines.rms(at));
        table.addValue("Log NFA", lines.logFalseAlarms(at));
    }
}
