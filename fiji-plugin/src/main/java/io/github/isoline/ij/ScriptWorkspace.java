package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import java.util.ArrayList;
import java.util.List;

/** The objects that a script gives to a run and gets from it: no window takes part. */
class ScriptWorkspace implements Workspace {
    private final List<ImagePlus> images = new ArrayList<>();
    private final List<Roi> given = new ArrayList<>();
    private final List<Roi> found = new ArrayList<>();
    private ResultsTable table = new ResultsTable();
    private final ResultsTable links = new ResultsTable();

    /** Adds an image that a parameter names. */
    void add(ImagePlus image) {
        images.add(image);
    }

    /** Adds a selection to start from. */
    void add(Roi roi) {
        given.add((Roi) roi.clone());
    }

    /** Makes rows go below those of this table. */
    void use(ResultsTable rows) {
        table = rows;
    }

    /** Returns the selections that the run has found. */
    List<Roi> found() {
        return found;
    }

    @Override
    public List<ImagePlus> images() {
        return images;
    }

    @Override
    public List<Roi> rois() {
        return given;
    }

    @Override
    public String source() {
        return "the option rois";
    }

    @Override
    public boolean isForThisRun() {
        return true;
    }

    @Override
    public void findRoiReceiver() {}

    @Override
    public void take(ImagePlus image, List<Roi> rois) {
        found.addAll(rois);
    }

    @Override
    public ResultsTable table() {
        return table;
    }

    @Override
    public ResultsTable links() {
        return links;
    }

    @Override
    public boolean isWatched() {
        return false;
    }
}
