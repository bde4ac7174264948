package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.ResultsTable;
import io.github.isoline.TargetStatistics;
import java.util.ArrayList;
import java.util.List;

/** The results of region snakes as rows of ImageJ's Results table, below its existing rows. */
final class SnakeTable {
    static final String TARGET = "Target";
    static final String NAME = "Name";
    static final String MEAN = "Mean inside";
    static final String DEVIATION = "SD inside";
    static final String BACKGROUND_MEAN = "Mean outside";
    static final String BACKGROUND_DEVIATION = "SD outside";
    static final String CRITERION = "Criterion";
    static final String NODES = "Nodes";
    static final String ITERATIONS = "Iterations";
    static final String STATUS = "Status";

    /** The status of a target where all pixels are equal. */
    static final String FLAT = "flat";

    /** One target on one plane. */
    static final class Row {
        /** The stack index of the plane. */
        final int index;

        final int id;
        final String name;
        final TargetStatistics statistics;

        /** The perimeter in the image's unit; 0 without pixels. */
        final double perimeter;

        Row(int index, int id, String name, TargetStatistics statistics, double perimeter) {
            this.index = index;
            this.id = id;
            this.name = name;
            this.statistics = statistics;
            this.perimeter = perimeter;
        }

        /** Returns the way in which the search ended. */
        String status() {
            switch (statistics.state()) {
                case RUNNING:
                    return "stopped";
                case CONVERGED:
                    return isFlat() ? FLAT : statistics.state().toString();
                default:
                    return statistics.state().toString();
            }
        }

        /** Returns true if all pixels of target and background are equal, so that no outline is better. */
        private boolean isFlat() {
            boolean spread = statistics.deviation() > 0 || statistics.backgroundDeviation() > 0;
            return !spread && !(Math.abs(statistics.mean() - statistics.backgroundMean()) > 0);
        }
    }

    private final HyperStackSelection planes;
    private final VoxelSize size;
    private final double offset;
    private final List<Row> rows = new ArrayList<>();

    /**
     * Creates an empty table.
     *
     * @param offset of pixel values as they are stored, from those that ImageJ shows
     */
    SnakeTable(HyperStackSelection planes, VoxelSize size, double offset) {
        this.planes = planes;
        this.offset = offset;
        this.size = size;
    }

    void add(Row row) {
        rows.add(row);
    }

    List<Row> rows() {
        return rows;
    }

    /** Returns "Area (µm^2)". */
    String areaHeading() {
        return "Area (" + size.unit + "^2)";
    }

    /** Returns "Perimeter (µm)". */
    String perimeterHeading() {
        return "Perimeter (" + size.unit + ")";
    }

    /** Appends the rows, and shows the table where there is a display. */
    void append() {
        ResultsTable table = ResultsTable.getResultsTable();
        ImagePlus image = planes.image;
        boolean hyperstack = ResultImage.isHyperStack(image);
        for (Row row : rows) {
            TargetStatistics s = row.statistics;
            // This works also with ImageJ before 1.53d, which has no addRow().
            table.incrementCounter();
            table.addLabel(image.getTitle());
            table.addValue(TARGET, row.id);
            table.addValue(NAME, row.name);
            int[] position = planes.position(row.index);
            if (hyperstack) {
                // These are the column names of ImageJ's own Measure; "Slice" is z.
                table.addValue(SegmentTable.CHANNEL, position[0]);
            }
            table.addValue(SegmentTable.SLICE, hyperstack ? position[1] : row.index);
            if (hyperstack) {
                table.addValue(SegmentTable.FRAME, position[2]);
            }
            table.addValue(areaHeading(), s.pixels() * size.x * size.y);
            table.addValue(perimeterHeading(), row.perimeter);
            table.addValue(MEAN, s.mean() - offset);
            table.addValue(DEVIATION, s.deviation());
            table.addValue(BACKGROUND_MEAN, s.backgroundMean() - offset);
            table.addValue(BACKGROUND_DEVIATION, s.backgroundDeviation());
            table.addValue(CRITERION, s.criterion());
            table.addValue(NODES, s.nodes());
            table.addValue(ITERATIONS, s.iterations());
            table.addValue(STATUS, row.status());
        }
        table.show("Results");
    }
}
