package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.LevelSet;
import io.github.isoline.Params;
import java.util.Collections;
import java.util.Map;

/** The parameters of the level set command. */
final class LevelSetSettings extends Settings {
    static final String ROI_SLICES = "roi_slices";
    static final String FOLLOW = "follow";
    static final String MASK_IMAGE = "mask_image";
    static final String BOX_X = "box_x";
    static final String BOX_Y = "box_y";
    static final String BOX_Z = "box_z";
    static final String SPHERE_FILE = "sphere_file";
    static final String REGIONS = "regions";
    static final String RANGE = "range";
    static final String TARGET = "target";
    static final String EPSILON = "epsilon";
    static final String SIDE = "side";
    static final String DEVIATIONS = "deviations";
    static final String ALPHA = "alpha";
    static final String EDGE_WEIGHT = "edge_weight";
    static final String REINITIALISE_EVERY = "reinitialise_every";
    static final String MASK_STACK = "mask_stack";
    static final String PHI = "phi";

    static final String SLICES = "slices";
    static final String CURRENT = "current";

    static final String SPHERES = "spheres";
    static final String MASK = "mask";
    static final String BOX = "box";

    static final String OWN = "own";
    static final String ALL = "all";

    static final String VALUES = "values";

    /** The choice of regions with which there is a range. */
    private static final String OFF = "off";

    LevelSetSettings() throws IsolineException {
        super(LevelSet.NAME, "level set");
        declare(Setting.choice(STACK, SLICES, "volume", CURRENT));
        declareAxes();
        declare(
                Setting.choice(START, ROI, SPHERES, MASK, BOX).label("Start from"),
                Setting.choice(ROI_SLICES, OWN, ALL)
                        .label("ROI slices")
                        .usedWith(START, ROI)
                        .usedIf("stack=volume", Settings::isVolume),
                Setting.toggle(FOLLOW)
                        .label("Follow from frame to frame")
                        .help(
                                "On: every frame but the first starts from the result of the frame before. Off: each has its own"
                                        + " start.")
                        .usedIf(ALL_FRAMES, s -> s.is(ALL_FRAMES)),
                Setting.positiveOrAuto(RADIUS)
                        .unit("in the image's unit, or auto")
                        .usedWith(START, SPHERES),
                // The points are in a file that the ROI Manager saved, instead of the ROI Manager;
                // only macros have the key.
                Setting.file(SPHERE_FILE).usedWith(START, SPHERES),
                // The value is the title of an open image.
                Setting.image(MASK_IMAGE).usedWith(START, MASK),
                // The values are "auto" or "first-last": x and y in pixels from 0 on, z in slices from 1 on.
                Setting.text(BOX_X, AUTO).usedWith(START, BOX).forgotten(),
                Setting.text(BOX_Y, AUTO).usedWith(START, BOX).forgotten(),
                Setting.text(BOX_Z, AUTO).usedWith(START, BOX).forgotten(),
                Setting.of(parameter(REGIONS))
                        .unit("instead of a range: the kind of noise")
                        .recordedIfChanged()
                        .forgotten(),
                Setting.choice(RANGE, AUTO, VALUES, ROI).usedWith(REGIONS, OFF).forgotten(),
                Setting.of(parameter(SIDE)).usedWith(REGIONS, OFF).forgotten(),
                // Their fields show the range that was found, and moving one selects the range by values.
                ofRange(Setting.given(parameter(TARGET)), VALUES)
                        .shownIf(s -> s.is(REGIONS, OFF))
                        .forgotten(),
                ofRange(Setting.given(parameter(EPSILON)), VALUES)
                        .shownIf(s -> s.is(REGIONS, OFF))
                        .forgotten(),
                // The range of range=roi is the mean plus and minus this number of standard deviations.
                ofRange(Setting.number(DEVIATIONS, 2), ROI)
                        .above(0)
                        .label("Range width")
                        .unit("standard deviations"));
        declare(
                Setting.of(parameter(ALPHA)).unit("0 to 1; less is smoother"),
                Setting.of(parameter(EDGE_WEIGHT))
                        .unit("0: none; else begin with 2")
                        .recordedIfChanged()
                        .forgotten());
        declare(
                Setting.choice(MODE, "converged", "iterations"),
                Setting.of(parameter(ITERATIONS)).whole(1));
        declare(REINITIALISE_EVERY);
        declare(
                Setting.of(parameter(TIME_STEP)).usedWith(REGIONS, OFF).forgotten(),
                // The number of iterations between two pictures of the front; 0 for none.
                Setting.number(SHOW_EVERY, 10).whole(0).unit("iterations").advanced(),
                // This output is on at first, so that OK gives an image before anything is remembered.
                Setting.output(MASK_STACK).first(true),
                Setting.output(PHI).label("Level set function"),
                Setting.output(LABEL_IMAGE),
                Setting.output(OVERLAY),
                Setting.output(ROI_MANAGER),
                Setting.output(RESULTS_TABLE),
                // The outlines are saved to this ZIP file.
                roiFile());
        declareOthers("variant");
        for (String key : new String[] {"edge_sigma", "edge_contrast"}) {
            setting(key).usedIf("an edge_weight above 0", s -> ((LevelSetSettings) s).hasEdges());
        }
        setting("cfl").usedIf("time_step=auto", s -> s.isAutomatic(TIME_STEP));
        for (String key : new String[] {"change_tolerance", "rms_tolerance"}) {
            setting(key).usedIf("mode=converged", Settings::isConverged);
        }
    }

