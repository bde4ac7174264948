package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The outputs of an operation that a script called through {@link Isoline}. Nothing of it is shown or kept anywhere
 * else.
 */
public final class Result {
    private final List<ImagePlus> images = new ArrayList<>();
    private final List<Roi> rois;
    private final ResultsTable table;
    private final ResultsTable links;
    private final List<String> warnings;
    private final String summary;
    private final String device;
    private final double seconds;
    private final boolean stopped;

    Result(StackJob<?> job, ImagePlus made, ScriptWorkspace workspace) {
        if (made != null) {
            images.add(made);
        }
        images.addAll(job.otherImages());
        rois = workspace.found();
        table = workspace.table();
        links = workspace.links();
        warnings = job.allWarnings();
        summary = job.summary();
        device = job.device();
        seconds = job.seconds();
        stopped = job.stopped;
    }

    /** Returns the first new image; null if the options ask for none. */
    public ImagePlus getImage() {
        return images.isEmpty() ? null : images.get(0);
    }

    /** Returns all new images, in the order of the options: of a level set the mask before φ. */
    public List<ImagePlus> getImages() {
        return Collections.unmodifiableList(images);
    }

    /**
     * Returns the outlines, segments or lines, with positions in the input image; empty if the options ask for none.
     */
    public List<Roi> getRois() {
        return Collections.unmodifiableList(rois);
    }

    /**
     * Returns the table: a new one, or the one that the options gave. It has no new rows if the options do not ask for
     * them.
     */
    public ResultsTable getTable() {
        return table;
    }

    /** Returns the links of tracked region snakes, one row each; empty unless the options have {@code links}. */
    public ResultsTable getLinks() {
        return links;
    }

    /** Returns a sentence for each deviation from what was asked for; empty if there is none. */
    public List<String> getWarnings() {
        return Collections.unmodifiableList(warnings);
    }

    /** Returns one line about the run: device, seconds, planes and outcome. */
    public String getSummary() {
        return summary;
    }

    /**
     * Returns the device that computed: "cpu" or "cuda:N", with its name; "none" where there was nothing to compute.
     */
    public String getDevice() {
        return device;
    }

    /** Returns the time in the library in seconds. */
    public double getSeconds() {
        return seconds;
    }

    /** Returns true if a person pressed Escape and the outputs show the state that was reached. */
    public boolean isStopped() {
        return stopped;
    }
}
