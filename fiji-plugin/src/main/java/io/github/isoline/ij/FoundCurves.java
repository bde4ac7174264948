package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import io.github.isoline.Polylines;
import java.awt.Color;

/** The isolines of an image. Closed ones are areas. */
final class FoundCurves extends Found<Polylines> {
    private final LevelColours colours = new LevelColours();

    FoundCurves(HyperStackSelection planes, IsolinesSettings settings) {
        super(planes, settings, "Isoline", "iso-");
    }

    @Override
    void add(Polylines some, int[] part) {
        super.add(some, part);
        colours.add(some);
    }

    @Override
    double length(Polylines some, int at) {
        return some.length(at);
    }

    @Override
    Color colour(int number, Polylines some, int at) {
        return colours.of(some.level(at));
    }

    @Override
    Roi shape(Polylines some, int at) {
        // Two points enclose no area.
        Roi roi = line(some, at, some.isClosed(at) && some.pointCount(at) > 2);
        roi.setProperty("level", Double.toString(level(some, at)));
        return roi;
    }

    /** Returns the level of a curve as ImageJ shows the image's values. */
    private double level(Polylines some, int at) {
        return ShownValues.of(image).of(some.level(at));
    }

    /** Returns a curve as a polygon, or as a line. */
    static Roi line(Polylines some, int at, boolean closed) {
        int points = some.pointCount(at);
        float offset = closed ? CENTRE : 0;
        float[] x = new float[points];
        float[] y = new float[points];
        for (int p = 0; p < points; p++) {
            x[p] = (float) some.x(at, p) + offset;
            y[p] = (float) some.y(at, p) + offset;
        }
        return new PolygonRoi(x, y, points, closed ? Roi.POLYGON : Roi.FREELINE);
    }

    /** Adds the mean of a curve's points. */
    static void addPosition(ResultsTable table, ImagePlus image, Polylines some, int at) {
        double x = 0;
        double y = 0;
        for (int p = 0; p < some.pointCount(at); p++) {
            x += some.x(at, p);
            y += some.y(at, p);
        }
        ShapeColumns.addPosition(table, image, x / some.pointCount(at) + CENTRE, y / some.pointCount(at) + CENTRE);
    }

    @Override
    void addValues(ResultsTable table, int number, Polylines some, int at) {
        addPosition(table, image, some, at);
        table.addValue("Level", level(some, at));
        table.addValue("Length", some.length(at));
        table.addValue("Area", some.area(at));
        // Numbers of rows begin with 1, so that 0 is none.
        table.addValue("Parent", some.parent(at) < 0 ? 0 : number - at + some.parent(at) + 1);
        table.addValue("Points", some.pointCount(at));
        table.addValue("Closed", some.isClosed(at) ? 1 : 0);
    }
}
