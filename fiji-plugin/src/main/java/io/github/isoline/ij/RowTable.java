package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.measure.ResultsTable;
import java.awt.GraphicsEnvironment;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/** The table that gets a command's rows: ImageJ's Results, or one of its own if that has rows of another kind. */
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
     * @param has columns that these rows have, and those of every other command lack at least one of
     * @param lacks columns that other rows of the same command have
     */
    static RowTable of(String command, ImagePlus image, List<String> has, String... lacks) {
        // Only rows of hyperstacks have a channel and a frame: they would be 0 in the others.
        boolean hyperstack = ResultImage.isHyperStack(image);
        Predicate<ResultsTable> fits = table -> table == null
                || table.size() == 0
                || has.stream().allMatch(table::columnExists)
                        && Arrays.stream(lacks).noneMatch(table::columnExists)
                        && table.columnExists("Ch") == hyperstack;
        ResultsTable results = ResultsTable.getResultsTable();
        if (fits.test(results)) {
            return new RowTable(results, RESULTS);
        }
        String others = "the Results table has rows of another kind, ";
        if (GraphicsEnvironment.isHeadless()) {
            RunLog.warn(
                    command,
                    image,
                    others + "and those of this run are below them, since ImageJ has no other table without a display. "
                            + "Run \"Clear Results\" first to keep them apart.");
            return new RowTable(results, RESULTS);
        }
        String title = command + " results";
        for (int number = 2; !fits.test(ResultsTable.getResultsTable(title)); number++) {
            title = command + " results " + number;
        }
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
