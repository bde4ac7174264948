package io.github.isoline.ij;

import ij.ImagePlus;
import ij.util.Tools;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import java.awt.Choice;
import java.awt.Scrollbar;
import java.awt.TextField;
import java.util.Arrays;
import java.util.List;

/**
 * The dialog of the level set command, with a live preview. It does not block: the user can draw a selection, add
 * points and scroll through the slices while it is open.
 */
final class LevelSetDialog extends OperationDialog<LevelSetSettings> implements LevelSetPreview.Listener {

    /** The largest number of slices that are read for the ends of the sliders. */
    private static final int MOST_SAMPLES = 64;

    /** The smallest number of positions of a slider, whose step is a power of ten. */
    private static final double SLIDER_STEPS = 500;

    // These are the fields of the range, and the values that the dialog itself wrote into them last.
    private Choice rangeChoice;
    private Choice sideChoice;
    private TextField targetField;
    private TextField epsilonField;
    private double sliderStep;
    private double writtenTarget = Double.NaN;
    private double writtenEpsilon = Double.NaN;

    /** The side of the range that was computed last, and whether the dialog has chosen it. */
    private String foundSide = Settings.AUTO;

    private boolean chosenSide;

    LevelSetDialog(ImagePlus image, LevelSetSettings defaults) throws IsolineException {
        super(image, Isoline.LEVEL_SET.command, "Mostofi 2009", defaults);
    }

    @Override
    void fit() {
        if (image.getNSlices() == 1 && settings.isVolume()) {
            resetStack();
        }
    }

    @Override
    double[] slider(String key) throws BadInput {
        boolean isTarget = key.equals(LevelSetSettings.TARGET);
        if (!isTarget && !key.equals(LevelSetSettings.EPSILON)) {
            return null;
        }
        GreyRange extent = extent();
        double step = step(extent.extent());
        sliderStep = step;
        if (isTarget) {
            double middle = extent.min + Math.rint(extent.extent() / 2 / step) * step;
            return new double[] {extent.min, Math.max(extent.max, extent.min + step), middle, step};
        }
        double width = Math.max(step, Math.rint(extent.extent() / 8 / step) * step);
        return new double[] {0, Math.max(2 * step, extent.extent() / 2), width, step};
    }

    @Override
    void built() {
        rangeChoice = (Choice) fields.component(LevelSetSettings.RANGE);
        sideChoice = (Choice) fields.component(LevelSetSettings.SIDE);
        targetField = (TextField) fields.component(LevelSetSettings.TARGET);
        epsilonField = (TextField) fields.component(LevelSetSettings.EPSILON);
        write(Setting.number(targetField.getText()), Setting.number(epsilonField.getText()));
        followRoiManager();
    }

    /** Returns a round step for a slider over a range. */
    private double step(double extent) {
        if (image.getBitDepth() != Float.SIZE) {
            return ShownValues.of(image).difference(1);
        }
        return extent > 0 ? Math.pow(10, Math.floor(Math.log10(extent / SLIDER_STEPS))) : 1;
    }

    /** Returns the smallest and the largest value, as ImageJ shows them; for a large stack, of some slices. */
    private GreyRange extent() throws BadInput {
        GreyRange extent = new GreyRange();
        if (Pixels.type(image) == PixelBuffer.Type.U8) {
            extent.min = ShownValues.of(image).of(0);
            extent.max = ShownValues.of(image).of(255);
            return extent;
        }
        int[] indices = settings.planes(image).indices();
        int stride = (indices.length + MOST_SAMPLES - 1) / MOST_SAMPLES;
        for (int i = 0; i < indices.length; i += stride) {
            extent.add(GreyRange.of(Pixels.of(image, indices[i])));
        }
        if (!(extent.min <= extent.max)) {
            throw new BadInput("\"" + image.getTitle() + "\" has no pixel that is a number.");
        }
        extent.min = ShownValues.of(image).of(extent.min);
        extent.max = ShownValues.of(image).of(extent.max);
        return extent;
    }

