package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.Ellipses;
import io.github.isoline.InSlices;
import io.github.isoline.IsolineException;
import io.github.isoline.Lines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Segments;
import java.awt.EventQueue;
import java.awt.geom.AffineTransform;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Path2D;
import java.awt.image.BufferedImage;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * Shows on the current slice the segments, lines or ellipses that edge drawing gives with the parameters of the dialog.
 */
final class EdgeDrawingPreview extends LivePreview<EdgeDrawingSettings> {
    /** Receives the computed values on the event thread. */
    interface Listener extends LivePreview.Listener {
        /** Receives the gradient threshold that is used, in pixel values. */
        void threshold(double threshold);
    }

    private final Listener listener;
    private final PreviewRoi roi;

    // Only the worker uses this field.
    private PixelBuffer edges;

    EdgeDrawingPreview(ImagePlus image, Listener listener) {
        super(image, listener);
        this.listener = listener;
        roi = new PreviewRoi(image);
    }

    @Override
    String compute(EdgeDrawingSettings settings, boolean draw) throws IsolineException {
        int slice = image.getCurrentSlice();
        Params params = settings.toParams();
        GreyRange range = new GreyRange();
        int[] needed = EdgeDrawingJob.needsRange(image, settings)
                ? settings.planes(image).indices()
                : new int[0];
        if (!eachSlice(needed, GreyRange::of, range::add)) {
            return null;
        }
        if (needed.length > 0) {
            range.setIn(params);
        }
        EdgeDrawingJob.setThreshold(params, settings.planes(image));
        double threshold = params.get(EdgeDrawingSettings.GRADIENT_THRESHOLD);
        EventQueue.invokeLater(() -> listener.threshold(threshold));
        if (!draw) {
            hide();
            return "";
        }
        int width = image.getWidth();
        int height = image.getHeight();
        if (edges == null) {
            edges = buffer(settings.device(), PixelBuffer.Type.U8);
        }
        PixelBuffer pixels = pixels(settings.device(), slice);
        PixelBuffer map = settings.is(EdgeDrawingSettings.EDGE_MAP) ? edges : null;
        EdgeDrawing.Result result = run(
                settings.device(),
                (context, progress) -> EdgeDrawing.run(context, params, pixels, map, settings.find(), 1, progress));
        InSlices found = result.found();
        Segments segments = found instanceof Segments ? (Segments) found : Segments.none();
        int[] rest = map != null ? rest(segments, width, height) : new int[0];
        BufferedImage picture =
                PreviewRoi.isDense(segments, rest) ? PreviewRoi.picture(segments, rest, width, height) : null;
        PreviewPaths paths = paths(found, slice);
        show(() -> {
            roi.set(segments, rest, picture, slice);
            return paths == null ? new Roi[] {roi} : new Roi[] {roi, paths};
        });
        String noun = settings.find().name().toLowerCase(Locale.ROOT).replaceFirst("s$", "");
        return found(RunLog.count(found.count(), noun), result.report());
    }

    /** Returns the lines or ellipses; null if there are segments. */
    private PreviewPaths paths(InSlices found, int slice) {
        if (found instanceof Segments) {
            return null;
        }
        PreviewPaths paths = new PreviewPaths(image, slice);
        Lines lines = found instanceof Lines ? (Lines) found : null;
        for (int i = 0; lines != null && i < lines.count(); i++) {
            Path2D.Float path = paths.of(SegmentColours.of(i));
            path.moveTo(lines.x(i, 0), lines.y(i, 0));
            path.lineTo(lines.x(i, 1), lines.y(i, 1));
        }
        Ellipses ellipses = found instanceof Ellipses ? (Ellipses) found : null;
        for (int i = 0; ellipses != null && i < ellipses.count(); i++) {
            double major = ellipses.semiMajor(i);
            double minor = ellipses.semiMinor(i);
            AffineTransform place = AffineTransform.getTranslateInstance(ellipses.x(i), ellipses.y(i));
            place.rotate(ellipses.angle(i));
            Ellipse2D.Double flat = new Ellipse2D.Double(-major, -minor, 2 * major, 2 * minor);
            paths.of(SegmentColours.of(i)).append(flat.getPathIterator(place), false);
        }
        return paths;
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
}
