package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.Ellipses;
import io.github.isoline.Findings;
import io.github.isoline.InSlices;
import io.github.isoline.IsolineException;
import io.github.isoline.Lines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Segments;
import java.awt.EventQueue;
import java.awt.geom.AffineTransform;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Line2D;
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

    EdgeDrawingPreview(ImagePlus image, Listener listener) {
        super(image, listener);
        this.listener = listener;
    }

    @Override
    String compute(EdgeDrawingSettings settings, boolean draw) throws IsolineException {
        int slice = image.getCurrentSlice();
        Params params = settings.toParams(image);
        AutomaticRange range = new AutomaticRange();
        HyperStackSelection channel = settings.planes(image).inChannel(slice);
        int[] needed = EdgeDrawingJob.needsRange(image, settings) ? channel.indices() : new int[0];
        if (!eachSlice(needed, plane -> AutomaticRange.of(plane, image.getWidth()), range::add)) {
            return null;
        }
        if (needed.length > 0) {
            range.range().setIn(params);
        }
        EdgeDrawingJob.setThreshold(params, channel, valid);
        double threshold = ShownValues.of(image).difference(params.get(EdgeDrawingSettings.GRADIENT_THRESHOLD));
        EventQueue.invokeLater(() -> listener.threshold(threshold));
        if (!draw) {
            hide();
            return "";
        }
        int width = image.getWidth();
        int height = image.getHeight();
        PixelBuffer edges = buffer("edges", settings.device(), PixelBuffer.Type.U8);
        PixelBuffer pixels = pixels(settings.device(), slice);
        PixelBuffer map = settings.is(EdgeDrawingSettings.EDGE_MAP) ? edges : null;
        Findings<InSlices> result = run(
                settings.device(),
                (context, progress) -> EdgeDrawing.run(context, params, pixels, map, settings.find(), 1, progress));
        InSlices found = result.found();
        Segments segments = found instanceof Segments ? (Segments) found : Segments.none();
        int[] rest = map != null ? rest(segments, edges, width, height) : new int[0];
        boolean dense = segments.pointCount() + (long) rest.length > PreviewPaths.MOST_POINTS;
        PreviewPaths paths = new PreviewPaths(image, slice, dense ? picture(segments, rest, width, height) : null);
        paths.add(rest);
        // The picture has dense segments, but neither lines nor ellipses.
        boolean drawn = dense && found instanceof Segments;
        for (int i = 0; i < found.count() && !drawn; i++) {
            add(paths.of(SegmentColours.of(i)), found, i);
        }
        show(() -> new Roi[] {paths});
        String noun = settings.find().name().toLowerCase(Locale.ROOT).replaceFirst("s$", "");
        return found(RunLog.count(found.count(), noun), result.report());
    }

    /** Adds a segment, line or ellipse to a path. */
    private static void add(Path2D path, InSlices found, int at) {
        if (found instanceof Lines) {
            Lines lines = (Lines) found;
            path.append(new Line2D.Double(lines.x(at, 0), lines.y(at, 0), lines.x(at, 1), lines.y(at, 1)), false);
        } else if (found instanceof Ellipses) {
            Ellipses ellipses = (Ellipses) found;
            double major = ellipses.semiMajor(at);
            double minor = ellipses.semiMinor(at);
            AffineTransform place = AffineTransform.getTranslateInstance(ellipses.x(at), ellipses.y(at));
            place.rotate(ellipses.angle(at));
            Ellipse2D.Double flat = new Ellipse2D.Double(-major, -minor, 2 * major, 2 * minor);
            path.append(flat.getPathIterator(place), false);
        } else {
            Segments segments = (Segments) found;
            path.moveTo(segments.x(at, 0), segments.y(at, 0));
            // A segment of one point is a line from it to itself.
            for (int p = 0; p < segments.pointCount(at); p++) {
                path.lineTo(segments.x(at, p), segments.y(at, p));
            }
            if (segments.isClosed(at)) {
                path.closePath();
            }
        }
    }

    /** Returns segments and pixels (y * width + x) as an image, transparent elsewhere. */
    private static BufferedImage picture(Segments segments, int[] rest, int width, int height) {
        byte[] pixels = new byte[width * height];
        for (int pixel : rest) {
            pixels[pixel] = 1;
        }
        for (int i = 0; i < segments.count(); i++) {
            byte colour = (byte) (2 + i % SegmentColours.count());
            for (int p = 0; p < segments.pointCount(i); p++) {
                pixels[segments.y(i, p) * width + segments.x(i, p)] = colour;
            }
        }
        int[] colours = new int[2 + SegmentColours.count()];
        colours[1] = PreviewPaths.PIXELS.getRGB();
        for (int i = 0; i < SegmentColours.count(); i++) {
            colours[2 + i] = SegmentColours.of(i).getRGB();
        }
        return Shading.picture(pixels, width, colours);
    }

    /** Returns the pixels of the edge map that are in no segment. */
    private static int[] rest(Segments segments, PixelBuffer edges, int width, int height) {
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
