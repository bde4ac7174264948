package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import io.github.isoline.Context;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.io.IOException;
import java.util.Collections;
import java.util.List;

/** Computes the edge map and the segments of an ImagePlus. */
final class EdgeDrawingJob extends StackJob<EdgeDrawingSettings> {
    private static final double WHITE = 255;

    /** The place of a pixel's centre from its corner, from which ImageJ's tables count. */
    private static final double PIXEL_CENTRE = 0.5;

    /** The most planes in which the automatic threshold is measured: the library looks at no more. */
    private static final int MOST_MEASURED = 16;

    private final SegmentList segments = new SegmentList();

    private Params params;
    private byte[][] edges;

    EdgeDrawingJob(ImagePlus image, EdgeDrawingSettings settings) throws BadInput {
        this(image, settings, DEFAULT_CALL_BYTES);
    }

    /** Creates a job with its own memory limit, so that tests need no large images. */
    EdgeDrawingJob(ImagePlus image, EdgeDrawingSettings settings, long callBytes) throws BadInput {
        super(image, settings, callBytes);
    }

    @Override
    void begin() throws BadInput, IsolineException {
        params = settings.toParams();
        if (needsRange(image, settings)) {
            setRange(params, greyRange());
        }
        setThreshold(params, planes);
        if (settings.is(EdgeDrawingSettings.EDGE_MAP)) {
            // The whole result is allocated now: running out of memory is better found before the
            // work.
            edges = Parallel.fill(new byte[planes.size()][], () -> new byte[planePixels()]);
        }
    }

    /** Returns true if a parameter depends on the smallest and largest value of all slices. */
    static boolean needsRange(ImagePlus image, EdgeDrawingSettings settings) {
        return Pixels.type(image) == PixelBuffer.Type.F32 && !settings.hasRange();
    }

    /** Sets the range that the library would take from the pixels of each call: it holds for the whole stack. */
    static void setRange(Params params, GreyRange range) throws IsolineException {
        if (range.hasExtent()) {
            params.set(EdgeDrawingSettings.RANGE_MIN, range.min);
            params.set(EdgeDrawingSettings.RANGE_MAX, range.max);
        }
    }

    /** Sets the threshold where it is automatic: the library measures it in some of the planes. */
    static void setThreshold(Params params, HyperStackSelection planes) throws BadInput, IsolineException {
        if (!params.isAutomatic(EdgeDrawingSettings.GRADIENT_THRESHOLD)) {
            return;
        }
        ImagePlus image = planes.image;
        int[] indices = planes.indices();
        int depth = Math.min(MOST_MEASURED, indices.length);
        double threshold = Contexts.use("cpu", context -> {
            try (PixelBuffer pixels =
                    new PixelBuffer(context, Pixels.type(image), image.getWidth(), image.getHeight(), depth)) {
                for (int slot = 0; slot < depth; slot++) {
                    pixels.write(slot, Pixels.of(image, indices[slot * indices.length / depth]));
                }
                return EdgeDrawing.automaticThreshold(context, params, pixels, depth);
            }
        });
        params.set(EdgeDrawingSettings.GRADIENT_THRESHOLD, threshold);
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
        read(output, slot, edges[place]);
    }

    @Override
    ImagePlus end(Progress progress) throws BadInput, IsolineException {
        if (settings.is(EdgeDrawingSettings.ROI_MANAGER) || settings.is(EdgeDrawingSettings.OVERLAY)) {
            int most = (int) settings.number(EdgeDrawingSettings.MOST_ROIS);
            rois.addAll(new SegmentRois(image, settings).longest(segments, most));
        }
        if (!settings.is(EdgeDrawingSettings.EDGE_MAP)) {
            return null;
        }
        String title = "Edges of " + image.getTitle();
        ImagePlus made = ResultImage.like(planes, edges, title, "Edge", WHITE);
        return finish(made, "");
    }

    @Override
    RowTable rowTable() {
        return RowTable.of(EdgeDrawingPlugin.COMMAND, "Segment", null, image);
    }

    @Override
    void addRows(ResultsTable table) throws IsolineException {
        Calibration calibration = image.getCalibration();
        double width = calibration.pixelWidth;
        double height = calibration.pixelHeight;
        segments.forEach((number, some, at, index) -> {
            startRow(table);
            table.addValue("Segment", number + 1);
            addPosition(table, planes, index, true);
            double[] centroid = some.centroid(at);
            ShapeColumns.addPosition(table, image, centroid[0] + PIXEL_CENTRE, centroid[1] + PIXEL_CENTRE);
            table.addValue("Angle", some.orientation(at, width, height));
            table.addValue("Length", some.length(at, width, height));
            table.addValue("Points", some.pointCount(at));
            table.addValue("Mean gradient", some.meanGradient(at));
            table.addValue("Closed", some.isClosed(at) ? 1 : 0);
            ShapeColumns.addUnit(table, image);
        });
    }

    @Override
    String roiName() {
        return "segments";
    }

    @Override
    void saveRois(RoiOutput.Taker taker) throws IsolineException, IOException {
        new SegmentRois(image, settings).all(segments, taker);
    }

    @Override
    List<String> warnings() {
        if (settings.is(EdgeDrawingSettings.RESULTS_TABLE) && segments.count() == 0) {
            return Collections.singletonList("no segments, so no new rows in the table.");
        }
        boolean limited = settings.is(EdgeDrawingSettings.ROI_MANAGER) || settings.is(EdgeDrawingSettings.OVERLAY);
        if (!limited || segments.count() <= settings.number(EdgeDrawingSettings.MOST_ROIS)) {
            return Collections.emptyList();
        }
        return Collections.singletonList(String.format(
                "of %s segments only the longest %s went to the ROI Manager or the overlay, which become "
                        + "slow with more. Raise most_rois to get more, or min_length or gradient_threshold for fewer "
                        + "segments; results_table and roi_file have all of them.",
                segments.count(), rois.size()));
    }

    @Override
    String outcome() {
        return settings.wantsSegments() ? RunLog.count(segments.count(), "segment") : "";
    }
}
