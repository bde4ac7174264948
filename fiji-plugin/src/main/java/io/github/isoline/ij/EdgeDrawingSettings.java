package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import java.util.Locale;

/** The parameters of the edge drawing command. */
final class EdgeDrawingSettings extends Settings {
    static final String PROFILE = "profile";
    static final String SIGMA = "sigma";
    static final String GRADIENT_THRESHOLD = "gradient_threshold";
    private static final String ANCHOR_THRESHOLD = "anchor_threshold";
    static final String EDGE_MAP = "edge_map";
    static final String ROI_SHAPE = "roi_shape";
    static final String TOLERANCE = "tolerance";
    static final String FIND = "find";
    static final String SHORTEST_LINE = "shortest_line";
    static final String LINE_DEVIATION = "line_deviation";
    static final String LINE_GAP = "line_gap";
    static final String ALL_LINES = "all_lines";
    static final String ELLIPSE_DEVIATION = "ellipse_deviation";
    static final String LEAST_COVERAGE = "least_coverage";
    static final String SMALLEST_RADIUS = "smallest_radius";
    static final String ELLIPSE_SHAPES = "ellipse_shapes";
    static final String ALL_ELLIPSES = "all_ellipses";

    private static final String ANY_ROIS = "overlay, roi_manager or roi_file";

    // The words of FIND.
    private static final String SEGMENTS = "segments";
    private static final String LINES = "lines";
    private static final String ELLIPSES = "ellipses";

    /** The library's names of what ALL_LINES and ALL_ELLIPSES turn off. */
    private static final String LINE_VALIDATION = "line_validation";

    private static final String ELLIPSE_VALIDATION = "ellipse_validation";

    EdgeDrawingSettings() throws IsolineException {
        super(EdgeDrawing.NAME, "edge drawing");
        declare(Setting.of(parameter(PROFILE), "reference", "paper"));
        declare(
                SIGMA,
                "validation",
                "gradient_operator",
                GRADIENT_THRESHOLD,
                ANCHOR_THRESHOLD,
                "scan_interval",
                "min_length");
        declare(
                Setting.of(parameter("follow_turns")).usedWith(PROFILE, "paper"),
                Setting.of(parameter(RANGE_MIN)).forgotten().recordedIfChanged(),
                Setting.of(parameter(RANGE_MAX)).forgotten().recordedIfChanged(),
                Setting.choice(STACK, "slices", "current"),
                Setting.choice(FIND, SEGMENTS, LINES, ELLIPSES)
                        .help(
                                "What the outputs but the edge map hold: segments, edges as chains of pixels; straight lines"
                                        + " along them; or circles and ellipses."),
                // The recorder takes keys for duplicates that end with another, min_length or tolerance.
                line("line_min_length", SHORTEST_LINE),
                line("line_tolerance", LINE_DEVIATION),
                line(LINE_GAP, LINE_GAP),
                Setting.toggle(ALL_LINES)
                        .usedWith(FIND, LINES)
                        .help(
                                "On: every line. Off: only lines whose gradients chance would make at most once in an image"
                                        + " of this size."),
                ellipse("ellipse_tolerance", ELLIPSE_DEVIATION),
                ellipse("ellipse_coverage", LEAST_COVERAGE),
                ellipse("ellipse_min_radius", SMALLEST_RADIUS),
                ellipse(ELLIPSE_SHAPES, ELLIPSE_SHAPES),
                Setting.toggle(ALL_ELLIPSES)
                        .usedWith(FIND, ELLIPSES)
                        .help(
                                "On: every circle and ellipse. Off: only those whose gradients chance would make at most once"
                                        + " in an image of this size."));
        declareAxes();
        declare(
                // This output is on at first, so that OK gives an image before anything is remembered.
                Setting.output(EDGE_MAP).first(true),
                Setting.output(ROI_MANAGER),
                Setting.output(OVERLAY),
                Setting.output(RESULTS_TABLE),
                Setting.choice(ROI_SHAPE, "freeline", "polyline")
                        .label("ROI shape")
                        .advanced()
                        .usedWith(FIND, SEGMENTS)
                        .usedIf(ANY_ROIS, Settings::wantsRois),
                // The tolerance is the largest distance of a polyline from the pixels.
                Setting.number(TOLERANCE, 1)
                        .atLeast(0)
                        .unit("pixels")
                        .advanced()
                        .usedWith(FIND, SEGMENTS)
                        .usedIf("roi_shape=polyline", s -> isPolyline(s))
                        .usedIf(ANY_ROIS, Settings::wantsRois),
                mostRois(),
                // All are saved to this ZIP file as ROIs.
                roiFile());
        // The library's names of what has other keys.
        declareOthers(
                "variant",
                "line_min_length",
                "line_tolerance",
                LINE_VALIDATION,
                "ellipse_tolerance",
                "ellipse_coverage",
                "ellipse_min_radius",
                ELLIPSE_VALIDATION);
    }

    /** Returns a parameter of lines. */
    private Setting line(String name, String key) {
        return Setting.of(key, parameter(name)).usedWith(FIND, LINES);
    }

    /** Returns a parameter of circles and ellipses. */
    private Setting ellipse(String name, String key) {
        return Setting.of(key, parameter(name)).usedWith(FIND, ELLIPSES);
    }

    @Override
    Params toParams() throws IsolineException {
        // A switch is off where a macro leaves it out, which the library's is not.
        return super.toParams()
                .set(LINE_VALIDATION, is(ALL_LINES) ? 0 : 1)
                .set(ELLIPSE_VALIDATION, is(ALL_ELLIPSES) ? 0 : 1);
    }

    /** Returns the library's parameters for an image, whose values may be shown otherwise than they are stored. */
    Params toParams(ImagePlus image) throws IsolineException {
        return ShownValues.of(image).storeDifferences(this, toParams(), GRADIENT_THRESHOLD, ANCHOR_THRESHOLD);
    }

    /** Returns what is found beside the edge map. */
    EdgeDrawing.Find find() {
        return EdgeDrawing.Find.valueOf(text(FIND).toUpperCase(Locale.ROOT));
    }

    private static boolean isPolyline(Settings s) {
        return s.is(ROI_SHAPE, "polyline");
    }

    boolean isPolyline() {
        return isPolyline(this);
    }

    /** Returns true if an output has segments, lines or ellipses. */
    boolean wantsFound() {
        return wantsRois() || is(RESULTS_TABLE);
    }

    /** Returns the problem with the parameters of the computation; null if there is none. */
    String computationProblem() {
        String problem = problemOf(
                SIGMA,
                GRADIENT_THRESHOLD,
                ANCHOR_THRESHOLD,
                "scan_interval",
                "min_length",
                SHORTEST_LINE,
                LINE_DEVIATION,
                LINE_GAP,
                ELLIPSE_DEVIATION,
                LEAST_COVERAGE,
                SMALLEST_RADIUS,
                RANGE_MIN,
                RANGE_MAX);
        return problem == null ? rangeProblem() : problem;
    }

    @Override
    String otherProblem() {
        String problem = rangeProblem();
        return problem == null ? outputProblem() : problem;
    }
}
