package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import java.util.List;
import java.util.Locale;

/** The dialog of the isolines command, with a live preview. It does not block. */
final class IsolinesDialog extends OperationDialog<IsolinesSettings> {
    IsolinesDialog(ImagePlus image, IsolinesSettings defaults) throws IsolineException {
        super(image, Isoline.ISOLINES.command, "Lorensen, Cline", defaults);
    }

    @Override
    LivePreview<IsolinesSettings> newPreview() {
        return new Preview(image, this);
    }

    @Override
    String previewProblem() {
        return settings.computationProblem();
    }

    @Override
    void hint(List<String> lines) {
        if (image.getType() == ImagePlus.COLOR_256) {
            lines.add("This image has a colour table: its isolines are those of the colours' numbers.");
        }
        lines.add(drawPreview ? previewLine() : "Preview: off");
    }

    @Override
    String meaning() {
        HyperStackSelection planes = settings.planes(image);
        String where = planes.describe();
        return "Looks at " + (where.isEmpty() ? "the whole image" : where) + "; a selection is ignored.";
    }

    /** Shows on the current slice the curves that the isolines command gives with the parameters of the dialog. */
    private static final class Preview extends LivePreview<IsolinesSettings> {
        private PixelBuffer pixels;

        Preview(ImagePlus image, Listener listener) {
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
                    settings.device(),
                    (context, progress) -> Isolines.run(context, params, levels, pixels, 1, progress));
            PreviewPaths curves = PreviewPaths.of(result.polylines(), image, slice);
            show(() -> new Roi[] {curves});
            return String.format(
                    Locale.ROOT,
                    "%s%s, %.1f ms on %s",
                    RunLog.count(result.polylines().count(), "curve"),
                    image.getStackSize() > 1 ? " in this slice" : "",
                    result.report().seconds() * 1000,
                    result.report().device());
        }
    }
}
