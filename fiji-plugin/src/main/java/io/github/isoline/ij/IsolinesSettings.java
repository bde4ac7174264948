package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import java.util.Arrays;
import java.util.regex.Pattern;

/** The parameters of the isolines command. */
final class IsolinesSettings extends Settings {
    static final String LEVELS = "levels";
    static final String LEVEL_COUNT = "level_count";

    private static final Pattern SEPARATORS = Pattern.compile("[\\s;]+|,\\s+");

    IsolinesSettings() throws IsolineException {
        super(Isolines.NAME, "isolines");
        declare(Setting.text(LEVELS, AUTO)
                .forgotten()
                .unit("pixel values")
                .help(
                        "The values on which curves lie, with blanks between them, or auto. Auto takes as many as the next field"
                                + " says, equally spaced between the smallest and the largest value."));
        declare(Setting.of(parameter(LEVEL_COUNT)).usedIf("levels=auto", s -> s.isAutomatic(LEVELS)));
        declare(Setting.choice(STACK, "slices", "current"));
        declareAxes();
        declare(
                // This output is on at first, so that OK shows something before anything is remembered.
                Setting.output(OVERLAY).first(true),
                Setting.output(ROI_MANAGER),
                Setting.output(RESULTS_TABLE),
                mostRois(),
                // All curves are saved to this ZIP file as ROIs.
                roiFile());
        // The range is that of all slices, which the job computes.
        declareOthers(RANGE_MIN, RANGE_MAX);
    }

    @Override
    void check(ImagePlus image) throws BadInput {
        super.check(image);
        new VoxelSize(image, false);
    }

    /** Returns the levels in the raw values of an image; none if they are equally spaced. */
    double[] levels(ImagePlus image) {
        return Arrays.stream(levels()).map(ShownValues.of(image)::stored).toArray();
    }

    private double[] levels() {
        if (isAutomatic(LEVELS)) {
            return new double[0];
        }
        String[] texts = SEPARATORS.split(text(LEVELS).trim());
        double[] levels = new double[texts.length];
        for (int i = 0; i < levels.length; i++) {
            levels[i] = Setting.number(texts[i]);
        }
        return levels;
    }

    /** Returns what to write where a comma may stand between two levels or in one; "" where there is none. */
    private String commaAdvice() {
        String text = text(LEVELS).trim();
        if (text.indexOf(',') < 0) {
            return "";
        }
        String several = text.replaceAll("[,\\s]+", " ").trim();
        return " Write " + several + " (in a macro levels=[" + several + "]) for several levels"
                + (text.matches("\\d+,\\d+") ? ", " + text.replace(',', '.') + " for one." : ".");
    }

    /** Returns the problem with the parameters of the computation; null if there is none. */
    String computationProblem() {
        for (double level : levels()) {
            if (Double.isNaN(level) || Double.isInfinite(level)) {
                return "levels must be \"auto\" or numbers with blanks between them, got \"" + text(LEVELS) + "\"."
                        + commaAdvice();
            }
        }
        return problemOf(LEVEL_COUNT);
    }

    @Override
    String otherProblem() {
        String problem = computationProblem();
        return problem == null ? outputProblem() : problem;
    }
}
