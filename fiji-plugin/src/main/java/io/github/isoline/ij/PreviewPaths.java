package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Polylines;
import java.awt.Color;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.geom.AffineTransform;
import java.awt.geom.Path2D;
import java.awt.image.BufferedImage;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;

/** All that was found in a slice as one element of an overlay, which is made and drawn faster than many. */
final class PreviewPaths extends Roi {
    private static final long serialVersionUID = 1L;

    /** The most points that are drawn one by one: more would block the windows for too long. */
    static final int MOST_POINTS = 300_000;

    /** The place of a pixel's centre from its corner. */
    private static final double CENTRE = 0.5;

    /** The colour of single pixels. */
    static final Color PIXELS = new Color(0xb0b0b0);

    private final transient ImagePlus shown;
    private final int slice;
    private final transient Map<Color, Path2D.Float> paths = new LinkedHashMap<>();

    /** Holds single pixels (y * width + x), which are drawn below the curves. */
    private transient int[] pixels = {};

    /** The picture that is drawn instead of the pixels; null for none. */
    private final transient BufferedImage picture;

    /**
     * @param slice the stack index that the curves belong to
     * @param picture is drawn instead of single pixels, where those would block the windows for too long; or null
     */
    PreviewPaths(ImagePlus shown, int slice, BufferedImage picture) {
        super(0, 0, shown.getWidth(), shown.getHeight());
        this.shown = shown;
        this.slice = slice;
        this.picture = picture;
        setName("Isoline preview");
        // A cursor element has no label and is not saved with the image.
        setIsCursor(true);
    }

    /** Returns the curves of a slice as one element for its overlay. */
    static PreviewPaths of(Polylines curves, ImagePlus image, int slice) {
        LevelColours colours = new LevelColours();
        colours.add(curves);
        long points =
                IntStream.range(0, curves.count()).mapToLong(curves::pointCount).sum();
        if (points > MOST_POINTS) {
            return new PreviewPaths(image, slice, picture(curves, colours, image.getWidth(), image.getHeight()));
        }
        PreviewPaths paths = new PreviewPaths(image, slice, null);
        for (int i = 0; i < curves.count(); i++) {
            Path2D.Float path = paths.of(colours.of(curves.level(i)));
            path.moveTo(curves.x(i, 0), curves.y(i, 0));
            for (int p = 1; p < curves.pointCount(i); p++) {
                path.lineTo(curves.x(i, p), curves.y(i, p));
            }
            if (curves.isClosed(i)) {
                path.closePath();
            }
        }
        return paths;
    }

    /** Returns the pixels that curves pass through as an image, transparent elsewhere. */
    private static BufferedImage picture(Polylines curves, LevelColours colours, int width, int height) {
        BufferedImage picture = new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        for (int i = 0; i < curves.count(); i++) {
            int colour = colours.of(curves.level(i)).getRGB();
            for (int p = 0; p < curves.pointCount(i); p++) {
                int x = (int) Math.max(0, Math.min(width - 1, Math.round(curves.x(i, p))));
                int y = (int) Math.max(0, Math.min(height - 1, Math.round(curves.y(i, p))));
                picture.setRGB(x, y, colour);
            }
        }
        return picture;
    }

    /** Returns the path of the curves of a colour: whole numbers are the centres of pixels. */
    Path2D.Float of(Color colour) {
        return paths.computeIfAbsent(colour, key -> new Path2D.Float());
    }

    /** Adds single pixels (y * width + x). */
    void add(int... singles) {
        pixels = singles;
    }

    @Override
    public void draw(Graphics g) {
        // The user may scroll through the slices faster than they are computed.
        if (ic == null || shown.getCurrentSlice() != slice) {
            return;
        }
        Rectangle view = ic.getSrcRect();
        double zoom = ic.getMagnification();
        Graphics2D graphics = (Graphics2D) g;
        AffineTransform place = AffineTransform.getScaleInstance(zoom, zoom);
        place.translate(-view.x, -view.y);
        if (picture != null) {
            graphics.drawImage(picture, place, null);
        } else {
            drawPixels(g, view, zoom);
        }
        place.translate(CENTRE, CENTRE);
        graphics.setStroke(onePixelWide);
        paths.forEach((colour, path) -> {
            graphics.setColor(colour);
            graphics.draw(path.createTransformedShape(place));
        });
    }

    private void drawPixels(Graphics g, Rectangle view, double zoom) {
        g.setColor(PIXELS);
        int size = (int) Math.max(1, Math.round(zoom));
        int width = shown.getWidth();
        for (int pixel : pixels) {
            int x = pixel % width;
            int y = pixel / width;
            if (view.contains(x, y)) {
                g.fillRect((int) ((x - view.x) * zoom), (int) ((y - view.y) * zoom), size, size);
            }
        }
    }
}
