package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Polylines;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.geom.Path2D;
import java.util.LinkedHashMap;
import java.util.Map;

/** All curves of a slice as one element of an overlay, which is made and drawn faster than many. */
final class PreviewPaths extends Roi {
    private static final long serialVersionUID = 1L;

    /** The place of a pixel's centre from its corner. */
    private static final double CENTRE = 0.5;

    private final transient ImagePlus shown;
    private final int slice;
    private final transient Map<Color, Path2D.Float> paths = new LinkedHashMap<>();

    /** @param slice the stack index that the curves belong to */
    PreviewPaths(ImagePlus shown, int slice) {
        super(0, 0, shown.getWidth(), shown.getHeight());
        this.shown = shown;
        this.slice = slice;
        setName("Isoline preview");
        // A cursor element has no label and is not saved with the image.
        setIsCursor(true);
    }

    /** Returns the curves of a slice as one element for its overlay. */
    static PreviewPaths of(Polylines curves, ImagePlus image, int slice) {
        PreviewPaths paths = new PreviewPaths(image, slice);
        LevelColours colours = new LevelColours();
        colours.add(curves);
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

    /** Returns the path of the curves of a colour: whole numbers are the centres of pixels. */
    Path2D.Float of(Color colour) {
        return paths.computeIfAbsent(colour, key -> new Path2D.Float());
    }

    @Override
    public void draw(Graphics g) {
        // The user may scroll through the slices faster than they are computed.
        if (ic == null || shown.getCurrentSlice() != slice) {
            return;
        }
        Rectangle view = ic.getSrcRect();
        double zoom = ic.getMagnification();
        Graphics2D scaled = (Graphics2D) g.create();
        scaled.scale(zoom, zoom);
        scaled.translate(CENTRE - view.x, CENTRE - view.y);
        scaled.setStroke(new BasicStroke((float) (1 / zoom)));
        paths.forEach((colour, path) -> {
            scaled.setColor(colour);
            scaled.draw(path);
        });
        scaled.dispose();
    }
}
