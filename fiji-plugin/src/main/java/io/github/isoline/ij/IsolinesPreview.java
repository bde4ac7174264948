package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polylines;
import java.awt.geom.Path2D;
import java.util.Locale;

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
        PreviewPaths curves = paths(result.polylines(), image, slice);
        show(() -> new Roi[] {curves});
        return String.format(
                Locale.ROOT,
                "%s%s, %.1f ms on %s",
                RunLog.count(result.polylines().count(), "curve"),
                image.getStackSize() > 1 ? " in this slice" : "",
                result.report().seconds() * 1000,
                result.report().device());
    }

    /** Returns the curves of a slice as one element for its overlay. */
    static PreviewPaths paths(Polylines curves, ImagePlus image, int slice) {
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
}
