package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Context;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Segments;
import java.awt.EventQueue;
import java.awt.image.BufferedImage;
import java.util.Locale;
import java.util.stream.IntStream;

/** Shows on the current slice the segments that edge drawing gives with the parameters of the dialog. */
final class EdgeDrawingPreview extends LivePreview<EdgeDrawingSettings> {
    /** Receives the computed values on the event thread. */
    interface Listener extends LivePreview.Listener {
        /**
         * Receives the gradient threshold.
         *
         * @param threshold the gradient threshold that is used, in pixel values
         */
        void threshold(double threshold);
    }

    private final Listener listener;
    private final PreviewRoi roi;

    /**
     * Holds the range of each slice, null where it is unknown; only the worker writes ranges, but others may remove
     * them.
     */
    private final GreyRange[] ranges;

    // Only the worker uses these fields.
    private Context context;
    private PixelBuffer pixels;
    private PixelBuffer edges;

    EdgeDrawingPreview(ImagePlus image, Listener listener) {
        super(image, listener);
        this.listener = listener;
        roi = new PreviewRoi(image);
        ranges = new GreyRange[image.getStackSize()];
    }

    @Override
    void release() {
        for (PixelBuffer buffer : new PixelBuffer[] {pixels, edges}) {
            if (buffer != null) {
                buffer.close();
            }
        }
        try {
            if (context != null) {
                // The device memory is freed now for other programs.
                context.trim();
            }
        } catch (IsolineException e) {
            IJ.log(Host.name(EdgeDrawingPlugin.COMMAND, image) + ": " + e.getMessage());
        }
    }

    @Override
    String compute(EdgeDrawingSettings settings, boolean draw) throws BadInput, IsolineException {
        int slice = image.getCurrentSlice();
        Params params = settings.toParams();
        PixelBuffer.Type type = StackJob.type(image);
        if (EdgeDrawingJob.needsRange(image, settings)) {
            GreyRange range = range(settings.planes(image).indices());
            if (range == null) {
                return null;
            }
            EdgeDrawingJob.resolve(params, type, range);
        } else {
            EdgeDrawingJob.resolve(params, type, new GreyRange());
        }
        double threshold = params.get(EdgeDrawingSettings.GRADIENT_THRESHOLD);
        EventQueue.invokeLater(() -> listener.threshold(threshold));
        if (!draw) {
            hide();
            return "";
        }
        int width = image.getWidth();
        int height = image.getHeight();
        if (pixels == null) {
            pixels = new PixelBuffer(type, width, height, 1);
            edges = new PixelBuffer(PixelBuffer.Type.U8, width, height, 1);
        }
        pixels.write(0, StackJob.pixels(image, slice));
        EdgeDrawing.Result result = draw(params, settings);
        Segments segments = result.segments();
        int[] rest = settings.is(EdgeDrawingSettings.EDGE_MAP) ? rest(segments, width, height) : new int[0];
        BufferedImage picture =
                PreviewRoi.isDense(segments, rest) ? PreviewRoi.picture(segments, rest, width, height) : null;
        show(() -> {
            roi.set(segments, rest, picture, slice);
            return new Roi[] {roi};
        });
        return String.format(
                Locale.ROOT,
                "%d segments%s, %.1f ms on %s",
                segments.count(),
                image.getStackSize() > 1 ? " in this slice" : "",
                result.report().seconds() * 1000,
                result.report().device());
    }

    private EdgeDrawing.Result draw(Params params, EdgeDrawingSettings settings) throws IsolineException {
        try {
            context = Contexts.of(settings.device());
            return EdgeDrawing.run(
                    context,
                    params,
                    pixels,
                    settings.is(EdgeDrawingSettings.EDGE_MAP) ? edges : null,
                    true,
                    1,
                    (fraction, stage) -> !isOutdated());
        } catch (IsolineException e) {
            if (e.isDeviceFailure()) {
                Contexts.discard(settings.device());
                context = null;
            }
            throw e;
        }
    }

    /** Returns the pixels of the edge map that are in no segment. */
    private int[] rest(Segments segments, int width, int height) {
        byte[] map = new byte[width * height];
        edges.read(0, map);
        for (int i = 0; i < segments.count(); i++) {
            for (int p = 0; p < segments.pointCount(i); p++) {
                map[segments.y(i, p) * width + segments.x(i, p)] = 0;
            }
        }
        return IntStream.range(0, map.length).filter(pixel -> map[pixel] != 0).toArray();
    }

    /** Returns the smallest and largest value of some slices; null if a newer request has come. */
    private GreyRange range(int[] indices) throws BadInput {
        GreyRange range = new GreyRange();
        for (int i : indices) {
            GreyRange one;
            synchronized (this) {
                one = ranges[i - 1];
            }
            if (one == null) {
                if (isOutdated()) {
                    return null;
                }
                one = GreyRange.of(StackJob.pixels(image, i));
                synchronized (this) {
                    ranges[i - 1] = one;
                }
            }
            range.add(one);
        }
        return range;
    }

    @Override
    synchronized void slicesChanged(int slice) {
        if (slice <= ranges.length) {
            ranges[slice - 1] = null;
        }
    }
}
