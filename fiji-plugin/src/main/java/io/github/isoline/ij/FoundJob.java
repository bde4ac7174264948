package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.ResultsTable;
import io.github.isoline.IsolineException;
import java.io.IOException;
import java.util.Collections;
import java.util.List;

/** A job that finds curves: their selections and rows. */
abstract class FoundJob<S extends Settings> extends StackJob<S> {
    private final String command;

    /** @param command its name, without the dots of the menu */
    FoundJob(ImagePlus image, S settings, String command) throws BadInput {
        super(image, settings);
        this.command = command;
    }

    /** Returns what was found; null if it was not asked for. */
    abstract Found<?> found();

    /** Returns the end of a sentence that says how to find fewer. */
    abstract String howToFindFewer();

    /** Takes the selections for the ROI Manager and the overlay, if one of them is asked for. */
    final void takeRois() throws IsolineException {
        if (isLimited()) {
            rois.addAll(found().longest((int) settings.number(Settings.MOST_ROIS)));
        }
    }

    private boolean isLimited() {
        return settings.is(Settings.ROI_MANAGER) || settings.is(Settings.OVERLAY);
    }

    @Override
    final RowTable rowTable() {
        return RowTable.of(command, image, Collections.singletonList(found().column));
    }

    @Override
    final void addRows(ResultsTable table) throws IsolineException {
        found().addRows(table);
    }

    @Override
    final String roiName() {
        return found().noun() + "s";
    }

    @Override
    final void saveRois(RoiOutput.Taker taker) throws IsolineException, IOException {
        found().all(taker);
    }

    @Override
    List<String> warnings() {
        if (settings.is(Settings.RESULTS_TABLE) && found().count() == 0) {
            return Collections.singletonList("no " + roiName() + ", so no new rows in the table.");
        }
        if (!isLimited() || rois.size() == found().count()) {
            return Collections.emptyList();
        }
        return Collections.singletonList(String.format(
                "of %s %s only the longest %s went to the ROI Manager or the overlay, which become slow with more. Raise"
                        + " most_rois to get more%s; results_table and roi_file have all of them.",
                found().count(), roiName(), rois.size(), howToFindFewer()));
    }

    @Override
    final String outcome() {
        return found() == null ? "" : RunLog.count(found().count(), found().noun());
    }
}
