package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import io.github.isoline.IsolineException;

/** The segments as rows of ImageJ's Results table, below its existing rows. */
final class SegmentTable {
    static final String SEGMENT = "Segment";
    static final String CHANNEL = "Ch";
    static final String SLICE = "Slice";
    static final String FRAME = "Frame";
    static final String POINTS = "Points";
    static final String GRADIENT = "Mean gradient";
    static final String CLOSED = "Closed";

    private SegmentTable() {}

    /** Returns "Length (µm)". */
    static String lengthHeading(Calibration calibration) {
        return "Length (" + VoxelSize.unit(calibration) + ")";
    }

    /** Appends a row for every segment, and shows the table where there is a display. */
    static void append(ImagePlus image, SegmentList list) throws IsolineException {
        ResultsTable table = ResultsTable.getResultsTable();
        Calibration calibration = image.getCalibration();
        String length = lengthHeading(calibration);
        boolean hyperstack = ResultImage.isHyperStack(image);
        list.forEach((number, segments, at, index) -> {
            // This works also with ImageJ before 1.53d, which has no addRow().
            table.incrementCounter();
            table.addLabel(image.getTitle());
            table.addValue(SEGMENT, number + 1);
            if (hyperstack) {
                // These are the column names of ImageJ's own Measure; "Slice" is z.
                int[] position = image.convertIndexToPosition(index);
                table.addValue(CHANNEL, position[0]);
                table.addValue(SLICE, position[1]);
                table.addValue(FRAME, position[2]);
            } else {
                table.addValue(SLICE, index);
            }
            table.addValue(length, segments.length(at, calibration.pixelWidth, calibration.pixelHeight));
            table.addValue(POINTS, segments.pointCount(at));
            table.addValue(GRADIENT, segments.meanGradient(at));
            table.addValue(CLOSED, segments.isClosed(at) ? 1 : 0);
        });
        if (list.count() == 0) {
            IJ.log(Host.name(EdgeDrawingPlugin.COMMAND, image) + ": no segments, so no new rows in the table.");
        }
        // ImageJ formats every number, which takes some seconds for a million rows.
        IJ.showStatus("Showing " + table.size() + " rows...");
        table.show("Results");
    }
}
