package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.measure.ResultsTable;
import java.awt.GraphicsEnvironment;

/** The table that gets a command's rows: ImageJ's Results, or one of its own if that has another command's rows. */
final class RowTable {
    private static final String RESULTS = "Results";

    final ResultsTable table;
    private final String title;

    private RowTable(ResultsTable table, String title) {
        this.table = table;
        this.title = title;
    }

    /**
     * Returns the table for the rows of a run.
     *
     * @param command its name, without the dots of the menu
     * @param column one that the command's rows have, and those of other commands lack
     */
    static RowTable of(String command, String column, ImagePlus image) {
        ResultsTable results = ResultsTable.getResultsTable();
        if (results.size() == 0 || results.columnExists(column)) {
            return new RowTable(results, RESULTS);
        }
        String others = "the Results table has rows of another command, ";
        if (GraphicsEnvironment.isHeadless()) {
            RunLog.warn(
                    command,
                    image,
                    others + "and those of this run are below them, since ImageJ has no other table without a display. "
                            + "Run \"Clear Results\" first to keep them apart.");
            return new RowTable(results, RESULTS);
        }
        String title = command + " results";
        RunLog.warn(command, image, others + "so those of this run are in the table \"" + title + "\".");
        ResultsTable own = ResultsTable.getResultsTable(title);
        return new RowTable(own == null ? new ResultsTable() : own, title);
    }

    /** Shows the table, where there is a display. */
    void show() {
        // ImageJ formats every number, which takes some seconds for a million rows.
        IJ.showStatus("Showing " + table.size() + " rows...");
        table.show(title);
    }
}
