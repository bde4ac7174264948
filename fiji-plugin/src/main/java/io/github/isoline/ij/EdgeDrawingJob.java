package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Roi;
import ij.plugin.frame.RoiManager;
import io.github.isoline.Context;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.Collections;
import java.util.List;

/** Computes the edge map and the segments of an ImagePlus. */
final class EdgeDrawingJob extends StackJob {
    private static final double WHITE = 255;

    private final EdgeDrawingSettings settings;
    private final SegmentList segments = new SegmentList();

    private Params params;
    private RoiManager manager;
    private byte[][] edges;
    private List<Roi> rois = Collections.emptyList();

    EdgeDrawingJob(ImagePlus image, EdgeDrawingSettings settings) {
        this(image, settings, DEFAULT_CALL_BYTES);
    }

    /** Creates a job with its own memory limit, so that tests need no large images. */
    EdgeDrawingJob(ImagePlus image, EdgeDrawingSettings settings, long callBytes) {
        super(settings.planes(image), settings.device(), callBytes);
        this.settings = settings;
    }

    /** Refuses an image that cannot be processed, and says what to do. */
    static void check(ImagePlus image, EdgeDrawingSettings settings) throws BadInput {
        checkOneChannel(image, "Edge drawing");
        if (settings.hasRange() && image.getBitDepth() != Float.SIZE) {
            throw new BadInput(EdgeDrawingSettings.RANGE_MIN
                    + " and "
                    + EdgeDrawingSettings.RANGE_MAX
                    + " are for 32-bit images; \""
                    + image.getTitle()
                    + "\" has "
                    + image.getBitDepth()
                    + " bits and is used as it is. Leave them out.");
        }
    }

    @Override
    void begin() throws BadInput, IsolineException {
        check(image, settings);
        // The ROI Manager is fetched before the work: there may be none.
        manager = settings.is(EdgeDrawingSettings.ROI_MANAGER) ? RoiOutput.manager() : null;
        params = settings.toParams();
        if (needsRange(image, settings)) {
            GreyRange range = new GreyRange();
            for (int index : planes.indices()) {
                if (IJ.escapePressed()) {
                    throw IsolineException.cancelled();
                }
                range.add(GreyRange.of(pixels(index)));
            }
            resolve(params, type(), range);
        }
        if (settings.is(EdgeDrawingSettings.EDGE_MAP)) {
            // The whole result is allocated now: running out of memory is better found before the
            // work.
            edges = new byte[planes.size()][image.getWidth() * image.getHeight()];
        }
    }

    /** Returns true if a parameter depends on the smallest and largest value of all slices. */
    static boolean needsRange(ImagePlus image, EdgeDrawingSettings settings) {
        switch (type(image)) {
            case U8:
                return false;
            case U16:
                return settings.isAutomatic(EdgeDrawingSettings.GRADIENT_THRESHOLD);
            default:
                return !settings.hasRange();
        }
    }

    /**
     * Sets the parameters that the library would compute from the pixels of each call: they must not depend on how the
     * stack was divided into calls.
     */
    static void resolve(Params params, PixelBuffer.Type type, GreyRange range) throws IsolineException {
        boolean automaticRange = params.isAutomatic(EdgeDrawingSettings.RANGE_MIN);
        if (params.isAutomatic(EdgeDrawingSettings.GRADIENT_THRESHOLD)) {
            params.set(
                    EdgeDrawingSettings.GRADIENT_THRESHOLD,
                    automaticRange
                            ? EdgeDrawing.automaticThreshold(type, 0, range.extent())
                            : EdgeDrawing.automaticThreshold(
                                    type,
                                    params.get(EdgeDrawingSettings.RANGE_MIN),
                                    params.get(EdgeDrawingSettings.RANGE_MAX)));
        }
        if (type == PixelBuffer.Type.F32 && automaticRange && range.hasExtent()) {
            params.set(EdgeDrawingSettings.RANGE_MIN, range.min);
            params.set(EdgeDrawingSettings.RANGE_MAX, range.max);
        }
    }

    @Override
    boolean isVolume() {
        return false;
    }

    @Override
    PixelBuffer.Type outputType() {
        return settings.is(EdgeDrawingSettings.EDGE_MAP) ? PixelBuffer.Type.U8 : null;
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        EdgeDrawing.Result result =
                EdgeDrawing.run(context, params, input, output, settings.wantsSegments(), part.length, progress);
        if (settings.wantsSegments()) {
            segments.add(result.segments(), part);
        }
        return result.report();
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        output.read(slot, edges[place]);
    }

    @Override
    ImagePlus end(Progress progress) throws BadInput, IsolineException {
        if (settings.is(EdgeDrawingSettings.ROI_MANAGER) || settings.is(EdgeDrawingSettings.OVERLAY)) {
            rois = new SegmentRois(image, settings)
                    .longest(segments, (int) settings.number(EdgeDrawingSettings.MOST_ROIS));
        }
        if (!settings.is(EdgeDrawingSettings.EDGE_MAP)) {
            return null;
        }
        String title = "Edges of " + image.getTitle();
        ImagePlus made = ResultImage.like(planes, edges, title, "Edge", WHITE);
        dropOldSegments(made);
        made.setProperty("Info", info("Isoline edge drawing: " + settings));
        return made;
    }

    /** Removes the segments of an earlier run from the copied overlay: they are not the user's own. */
    private static void dropOldSegments(ImagePlus made) {
        if (made.getOverlay() != null) {
            RoiOutput.addToOverlay(made, Collections.emptyList(), SegmentRois.EDGE_DRAWING);
        }
    }

    @Override
    void deliver() throws BadInput, IsolineException {
        if (!settings.text(EdgeDrawingSettings.ROI_FILE).isEmpty()) {
            // The file is written first, since it is the output that can fail.
            SegmentRois all = new SegmentRois(image, settings);
            RoiOutput.save(taker -> all.all(segments, taker), "segments", settings.text(EdgeDrawingSettings.ROI_FILE));
        }
        if (settings.is(EdgeDrawingSettings.OVERLAY)) {
            RoiOutput.addToOverlay(image, rois, SegmentRois.EDGE_DRAWING);
        }
        if (settings.is(EdgeDrawingSettings.ROI_MANAGER)) {
            RoiOutput.addTo(manager, image, rois);
        }
        if (settings.is(EdgeDrawingSettings.RESULTS_TABLE)) {
            SegmentTable.append(image, segments);
        }
    }

    @Override
    String warning() {
        boolean limited = settings.is(EdgeDrawingSettings.ROI_MANAGER) || settings.is(EdgeDrawingSettings.OVERLAY);
        if (!limited || segments.count() <= settings.number(EdgeDrawingSettings.MOST_ROIS)) {
            return null;
        }
        return "of "
                + segments.count()
                + " segments only the longest "
                + rois.size()
                + " went to the ROI Manager or the overlay, which become slow with more. Raise"
                + " most_rois to get more, or min_length or gradient_threshold for fewer segments;"
                + " results_table and roi_file have all of them.";
    }

    @Override
    String outcome() {
        return settings.wantsSegments() ? segments.count() + " segments" : "";
    }
}
