package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import java.util.List;

/** The dialog of the isolines command, with a live preview. It does not block. */
final class IsolinesDialog extends OperationDialog<IsolinesSettings> {
    IsolinesDialog(ImagePlus image, IsolinesSettings defaults) throws IsolineException {
        super(image, IsolinesPlugin.COMMAND, "Lorensen, Cline", defaults);
    }

    @Override
    LivePreview<IsolinesSettings> newPreview() {
        return new IsolinesPreview(image, this);
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
}
