package io.github.isoline.ij;

import ij.gui.PointRoi;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import io.github.isoline.Segments;

/** The segments of an image. Their selections are lines, or areas where a segment is closed. */
final class FoundSegments extends Found<Segments> {
    private final EdgeDrawingSettings settings;

    FoundSegments(HyperStackSelection planes, EdgeDrawingSettings settings) {
        super(planes, settings, "Segment", "seg-");
        this.settings = settings;
    }

    @Override
    double length(Segments segments, int at) {
        return segments.pointCount(at);
    }

    @Override
    void addValues(ResultsTable table, int number, Segments segments, int at) {
        Calibration calibration = image.getCalibration();
        double width = calibration.pixelWidth;
        double height = calibration.pixelHeight;
        double[] centroid = segments.centroid(at);
        ShapeColumns.addPosition(table, image, centroid[0] + CENTRE, centroid[1] + CENTRE);
        table.addValue("Angle", segments.orientation(at, width, height));
        table.addValue("Length", segments.length(at, width, height));
        table.addValue("Points", segments.pointCount(at));
        table.addValue("Mean gradient", ShownValues.of(image).difference(segments.meanGradient(at)));
        table.addValue("Closed", segments.isClosed(at) ? 1 : 0);
    }

    @Override
    Roi shape(Segments segments, int at) {
        int all = segments.pointCount(at);
        if (all == 1) {
            return new PointRoi(segments.x(at, 0), segments.y(at, 0));
        }
        boolean polyline = settings.isPolyline();
        int[] kept = polyline ? Simplifier.keep(segments, at, settings.number(EdgeDrawingSettings.TOLERANCE)) : null;
        int count = polyline ? kept.length : all;
        // Two points enclose no area.
        boolean closed = segments.isClosed(at) && count > 2;
        float[] x = new float[count];
        float[] y = new float[count];
        int[] wholeX = new int[count];
        int[] wholeY = new int[count];
        for (int i = 0; i < count; i++) {
            int point = polyline ? kept[i] : i;
            wholeX[i] = segments.x(at, point);
            wholeY[i] = segments.y(at, point);
            x[i] = wholeX[i] + CENTRE;
            y[i] = wholeY[i] + CENTRE;
        }
        if (closed) {
            return new PolygonRoi(x, y, count, polyline ? Roi.POLYGON : Roi.FREEROI);
        }
        return new PolygonRoi(wholeX, wholeY, count, polyline ? Roi.POLYLINE : Roi.FREELINE);
    }
}
