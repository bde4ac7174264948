package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Findings;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.Polylines;

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
    String meaning() {
        return "Looks at " + taken("the whole image") + "; a selection is ignored.";
    }

    /** Shows on the current slice the curves that the isolines command gives with the parameters of the dialog. */
    private static final class Preview extends LivePreview<IsolinesSettings> {
        Preview(ImagePlus image, Listener listener) {
            super(image, listener);
        }

        @Override
        String compute(IsolinesSettings settings, boolean draw) throws IsolineException {
            if (!draw) {
                hide();
                return "";
            }
            Params params = settings.toParams();
            double[] levels = settings.levels(image);
            GreyRange range = new GreyRange();
            if (levels.length == 0) {
                if (!eachSlice(
                        settings.planes(image)
                                .inChannel(image.getCurrentSlice())
                                .indices(),
                        GreyRange::of,
                        range::add)) {
                    return null;
                }
                range.setIn(params);
            }
            Findings<Polylines> result = showIsolines(settings.device(), params, levels);
            return found(RunLog.count(result.found().count(), "curve"), result.report());
        }
    }
}
