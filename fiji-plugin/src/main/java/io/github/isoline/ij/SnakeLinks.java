package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import java.awt.GraphicsEnvironment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The links of tracks: each joins the outlines of a target on two neighbouring planes, whatever the direction in which
 * it was tracked. The source is on the earlier one.
 */
final class SnakeLinks {
    static final String TITLE = "Links";

    private final HyperStackSelection planes;

    /** Holds the source and the target of each link. */
    private final List<SnakeJob.Found[]> links = new ArrayList<>();

    /** Links each outline with the one that it continues. */
    SnakeLinks(HyperStackSelection planes, List<SnakeJob.Found> outlines) {
        this.planes = planes;
        Map<String, SnakeJob.Found> places = new HashMap<>();
        outlines.forEach(one -> places.put(one.index + " " + one.id, one));
        for (SnakeJob.Found one : outlines) {
            SnakeJob.Found parent = places.get(one.parentIndex + " " + one.id);
            if (parent != null && one.roi != null) {
                boolean first = one.index < parent.index;
                links.add(first ? new SnakeJob.Found[] {one, parent} : new SnakeJob.Found[] {parent, one});
            }
        }
        // The links of a track are in the order of its planes.
        links.sort(
                Comparator.comparingInt((SnakeJob.Found[] link) -> link[0].id).thenComparingInt(link -> link[0].index));
    }

    /**
     * Adds a row for each link.
     *
     * @param before the rows that the results table had before those of the run
     */
    void addTo(ResultsTable table, int before) {
        ImagePlus image = planes.image;
        boolean hyperstack = ResultImage.isHyperStack(image);
        Calibration unit = image.getCalibration();
        for (SnakeJob.Found[] link : links) {
            SnakeJob.Found source = link[0];
            SnakeJob.Found target = link[1];
            StackJob.startRow(table, image);
            table.addValue("Track", source.id);
            if (hyperstack) {
                table.addValue("Ch", planes.position(source.index)[0]);
            }
            addEnd(table, "Source", source, before, hyperstack);
            addEnd(table, "Target", target, before, hyperstack);
            double[] shape = compare(source.roi, target.roi);
            table.addValue("Displacement X", unit.getX(shape[2]) - unit.getX(shape[0]));
            table.addValue(
                    "Displacement Y", unit.getY(shape[3], image.getHeight()) - unit.getY(shape[1], image.getHeight()));
            table.addValue("Overlap", shape[4]);
            ShapeColumns.addUnit(table, image);
        }
    }

    private void addEnd(ResultsTable table, String side, SnakeJob.Found end, int before, boolean hyperstack) {
        int[] position = planes.position(end.index);
        table.addValue(side, end.name);
        table.addValue(side + " row", before + end.number);
        table.addValue(side + " slice", hyperstack ? position[1] : end.index);
        if (hyperstack) {
            table.addValue(side + " frame", position[2]);
        }
    }

    /** Returns the centroids of two areas in pixels, x and y of each, and their intersection over union. */
    private static double[] compare(Roi one, Roi other) {
        double[] found = new double[5];
        double[] counts = new double[2];
        AreaPixels[] areas = {new AreaPixels(one), new AreaPixels(other)};
        double[] common = {0};
        for (int side = 0; side < 2; side++) {
            int at = side;
            areas[at].forEach((x, y) -> {
                counts[at]++;
                found[2 * at] += x + 0.5;
                found[2 * at + 1] += y + 0.5;
                common[0] += at == 0 && areas[1].contains(x, y) ? 1 : 0;
            });
            found[2 * at] /= counts[at];
            found[2 * at + 1] /= counts[at];
        }
        found[4] = common[0] / (counts[0] + counts[1] - common[0]);
        return found;
    }

    /** Adds the rows to the script's table, or to ImageJ's own, which is shown. */
    void deliver(ResultsTable given, int before) {
        if (given != null) {
            addTo(given, before);
            return;
        }
        if (GraphicsEnvironment.isHeadless()) {
            RunLog.warn(
                    Isoline.REGION_SNAKE.command,
                    planes.image,
                    "ImageJ has no table of links without a display; a script gets it with Result.getLinks().");
            return;
        }
        ResultsTable shown = ResultsTable.getResultsTable(TITLE);
        shown = shown == null ? new ResultsTable() : shown;
        addTo(shown, before);
        shown.show(TITLE);
    }
}
