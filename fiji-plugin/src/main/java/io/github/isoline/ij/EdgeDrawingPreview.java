package io.github.isoline.ij;

import ij.IJ;
import ij.ImageListener;
import ij.ImagePlus;
import ij.gui.Overlay;
import ij.gui.Roi;
import io.github.isoline.Context;
import io.github.isoline.EdgeDrawing;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Segments;
import java.awt.EventQueue;
import java.awt.image.BufferedImage;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Locale;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Shows on the current slice what settings would give, while the user still changes them. Computes
 * in a thread of its own, where the newest wish stops the one before; the image's own overlay is
 * untouched behind it and comes back.
 */
final class EdgeDrawingPreview implements ImageListener {
    /** Hears on the event thread what was computed. */
    interface Listener {
        /**
         * @param threshold the gradient threshold that is used, in pixel values
         */
        void threshold(double threshold);

        /**
         * @param text what is seen, or why nothing is
         */
        void status(String text);

        /** The image's window was closed. */
        void imageClosed();
    }

    /** One thing to do for the worker. */
    private static final class Wish {
        final EdgeDrawingSettings settings;
        final boolean draw;

        Wish(EdgeDrawingSettings settings, boolean draw) {
            this.settings = settings;
            this.draw = draw;
        }
    }

    private final ImagePlus image;
    private final Listener listener;
    private final PreviewRoi roi;
    private final Thread worker = new Thread(this::work, "Isoline preview");

    /** Of each slice, null where it is not known; of the worker alone but for being forgotten. */
    private final GreyRange[] ranges;

    // Of the worker alone:
    private Context context;
    private PixelBuffer pixels;
    private PixelBuffer edges;

    // Under the monitor of this:
    private Wish wish;
    private Wish last;
    private boolean closed;

    // Of the event thread alone:
    private Overlay own;
    private boolean ownHidden;
    private Overlay shown;
    private Set<Roi> known;

    EdgeDrawingPreview(ImagePlus image, Listener listener) {
        this.image = image;
        this.listener = listener;
        roi = new PreviewRoi(image);
        ranges = new GreyRange[image.getStackSize()];
        worker.setDaemon(true);
        worker.start();
        ImagePlus.addImageListener(this);
    }

    /**
     * Takes a wish; an older one that is not done yet is dropped.
     *
     * @param settings must not change afterwards
     * @param draw false: only tell the threshold, and take the preview from the image
     */
    synchronized void request(EdgeDrawingSettings settings, boolean draw) {
        wish = new Wish(settings, draw);
        last = wish;
        notifyAll();
    }

