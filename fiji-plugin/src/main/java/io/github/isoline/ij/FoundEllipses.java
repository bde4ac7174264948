package io.github.isoline.ij;

import ij.gui.EllipseRoi;
import ij.gui.OvalRoi;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import io.github.isoline.Ellipses;

/** The circles and ellipses of an image. */
final class FoundEllipses extends Found<Ellipses> {
    FoundEllipses(HyperStackSelection planes, EdgeDrawingSettings settings) {
        super(planes, settings, "Ellipse", "ellipse-");
    }

    @Override
    double length(Ellipses ellipses, int at) {
        return ellipses.semiMajor(at) + ellipses.semiMinor(at);
    }

    @Override
    Roi shape(Ellipses ellipses, int at) {
        double x = ellipses.x(at) + CENTRE;
        double y = ellipses.y(at) + CENTRE;
        double major = ellipses.semiMajor(at);
        double minor = ellipses.semiMinor(at);
        if (ellipses.isCircle(at)) {
            return new OvalRoi(x - major, y - major, 2 * major, 2 * major);
        }
        double dx = major * Math.cos(ellipses.angle(at));
        double dy = major * Math.sin(ellipses.angle(at));
        return new EllipseRoi(x - dx, y - dy, x + dx, y + dy, minor / major);
    }

    @Override
    void addValues(ResultsTable table, int number, Ellipses ellipses, int at) {
        Calibration calibration = image.getCalibration();
        ShapeColumns.addPosition(table, image, ellipses.x(at) + CENTRE, ellipses.y(at) + CENTRE);
        // Both semi-axes as vectors in the image's unit, rows upwards. Where pixels are not square, these are no longer
        // the axes of the ellipse, but those of the same matrix are.
        double cos = Math.cos(ellipses.angle(at));
        double sin = Math.sin(ellipses.angle(at));
        double[] a = {
            ellipses.semiMajor(at) * cos * calibration.pixelWidth,
            -ellipses.semiMajor(at) * sin * calibration.pixelHeight
        };
        double[] b = {
            ellipses.semiMinor(at) * sin * calibration.pixelWidth,
            ellipses.semiMinor(at) * cos * calibration.pixelHeight
        };
        double xx = a[0] * a[0] + b[0] * b[0];
        double yy = a[1] * a[1] + b[1] * b[1];
        double xy = a[0] * a[1] + b[0] * b[1];
        double root = Math.hypot(xx - yy, 2 * xy);
        double area = Math.PI * Math.abs(a[0] * b[1] - a[1] * b[0]);
        double major = 2 * Math.sqrt((xx + yy + root) / 2);
        double minor = 4 * area / (Math.PI * major);
        double angle = Math.toDegrees(Math.atan2(2 * xy, xx - yy)) / 2;
        table.addValue("Major", major);
        table.addValue("Minor", minor);
        // ImageJ's angles of ellipses are from 0 to 180 degrees; that of a circle is 0.
        boolean turned = !ellipses.isCircle(at) || calibration.pixelWidth != calibration.pixelHeight;
        table.addValue("Angle", turned ? (angle + 180) % 180 : 0);
        table.addValue("Area", area);
        table.addValue("Round", minor / major);
        table.addValue("Circle", ellipses.isCircle(at) ? 1 : 0);
        table.addValue("Bright", ellipses.isBright(at) ? 1 : 0);
        table.addValue("Coverage", ellipses.coverage(at));
        table.addValue("Arcs", ellipses.arcCount(at));
        table.addValue("Points", ellipses.pointCount(at));
        ShapeColumns.addRms(table, image, ellipses.rms(at));
        table.addValue("Log NFA", ellipses.logFalseAlarms(at));
    }
}
