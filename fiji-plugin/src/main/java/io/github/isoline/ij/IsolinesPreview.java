package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polylines;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.geom.Path2D;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** Shows on the current slice the curves that the isolines command gives with the parameters of the dialog. */
final class IsolinesPreview extends LivePreview<IsolinesSettings> {
    private PixelBuffer pixels;

    IsolinesPreview(ImagePlus image, Listener listener) {
        super(image, listener);
    }

    @Override
    String compute(IsolinesSettings settings, boolean draw) throws BadInput, IsolineException {
        if (!draw) {
            hide();
            return "";
        }
        int slice = image.getCurrentSlice();
        Params params = settings.toParams();
        double[] levels = settings.levels();
        GreyRange range = new GreyRange();
        if (levels.length == 0) {
            if (!eachSlice(settings.planes(image).indices(), GreyRange::of, range::add)) {
                return null;
            }
            IsolinesJob.setRange(params, range);
        }
        if (pixels == null) {
            pixels = buffer(settings.device(), Pixels.type(image));
        }
        pixels.write(0, Pixels.of(image, slice));
        Isolines.Result result = run(
                settings.device(), (context, progress) -> Isolines.run(context, params, levels, pixels, 1, progress));
        Curves curves = new Curves(image, result.polylines(), slice);
        show(() -> new Roi[] {curves});
        return String.format(
                Locale.ROOT,
                "%s%s, %.1f ms on %s",
                RunLog.count(result.polylines().count(), "curve"),
                image.getStackSize() > 1 ? " in this slice" : "",
                result.report().seconds() * 1000,
                result.report().device());
    }

    /** All curves of a slice as one element of an overlay, which is made and drawn faster than many. */
    private static final class Curves extends Roi {
        private static final long serialVersionUID = 1L;

        private final transient ImagePlus shown;
        private final int slice;
        private final transient Map<Color, Path2D.Float> paths = new LinkedHashMap<>();

        Curves(ImagePlus shown, Polylines curves, int slice) {
            super(0, 0, shown.getWidth(), shown.getHeight());
            this.shown = shown;
            this.slice = slice;
            setName("Isoline preview");
            // A cursor element has no label and is not saved with the image.
            setIsCursor(true);
            LevelColours colours = new LevelColours();
            colours.add(curves);
            for (int i = 0; i < curves.count(); i++) {
                Path2D.Float path = paths.computeIfAbsent(colours.of(curves.level(i)), colour -> new Path2D.Float());
                path.moveTo(curves.x(i, 0) + 0.5, curves.y(i, 0) + 0.5);
                for (int p = 1; p < curves.pointCount(i); p++) {
                    path.lineTo(curves.x(i, p) + 0.5, curves.y(i, p) + 0.5);
                }
                if (curves.isClosed(i)) {
                    path.closePath();
                }
            }
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
            scaled.translate(-view.x, -view.y);
            scaled.setStroke(new BasicStroke((float) (1 / zoom)));
            paths.forEach((colour, path) -> {
                scaled.setColor(colour);
                scaled.draw(path);
            });
            scaled.dispose();
        }
    }
}
