package io.github.isoline.ij;

import io.github.isoline.IsolineException;
import io.github.isoline.Objects;
import io.github.isoline.Params;

/** The parameters of the command that grows objects. */
final class ObjectsSettings extends Settings {
    static final String FOREGROUND = "foreground";
    static final String ALPHA = "alpha";
    static final String SIGMA = "sigma";
    static final String PROMINENCE = "prominence";

    /** The switch that is the opposite of the library's. */
    private static final String MOVE_STARTS = "moving";

    private static final String KEEP_STARTS = "keep_starts";
    private static final String MARGIN = "margin";

    private static final String LENGTH = "in the image's unit, or auto";

    ObjectsSettings() throws IsolineException {
        super(Objects.NAME, "objects");
        declare(Setting.choice(STACK, "slices", "volume", "current"));
        declareAxes();
        declare(
                Setting.choice(START, DETECT, ROI, MANAGER, LABELS).label("Start from"),
                // Points become balls of this radius.
                Setting.positiveOrAuto(RADIUS)
                        .unit(LENGTH)
                        .usedWith(START, ROI, MANAGER)
                        .recordedIfChanged(),
                // The areas and points are in a file that the ROI Manager saved, instead of the ROI Manager;
                // only macros have the key.
                Setting.file(START_FILE).usedWith(START, MANAGER),
                // The value is the title of an open image.
                Setting.image(START_IMAGE).usedWith(START, LABELS),
                Setting.of(parameter(FOREGROUND)).recordedIfChanged().forgotten(),
                Setting.of(parameter(THRESHOLD))
                        .unit("pixel values, or auto")
                        .usedWith(START, DETECT)
                        .forgotten(),
                Setting.of(parameter(SIGMA))
                        .unit(LENGTH)
                        .usedWith(START, DETECT)
                        .recordedIfChanged(),
                Setting.of(parameter(PROMINENCE)).unit(LENGTH).usedWith(START, DETECT),
                Setting.of(parameter(ALPHA)).unit("more than 0, up to 1; less is smoother"),
                Setting.of(parameter(MARGIN)).unit(LENGTH).recordedIfChanged(),
                Setting.of(parameter(RANGE_MIN)).forgotten().recordedIfChanged(),
                Setting.of(parameter(RANGE_MAX)).forgotten().recordedIfChanged(),
                // In a macro a switch that is left out is off, so the switch is for what is unusual.
                Setting.toggle(MOVE_STARTS)
                        .label("Starts may shrink")
                        .help(
                                "On: fronts leave starts that do not fit the image, and objects may vanish. Off: the pixels of a"
                                        + " start stay in its object.")
                        .advanced(),
                Setting.output(LABEL_IMAGE).first(true),
                Setting.output(OVERLAY),
                Setting.output(ROI_MANAGER),
                Setting.output(RESULTS_TABLE),
                // The outlines are saved to this ZIP file.
                roiFile());
        declareOthers(KEEP_STARTS);
    }

    @Override
    String startOfRois() {
        return MANAGER;
    }

    /** Returns true if selections are the starts. */
    boolean startsFromRois() {
        return is(START, ROI) || is(START, MANAGER);
    }

    @Override
    Params toParams() throws IsolineException {
        return super.toParams().set(KEEP_STARTS, is(MOVE_STARTS) ? 0 : 1);
    }

    @Override
    String otherProblem() {
        if (is(START, LABELS) && text(START_IMAGE).isEmpty()) {
            return "start_image must be the title of an open label image: it is where start=labels starts.";
        }
        String problem = rangeProblem();
        return problem == null ? outputProblem() : problem;
    }
}