    @Override
    LivePreview<LevelSetSettings> newPreview() {
        return new LevelSetPreview(image, this);
    }

    @Override
    void changed(LevelSetSettings asked) {
        double target = asked.number(LevelSetSettings.TARGET);
        double epsilon = asked.number(LevelSetSettings.EPSILON);
        boolean moved = target != writtenTarget || epsilon != writtenEpsilon;
        if (moved && !asked.is(LevelSetSettings.RANGE, LevelSetSettings.VALUES)) {
            // Moving a slider selects the range by values.
            asked.set(LevelSetSettings.RANGE, LevelSetSettings.VALUES);
            rangeChoice.select(LevelSetSettings.VALUES);
            // An automatic side stays as it was found, so that the preview changes by what was moved alone.
            if (asked.is(LevelSetSettings.SIDE, Settings.AUTO)) {
                choose(asked, foundSide);
                chosenSide = true;
            }
        }
        if (chosenSide && !asked.is(LevelSetSettings.RANGE, LevelSetSettings.VALUES)) {
            choose(asked, Settings.AUTO);
            chosenSide = false;
        }
        writtenTarget = target;
        writtenEpsilon = epsilon;
    }

    private void choose(LevelSetSettings asked, String side) {
        asked.set(LevelSetSettings.SIDE, side);
        sideChoice.select(side);
    }

    @Override
    void check() throws BadInput {
        new StartSurface(settings.planes(image), settings);
        if (!settings.hasRegions() && settings.is(LevelSetSettings.RANGE, LevelSetSettings.ROI)) {
            StartSurface.areaSelection(image, "range=roi");
        }
    }

    @Override
    String previewProblem() {
        return settings.previewProblem();
    }

    @Override
    void hint(List<String> lines) {
        lines.add(previewLine());
    }

    @Override
    String meaning() {
        HyperStackSelection planes = settings.planes(image);
        String where = planes.describe();
        String what = settings.isVolume()
                ? "One volume of " + planes.slices() + " slices"
                : planes.slices() > 1
                        ? planes.slices() + " slices, each by itself"
                        : image.getNSlices() > 1 ? "The current slice" : "The image";
        return VoxelSize.describe(
                image,
                settings.isVolume(),
                size -> what + (where.isEmpty() ? "" : ", " + where) + "; pixels of " + size.sides(settings.isVolume())
                        + " " + size.unit + "." + size.attention("\n"));
    }

    @Override
    public void range(double target, double epsilon, LevelSetRange range) {
        // A text that is being typed is not overwritten; the dialog may not have read it yet.
        boolean typed = Tools.parseDouble(targetField.getText(), Double.NaN) != writtenTarget
                || Tools.parseDouble(epsilonField.getText(), Double.NaN) != writtenEpsilon;
        if (!typed && !settings.is(LevelSetSettings.RANGE, LevelSetSettings.VALUES)) {
            write(target, epsilon);
            foundSide = range.side;
        }
    }

    /** Moves the sliders to the values of the fields. */
    private void moveSliders() {
        double[] values = {writtenTarget, writtenEpsilon};
        for (int i = 0; i < values.length; i++) {
            Scrollbar slider = (Scrollbar) dialog.getSliders().get(i);
            double place = Math.rint(values[i] / sliderStep);
            double most = slider.getMaximum() - slider.getVisibleAmount();
            slider.setValue((int) Math.max(slider.getMinimum(), Math.min(most, place)));
        }
    }

    /** Shows a range that was computed and not typed. */
    private void write(double target, double epsilon) {
        for (TextField field : Arrays.asList(targetField, epsilonField)) {
            String text = number(field == targetField ? target : epsilon);
            double value = Double.parseDouble(text);
            if (field == targetField) {
                writtenTarget = value;
            } else {
                writtenEpsilon = value;
            }
            if (!text.equals(field.getText())) {
                field.setText(text);
            }
        }
        moveSliders();
    }
}
