package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Segments;
import java.awt.Color;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Rectangle;

/**
 * All segments of one slice as a single element of an overlay. As selections of their own they
 * would take longer to make and to draw than to compute.
 */
final class PreviewRoi extends Roi {
    private static final long serialVersionUID = 1L;

    /** Of chains that are on the edge map, but too short to be a segment. */
    private static final Color SHORT = new Color(0xb0b0b0);

    private final transient ImagePlus shown;
    private transient Segments segments;
    private int slice;
    private int minLength;
    private boolean showShort;

    PreviewRoi(ImagePlus shown) {
        super(0, 0, shown.getWidth(), shown.getHeight());
        this.shown = shown;
        setName("Isoline preview");
        // No label, and not saved with the image.
        setIsCursor(true);
    }

    /**
     * On the event thread.
     *
     * @param segments null for none
     * @param slice the stack index they belong to
     * @param minLength segments of fewer points are drawn grey
     * @param showShort or not at all
     */
    void set(Segments segments, int slice, int minLength, boolean showShort) {
        this.segments = segments;
        this.slice = slice;
        this.minLength = minLength;
        this.showShort = showShort;
    }

    @Override
    public void draw(Graphics g) {
        // Slices may be turned over faster than they are computed.
        if (segments == null || ic == null || shown.getCurrentSlice() != slice) {
            return;
        }
        ((Graphics2D) g).setStroke(onePixelWide);
        Rectangle view = ic.getSrcRect();
        double zoom = ic.getMagnification();
        int[] x = new int[16];
        int[] y = new int[16];
        for (int i = 0; i < segments.count(); i++) {
            int points = segments.pointCount(i);
            boolean tooShort = points < minLength;
            if (tooShort && !showShort || isOutside(i, points, view)) {
                continue;
            }
            boolean closed = segments.isClosed(i);
            int count = points + (closed ? 1 : 0);
            if (count > x.length) {
                x = new int[2 * count];
                y = new int[2 * count];
            }
            for (int p = 0; p < count; p++) {
                // The middle of the pixel, and the first point again at the end of a loop.
                int point = p == points ? 0 : p;
                x[p] = (int) Math.floor((segments.x(i, point) - view.x + 0.5) * zoom);
                y[p] = (int) Math.floor((segments.y(i, point) - view.y + 0.5) * zoom);
            }
            g.setColor(tooShort ? SHORT : SegmentColours.of(i));
            if (count == 1) {
                g.drawLine(x[0], y[0], x[0], y[0]);
            } else {
                g.drawPolyline(x, y, count);
            }
        }
    }

    /** True if a chain that begins so far away cannot come into view. */
    private boolean isOutside(int segment, int points, Rectangle view) {
        int x = segments.x(segment, 0);
        int y = segments.y(segment, 0);
        // Chains of the reference profile may step over a pixel.
        int reach = 2 * points;
        return x + reach < view.x
                || x - reach > view.x + view.width
                || y + reach < view.y
                || y - reach > view.y + view.height;
    }
}
