package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Segments;
import java.awt.Color;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.image.BufferedImage;

/**
 * All segments of one slice as a single element of an overlay. Separate selections would take longer to make and to
 * draw than the segments take to compute.
 */
final class PreviewRoi extends Roi {
    private static final long serialVersionUID = 1L;

    /** The colour of pixels of the edge map that are in no segment. */
    private static final Color REST = new Color(0xb0b0b0);

    private static final int MOST_POINTS = 300_000;

    private final transient ImagePlus shown;
    private transient Segments segments;
    private int slice;
    private transient int[] rest;
    private transient BufferedImage picture;

    PreviewRoi(ImagePlus shown) {
        super(0, 0, shown.getWidth(), shown.getHeight());
        this.shown = shown;
        setName("Isoline preview");
        // A cursor element has no label and is not saved with the image.
        setIsCursor(true);
    }

    /**
     * Sets the segments to draw; runs on the event thread.
     *
     * @param segments null for none
     * @param rest pixels (y * width + x) to be drawn grey below them
     * @param picture all of them as {@link #picture}, which is then drawn instead; or null
     * @param slice the stack index they belong to
     */
    void set(Segments segments, int[] rest, BufferedImage picture, int slice) {
        this.segments = segments;
        this.rest = rest;
        this.picture = picture;
        this.slice = slice;
    }

    /** Returns true if drawing the points one by one would block the windows for too long. */
    static boolean isDense(Segments segments, int[] rest) {
        return segments.pointCount() + (long) rest.length > MOST_POINTS;
    }

    /** Returns the same pixels as an image, transparent elsewhere. */
    static BufferedImage picture(Segments segments, int[] rest, int width, int height) {
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
        colours[1] = REST.getRGB();
        for (int i = 0; i < SegmentColours.count(); i++) {
            colours[2 + i] = SegmentColours.of(i).getRGB();
        }
        return Shading.picture(pixels, width, colours);
    }

    @Override
    public void draw(Graphics g) {
        // The user may scroll through the slices faster than they are computed.
        if (segments == null || ic == null || shown.getCurrentSlice() != slice) {
            return;
        }
        ((Graphics2D) g).setStroke(onePixelWide);
        Rectangle view = ic.getSrcRect();
        double zoom = ic.getMagnification();
        if (picture != null) {
            g.drawImage(
                    picture,
                    0,
                    0,
                    (int) (view.width * zoom),
                    (int) (view.height * zoom),
                    view.x,
                    view.y,
                    view.x + view.width,
                    view.y + view.height,
                    null);
            return;
        }
        drawRest(g, view, zoom);
        int[] x = new int[16];
        int[] y = new int[16];
        for (int i = 0; i < segments.count(); i++) {
            int points = segments.pointCount(i);
            if (isOutside(i, points, view)) {
                continue;
            }
            boolean closed = segments.isClosed(i);
            int count = points + (closed ? 1 : 0);
            if (count > x.length) {
                x = new int[2 * count];
                y = new int[2 * count];
            }
            for (int p = 0; p < count; p++) {
                // A line passes the middle of each pixel, and the first point again at the end of a loop.
                int point = p == points ? 0 : p;
                x[p] = (int) Math.floor((segments.x(i, point) - view.x + 0.5) * zoom);
                y[p] = (int) Math.floor((segments.y(i, point) - view.y + 0.5) * zoom);
            }
            g.setColor(SegmentColours.of(i));
            if (count == 1) {
                g.drawLine(x[0], y[0], x[0], y[0]);
            } else {
                g.drawPolyline(x, y, count);
            }
        }
    }

    private void drawRest(Graphics g, Rectangle view, double zoom) {
        g.setColor(REST);
        int size = (int) Math.max(1, Math.round(zoom));
        int width = shown.getWidth();
        for (int pixel : rest) {
            int x = pixel % width;
            int y = pixel / width;
            if (view.contains(x, y)) {
                g.fillRect((int) ((x - view.x) * zoom), (int) ((y - view.y) * zoom), size, size);
            }
        }
    }

    /** Returns true if a chain begins too far away to reach the view. */
    private boolean isOutside(int segment, int points, Rectangle view) {
        int x = segments.x(segment, 0);
        int y = segments.y(segment, 0);
        // Chains of the reference profile may skip a pixel.
        int reach = 2 * points;
        return x + reach < view.x
                || x - reach > view.x + view.width
                || y + reach < view.y
                || y - reach > view.y + view.height;
    }
}
