package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.Parameter;
import io.github.isoline.Params;
import io.github.isoline.Snake;

/** The parameters of the region snake command. */
final class SnakeSettings extends Settings {
    static final String NOISE = "noise";
    static final String LOOKS = "looks";
    static final String BACKGROUND = "background";
    static final String MARGIN = "margin";
    static final String OVERLAP = "overlap";
    static final String EXCLUDED = "excluded";
    static final String LARGEST_STEP = "largest_step";
    static final String NODE_SPACING = "node_spacing";
    static final String MAX_ITERATIONS = "max_iterations";
    static final String SMOOTH = "smooth";
    static final String LINKS = "links";

    static final String TRACK = "track";
    static final String TRACK_FRAMES = "track_frames";

    static final String THRESHOLDED = ShapeThreshold.THRESHOLDED;
    static final String RECTANGLE = "rectangle";

    /** The library's largest automatic node spacing, in pixels. */
    private static final double LARGEST_AUTOMATIC_SPACING = 16;

    SnakeSettings() throws IsolineException {
        super(Snake.NAME, SnakeStart.KIND);
        declare(Setting.choice(STACK, "slices", TRACK, TRACK_FRAMES, "current"));
        declareAxes();
        declare(
                Setting.choice(START, ROI, MANAGER, LABELS, THRESHOLDED, DETECT, RECTANGLE)
                        .label("Start from"),
                // Points become discs of this radius.
                Setting.positiveOrAuto(RADIUS)
                        .unit("in the image's unit, or auto")
                        .usedWith(START, ROI, MANAGER, DETECT)
                        .recordedIfChanged(),
                // The value is the title of an open image.
                Setting.image(START_IMAGE).usedWith(START, LABELS),
                // The areas are in a file that the ROI Manager saved, instead of the ROI Manager;
                // only macros have the key.
                Setting.file(START_FILE).usedWith(START, MANAGER));
        declare(NOISE);
        declare(
                Setting.of(parameter(LOOKS)).usedWith(NOISE, "gamma"),
                Setting.of(parameter(BACKGROUND), AUTO, "image", "window"),
                Setting.of(parameter(MARGIN))
                        .unit("times the start's longer side")
                        .usedIf("background=window (of other starts than rectangle also auto)", s -> isWindow(s)),
                // Users expect a label image without overlaps, so that targets compete unless they say otherwise.
                Setting.of(parameter(OVERLAP), EXCLUDED, "allowed"),
                Setting.of(parameter(LARGEST_STEP)).unit("pixels: 1, 2, 4, ..."));
        declare(NODE_SPACING);
        declare(Setting.of(parameter("node_cost")).unit("more: fewer nodes"));
        declare(Setting.toggle(SMOOTH)
                .label("Smooth outlines")
                .help("Curves along the nodes, for perimeters and shapes; label image and rows follow them."));
        declare("max_nodes", MAX_ITERATIONS, "schedule");
        declare(
                Setting.of(parameter(RANGE_MIN)).forgotten().recordedIfChanged(),
                Setting.of(parameter(RANGE_MAX)).forgotten().recordedIfChanged(),
                // The number of iterations between two pictures of the polygons; 0 for none.
                Setting.number(SHOW_EVERY, 1).whole(0).unit("iterations").advanced(),
                // These outputs are on at first, so that OK gives an image and numbers before anything is remembered.
                Setting.output(LABEL_IMAGE),
                Setting.output(OVERLAY).first(true),
                Setting.output(ROI_MANAGER),
                Setting.output(RESULTS_TABLE).first(true),
                // The table "Links" has a row for each step of a track.
                Setting.output(LINKS).usedWith(STACK, TRACK, TRACK_FRAMES),
                // The outlines are saved to this ZIP file.
                roiFile());
        declareOthers();
    }

    @Override
    String startOfRois() {
        return MANAGER;
    }

    /** Returns true if targets compete, so that a pixel belongs to one at most. */
    boolean isCompeting() {
        return is(OVERLAP, EXCLUDED);
    }

    boolean isTrack() {
        return is(STACK, TRACK) || is(STACK, TRACK_FRAMES);
    }

    private static boolean isWindow(Settings s) {
        return s.is(BACKGROUND, "window") || s.is(BACKGROUND, AUTO) && !s.is(START, RECTANGLE);
    }

    /** Returns the radius of discs around points, in the image's unit; 0 for an automatic one. */
    double radius() {
        return isAutomatic(RADIUS) ? 0 : number(RADIUS);
    }

    /** Returns true if targets are compared with a window around their start. */
    boolean isWindow() {
        return isWindow(this);
    }

    @Override
    HyperStackSelection planes(ImagePlus image) {
        if (is(STACK, TRACK_FRAMES)) {
            return new HyperStackSelection(image, is(ALL_CHANNELS), true, true);
        }
        if (isTrack() && image.getNSlices() == 1) {
            // In a film the track goes through its frames.
            return planes(image, true);
        }
        return super.planes(image);
    }

    @Override
    void check(ImagePlus image) throws BadInput {
        super.check(image);
        if (isTrack()) {
            SnakeStart.trackAxis(image, this);
        }
    }

    /** Returns one line that says when to use the chosen noise model. */
    String noiseHint() {
        for (Parameter.Choice choice : parameter(NOISE).choices()) {
            if (is(NOISE, choice.name())) {
                return choice.name() + ": " + choice.help();
            }
        }
        throw new IllegalStateException(text(NOISE));
    }

    /** Returns the problem with the parameters that a preview shows; null if there is none. */
    String startProblem() {
        String problem = problemOf(RADIUS, LOOKS, MARGIN);
        return problem == null && is(START, LABELS) && text(START_IMAGE).isEmpty()
                ? "start_image must be the title of an open image: it is where start=labels starts."
                : problem;
    }

    @Override
    String otherProblem() {
        String problem = startProblem();
        problem = problem == null ? rangeProblem() : problem;
        return problem == null ? outputProblem() : problem;
    }

    /**
     * Returns the length to which the nodes of starts are thinned out: the search itself adds nodes. It is the node
     * spacing; the largest automatic one suits all starts, since thinning depends on their size, too.
     */
    double startSpacing() {
        return isAutomatic(NODE_SPACING) ? LARGEST_AUTOMATIC_SPACING : number(NODE_SPACING);
    }

    /** Returns the library's parameters, with the background of the start. */
    @Override
    Params toParams() throws IsolineException {
        return super.toParams().set(BACKGROUND, isWindow() ? "window" : "image");
    }
}