    /** Limits the use of a parameter to one source of the range; between two regions there is none. */
    private static Setting ofRange(Setting setting, String source) {
        return setting.usedWith(RANGE, source).usedIf("regions=off", s -> s.is(REGIONS, OFF));
    }

    @Override
    String startOfRois() {
        return SPHERES;
    }

    @Override
    Map<String, String> oldKeys() {
        // ImageJ's recorder mistakes "k=" for a duplicate where "stack=" stands.
        return Collections.singletonMap("k", DEVIATIONS);
    }

    private String startProblem() {
        if (is(START, MASK) && text(MASK_IMAGE).isEmpty()) {
            return "mask_image must be the title of an open image: it is where start=mask starts.";
        }
        for (String key : new String[] {BOX_X, BOX_Y, BOX_Z}) {
            String side = text(key);
            if (is(START, BOX) && !isAuto(side) && span(side) == null) {
                return String.format(
                        "A side of the box (box_x, box_y, box_z) must be \"auto\" or first-last, such as 10-50, got "
                                + "\"%s\".",
                        side);
            }
        }
        return null;
    }

    /** Returns true if the pixels of both sides of the front give the range. */
    boolean hasRegions() {
        return !is(REGIONS, OFF);
    }

    /** Returns true if the edges of the image count. */
    boolean hasEdges() {
        return number(EDGE_WEIGHT) > 0;
    }

    /** Returns true if frames start from the result of the frame before. */
    boolean followsFrames() {
        return is(ALL_FRAMES) && is(FOLLOW);
    }

    /** Returns the problem with the parameters that a preview shows; null if there is none. */
    String previewProblem() {
        String problem = problemOf(RADIUS, TARGET, EPSILON, DEVIATIONS);
        return problem == null ? startProblem() : problem;
    }

    @Override
    String otherProblem() {
        String problem = startProblem();
        return problem == null ? outputProblem() : problem;
    }

    /** Returns the two whole numbers of "first-last"; null if there are none, or in the wrong order. */
    static int[] span(String text) {
        String[] ends = text.trim().split("\\s*-\\s*", -1);
        if (ends.length != 2 || !ends[0].matches("\\d{1,9}") || !ends[1].matches("\\d{1,9}")) {
            return null;
        }
        int[] span = {Integer.parseInt(ends[0]), Integer.parseInt(ends[1])};
        return span[0] <= span[1] ? span : null;
    }

    /** Returns the library's parameters for an image, whose values may be shown otherwise than they are stored. */
    Params toParams(ImagePlus image) throws IsolineException {
        return ShownValues.of(image).storeDifferences(this, toParams(), "edge_contrast");
    }

    /** Returns the library's parameters; T and ε are still automatic. */
    @Override
    Params toParams() throws IsolineException {
        Params params = super.toParams();
        if (!isConverged()) {
            LevelSet.neverStop(params);
        }
        if (hasRegions()) {
            params.set(SIDE, AUTO).setAutomatic(TIME_STEP);
        }
        return params.setAutomatic(EPSILON);
    }
}