    /** Ends the preview and gives the image its overlay back. Not on the event thread. */
    void close() {
        ImagePlus.removeImageListener(this);
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            worker.join();
            EventQueue.invokeAndWait(this::restore);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        }
        for (PixelBuffer buffer : new PixelBuffer[] {pixels, edges}) {
            if (buffer != null) {
                buffer.close();
            }
        }
    }

    private synchronized boolean isOutdated() {
        return closed || wish != null;
    }

    private synchronized Wish next() throws InterruptedException {
        while (wish == null && !closed) {
            wait();
        }
        Wish next = closed ? null : wish;
        wish = null;
        return next;
    }

    private void work() {
        try {
            for (Wish next = next(); next != null; next = next()) {
                String status;
                try {
                    status = compute(next);
                } catch (BadInput e) {
                    status = e.getMessage();
                } catch (IsolineException e) {
                    if (e.isDeviceFailure()) {
                        Contexts.discard(next.settings.device);
                    }
                    status = e.isCancelled() ? null : e.getMessage();
                } catch (OutOfMemoryError e) {
                    status = "not enough memory in Java for the preview";
                } catch (RuntimeException e) {
                    // An image that is closed or changed meanwhile loses its pixels at any time.
                    status = isOutdated() ? null : "failed: " + e;
                }
                if (status != null) {
                    String text = status;
                    EventQueue.invokeLater(() -> listener.status(text));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            giveBack();
        }
    }

    /** The device's memory belongs to other programs from here on. */
    private void giveBack() {
        try {
            if (context != null) {
                context.trim();
            }
        } catch (IsolineException e) {
            IJ.log(EdgeDrawingPlugin.COMMAND + ": " + e.getMessage());
        }
    }

    /** What the dialog is to say; null if a newer wish has come. */
    private String compute(Wish job) throws BadInput, IsolineException {
        EdgeDrawingSettings settings = job.settings;
        int slice = image.getCurrentSlice();
        EdgeDrawing operation = settings.toOperation();
        PixelBuffer.Type type = StackJob.type(image);
        if (EdgeDrawingJob.needsRange(image, settings)) {
            GreyRange range = range(settings.isCurrentOnly() ? slice : 0);
            if (range == null) {
                return null;
            }
            EdgeDrawingJob.resolve(operation, type, range);
        } else {
            EdgeDrawingJob.resolve(operation, type, new GreyRange());
        }
        double threshold = operation.gradientThreshold;
        EventQueue.invokeLater(() -> listener.threshold(threshold));
        if (!job.draw) {
            EventQueue.invokeLater(this::restore);
            return "";
        }
        int width = image.getWidth();
        int height = image.getHeight();
        if (pixels == null) {
            pixels = new PixelBuffer(type, width, height, 1);
            edges = new PixelBuffer(PixelBuffer.Type.U8, width, height, 1);
        }
        pixels.write(0, StackJob.pixels(image, slice));
        context = Contexts.of(settings.device);
        EdgeDrawing.Result result =
                operation.run(
                        context,
                        pixels,
                        settings.edgeMap ? edges : null,
                        true,
                        1,
                        (fraction, stage) -> !isOutdated());
        Segments segments = result.segments();
        int[] rest = settings.edgeMap ? rest(segments, width, height) : new int[0];
        BufferedImage picture =
                PreviewRoi.isDense(segments, rest)
                        ? PreviewRoi.picture(segments, rest, width, height)
                        : null;
        EventQueue.invokeLater(() -> show(segments, rest, picture, slice));
        return String.format(
                Locale.ROOT,
                "%d segments%s, %.1f ms on %s",
                segments.count(),
                image.getStackSize() > 1 ? " in this slice" : "",
                result.report().seconds() * 1000,
                result.report().device());
    }

    /** Pixels of the edge map that are in no segment. */
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

    /**
     * Smallest and largest value of a slice, or of all for 0; null if a newer wish came meanwhile.
     */
    private GreyRange range(int slice) throws BadInput {
        GreyRange range = new GreyRange();
        int first = slice == 0 ? 1 : slice;
        int end = slice == 0 ? ranges.length : slice;
        for (int i = first; i <= end; i++) {
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

    private void show(Segments segments, int[] rest, BufferedImage picture, int slice) {
        synchronized (this) {
            if (closed || last != null && !last.draw) {
                return;
            }
        }
        if (shown == null) {
            own = image.getOverlay();
            ownHidden = image.getHideOverlay();
            // What the user has hidden stays hidden.
            shown = own == null || ownHidden ? new Overlay() : own.duplicate();
            shown.selectable(false);
            known = Collections.newSetFromMap(new IdentityHashMap<>());
            known.addAll(Arrays.asList(shown.toArray()));
            known.add(roi);
            shown.add(roi);
            image.setOverlay(shown);
        }
        roi.set(segments, rest, picture, slice);
        image.draw();
    }

    /** Puts the image's overlay back as it was, with what was added to it meanwhile. */
    private void restore() {
        if (shown == null) {
            return;
        }
        if (image.getOverlay() == shown) {
            for (Roi added : shown.toArray()) {
                if (!known.contains(added)) {
                    own = own == null ? new Overlay() : own;
                    own.add(added);
                }
            }
            image.setOverlay(own);
            image.setHideOverlay(ownHidden);
        } else if (image.getOverlay() != null) {
            // Somebody has given the image another overlay, which is not ours to replace.
            for (Roi element : image.getOverlay().toArray()) {
                if (element instanceof PreviewRoi) {
                    image.getOverlay().remove(element);
                }
            }
        }
        shown = null;
        own = null;
        known = null;
    }

    @Override
    public void imageOpened(ImagePlus opened) {}

    @Override
    public void imageClosed(ImagePlus which) {
        if (which == image) {
            listener.imageClosed();
        }
    }

    /** Another slice is shown, or the pixels have changed. */
    @Override
    public void imageUpdated(ImagePlus which) {
        if (which != image) {
            return;
        }
        synchronized (this) {
            int slice = image.getCurrentSlice();
            if (slice <= ranges.length) {
                ranges[slice - 1] = null;
            }
            if (last != null && wish == null) {
                wish = last;
                notifyAll();
            }
        }
    }
}
