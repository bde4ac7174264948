package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.ResultsTable;
import java.util.ArrayList;
import java.util.List;

/** The results of level sets as rows of ImageJ's Results table, below its existing rows. */
final class LevelSetTable {
    static final String ITERATIONS = "Iterations";
    static final String CONVERGED = "Converged";
    static final String SECONDS = "Seconds";
    static final String DEVICE = "Device";

    /** The values of one volume, or of one slice. */
    static final class Row {
        /** The stack index of the slice, or of the volume's first slice. */
        final int index;

        /** The volume of the voxels inside, or the area of the pixels. */
        final double inside;

        /** The area of the surface, or the perimeter. */
        final double front;

        final long iterations;
        final boolean converged;
        final double seconds;
        final String device;

        Row(int index, double inside, double front, long iterations, boolean converged, double seconds, String device) {
            this.index = index;
            this.inside = inside;
            this.front = front;
            this.iterations = iterations;
            this.converged = converged;
            this.seconds = seconds;
            this.device = device;
        }
    }

    private final HyperStackSelection planes;
    private final boolean volume;
    private final String unit;
    private final List<Row> rows = new ArrayList<>();

    LevelSetTable(HyperStackSelection planes, boolean volume, String unit) {
        this.planes = planes;
        this.volume = volume;
        this.unit = unit;
    }

    void add(Row row) {
        rows.add(row);
    }

    /** Returns "Volume (µm^3)" or "Area (µm^2)". */
    String insideHeading() {
        return volume ? "Volume (" + unit + "^3)" : "Area (" + unit + "^2)";
    }

    /** Returns "Surface (µm^2)" or "Perimeter (µm)". */
    String frontHeading() {
        return volume ? "Surface (" + unit + "^2)" : "Perimeter (" + unit + ")";
    }

    /** Appends the rows, and shows the table where there is a display. */
    void append() {
        ResultsTable table = ResultsTable.getResultsTable();
        ImagePlus image = planes.image;
        boolean hyperstack = ResultImage.isHyperStack(image);
        for (Row row : rows) {
            // This works also with ImageJ before 1.53d, which has no addRow().
            table.incrementCounter();
            table.addLabel(image.getTitle());
            int[] position = planes.position(row.index);
            if (hyperstack) {
                // These are the column names of ImageJ's own Measure; "Slice" is z.
                table.addValue(SegmentTable.CHANNEL, position[0]);
            }
            if (!volume) {
                table.addValue(SegmentTable.SLICE, hyperstack ? position[1] : row.index);
            }
            if (hyperstack) {
                table.addValue(SegmentTable.FRAME, position[2]);
            }
            table.addValue(insideHeading(), row.inside);
            table.addValue(frontHeading(), row.front);
            table.addValue(ITERATIONS, row.iterations);
            table.addValue(CONVERGED, row.converged ? 1 : 0);
            table.addValue(SECONDS, row.seconds);
            table.addValue(DEVICE, row.device);
        }
        table.show("Results");
    }
}
