package io.github.isoline.ij;

import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import io.github.isoline.Polylines;
import java.awt.Color;

/** The axes and the critical points of edge strengths. */
final class FoundAxes extends Found<Polylines> {
    FoundAxes(HyperStackSelection planes, EdgeStrengthSettings settings) {
        super(planes, settings, "Skeleton part", "");
    }

    /** Returns the class, as the names of selections and the table have it. */
    static String name(int kind) {
        switch (kind) {
            case Polylines.S_PLUS:
                return "S+";
            case Polylines.S_MINUS:
                return "S-";
            case Polylines.ELLIPTIC:
                return "elliptic";
            default:
                return "hyperbolic";
        }
    }

    private static boolean isPoint(int kind) {
        return kind == Polylines.ELLIPTIC || kind == Polylines.HYPERBOLIC;
    }

    @Override
    String prefix(Polylines some, int at) {
        return name(some.kind(at)) + "-";
    }

    @Override
    double length(Polylines some, int at) {
        // Critical points are taken before axes.
        return isPoint(some.kind(at)) ? Double.MAX_VALUE : some.length(at);
    }

    @Override
    Color colour(int number, Polylines some, int at) {
        switch (some.kind(at)) {
            case Polylines.S_PLUS:
                return new Color(0x35d05b);
            case Polylines.S_MINUS:
                return new Color(0xffb000);
            case Polylines.ELLIPTIC:
                return new Color(0xff4b4b);
            default:
                return new Color(0x4a90ff);
        }
    }

    @Override
    Roi shape(Polylines some, int at) {
        if (isPoint(some.kind(at))) {
            return new PointRoi(some.x(at, 0), some.y(at, 0));
        }
        return FoundCurves.line(some, at, false);
    }

    @Override
    void addValues(ResultsTable table, int number, Polylines some, int at) {
        FoundCurves.addPosition(table, image, some, at);
        table.addValue("Class", name(some.kind(at)));
        table.addValue("Strength", some.level(at));
        table.addValue("Length", some.length(at));
        table.addValue("Points", some.pointCount(at));
    }
}
