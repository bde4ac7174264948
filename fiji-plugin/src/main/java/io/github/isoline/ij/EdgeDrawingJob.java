package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Context;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.Findings;
import io.github.isoline.InSlices;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.List;

/** Computes the edge map and the segments of an ImagePlus. */
final class EdgeDrawingJob extends FoundJob<EdgeDrawingSettings> {
    private static final double WHITE = 255;

    /** The most planes in which the automatic threshold is measured: the library looks at no more. */
    private static final int MOST_MEASURED = 16;

    /** Is null where no output has what is found. */
    private final Found<InSlices> found;

    /** The parameters of each channel. */
    private List<Params> params;

    private byte[][] edges;

    EdgeDrawingJob(ImagePlus image, EdgeDrawingSettings settings) throws BadInput {
        super(image, settings, Isoline.EDGE_DRAWING.command);
        found = settings.wantsFound() ? newFound() : null;
    }

    @SuppressWarnings("unchecked") // a call finds what the settings say
    private Found<InSlices> newFound() {
        EdgeDrawing.Find find = settings.find();
        Found<?> made = find == EdgeDrawing.Find.LINES
                ? new FoundLines(planes, settings)
                : find == EdgeDrawing.Find.ELLIPSES
                        ? new FoundEllipses(planes, settings)
                        : new FoundSegments(planes, settings);
        return (Found<InSlices>) made;
    }

    @Override
    void begin(Progress progress) throws IsolineException {
        params = byChannel(channel -> {
            Params of = settings.toParams(image);
            if (needsRange(image, settings)) {
                automaticRange(channel).setIn(of);
            }
            setThreshold(of, channel, progress);
            return of;
        });
        if (settings.is(EdgeDrawingSettings.EDGE_MAP)) {
            // The whole result is allocated now: running out of memory is better found before the work.
            edges = Parallel.fill(new byte[planes.size()][], () -> new byte[planePixels()]);
        }
    }

    /** Returns true if a parameter depends on the range of the values of all slices. */
    static boolean needsRange(ImagePlus image, EdgeDrawingSettings settings) {
        return Pixels.type(image) == PixelBuffer.Type.F32 && !settings.hasRange();
    }

    /** Sets the threshold where it is automatic: the library measures it in some of the planes. */
    static void setThreshold(Params params, HyperStackSelection planes, Progress progress) throws IsolineException {
        if (!params.isAutomatic(EdgeDrawingSettings.GRADIENT_THRESHOLD)) {
            return;
        }
        ImagePlus image = planes.image;
        int[] indices = planes.indices();
        int depth = Math.min(MOST_MEASURED, indices.length);
        double threshold = Turn.use("cpu", progress, context -> {
            try (PixelBuffer pixels = Pixels.buffer(context, Pixels.type(image), image, depth)) {
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
        EdgeDrawing.Find find = found == null ? null : settings.find();
        Findings<InSlices> result =
                EdgeDrawing.run(context, in(params, part[0]), input, output, find, part.length, progress);
        if (found != null) {
            found.add(result.found(), part);
        }
        return result.report();
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        read(output, slot, edges[place]);
    }

    @Override
    ImagePlus end() throws IsolineException {
        takeRois();
        if (!settings.is(EdgeDrawingSettings.EDGE_MAP)) {
            return null;
        }
        String title = "Edges of " + image.getTitle();
        ImagePlus made = ResultImage.like(planes, edges, title, "Edge", 0, WHITE);
        return finish(made, "");
    }

    @Override
    Found<?> found() {
        return found;
    }

    @Override
    String howToFindFewer() {
        EdgeDrawing.Find find = settings.find();
        String key = find == EdgeDrawing.Find.LINES ? EdgeDrawingSettings.SHORTEST_LINE : "min_length";
        return String.format(
                ", or %s or gradient_threshold for fewer %s",
                find == EdgeDrawing.Find.ELLIPSES ? EdgeDrawingSettings.SMALLEST_RADIUS : key, roiName());
    }
}
