package io.github.isoline.ij;

import io.github.isoline.EdgeDrawing;
import io.github.isoline.IsolineException;

/** The parameters of the edge drawing command. */
final class EdgeDrawingSettings extends Settings {
    static final String PROFILE = "profile";
    static final String SIGMA = "sigma";
    static final String GRADIENT_THRESHOLD = "gradient_threshold";
    static final String EDGE_MAP = "edge_map";
    static final String ROI_SHAPE = "roi_shape";
    static final String TOLERANCE = "tolerance";
    static final String MOST_ROIS = "most_rois";

    EdgeDrawingSettings() throws IsolineException {
        super(EdgeDrawing.NAME, SegmentRois.EDGE_DRAWING, "Edge drawing");
        declare(Setting.of(parameter(PROFILE), "reference", "paper"));
        declare(
                SIGMA,
                "validation",
                "gradient_operator",
                GRADIENT_THRESHOLD,
                "anchor_threshold",
                "scan_interval",
                "min_length");
        declare(
                Setting.of(parameter("follow_turns")).shownIf(s -> s.is(PROFILE, "paper")),
                Setting.of(parameter(RANGE_MIN)).forgotten().recordedIfChanged(),
                Setting.of(parameter(RANGE_MAX)).forgotten().recordedIfChanged(),
                Setting.choice(STACK, "all", "current"));
        declareAxes();
        declare(
                // This output is on at first, so that OK gives an image before anything is
                // remembered.
                Setting.output(EDGE_MAP).first(true),
                Setting.output(ROI_MANAGER),
                Setting.output(OVERLAY),
                Setting.output(RESULTS_TABLE),
                Setting.choice(ROI_SHAPE, "freeline", "polyline")
                        .label("ROI shape")
                        .advanced()
                        .recordedIf(s -> wantsRois(s)),
                // The tolerance is the largest distance of a polyline from the pixels.
                Setting.number(TOLERANCE, 1)
                        .atLeast(0)
                        .unit("pixels")
                        .advanced()
                        .recordedIf(s -> wantsRois(s) && isPolyline(s)),
                // The ROI Manager and an overlay get at most this number of segments, the longest
                // ones.
                Setting.number(MOST_ROIS, 10_000)
                        .whole(1)
                        .label("Most ROIs")
                        .advanced()
                        .recordedIf(s -> wantsRois(s)),
                // The segments are saved to this ZIP file as ROIs.
                Setting.file(ROI_FILE));
        // The command has no lines, so it does not show their parameters.
        declareOthers("variant", "line_min_length", "line_tolerance", "line_gap", "line_validation");
    }

    private static boolean isPolyline(Settings s) {
        return s.is(ROI_SHAPE, "polyline");
    }

    boolean isPolyline() {
        return isPolyline(this);
    }

    boolean wantsSegments() {
        return wantsRois(this) || is(RESULTS_TABLE);
    }

    /** Returns the problem with the parameters of the computation; null if there is none. */
    String computationProblem() {
        String problem = problemOf(
                SIGMA, GRADIENT_THRESHOLD, "anchor_threshold", "scan_interval", "min_length", RANGE_MIN, RANGE_MAX);
        return problem == null ? rangeProblem() : problem;
    }

    @Override
    String otherProblem() {
        String problem = rangeProblem();
        return problem == null ? outputProblem() : problem;
    }
}
