package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Context;
import io.github.isoline.EdgeStrength;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;

/** From an ImagePlus to its edge strength. */
final class EdgeStrengthJob extends StackJob {
    private final EdgeStrengthSettings settings;
    private EdgeStrength operation;
    private float[][] result;
    private boolean converged = true;

    EdgeStrengthJob(ImagePlus image, EdgeStrengthSettings settings) {
        this(image, settings, DEFAULT_CALL_BYTES);
    }

    /** With a memory bound of its own, so that tests need no huge images. */
    EdgeStrengthJob(ImagePlus image, EdgeStrengthSettings settings, long callBytes) {
        super(settings.axes.of(image), settings.device, callBytes);
        this.settings = settings;
    }

    /**
     * Refuses what cannot be computed, with what to do about it.
     *
     * @param image the input
     * @param volume true if its slices are to be one volume
     */
    static void check(ImagePlus image, boolean volume) throws BadInput {
        checkOneChannel(image, "Edge strength");
        if (volume) {
            checkVolume(image);
        }
    }

    @Override
    void begin() throws BadInput {
        check(image, settings.isVolume());
        operation = settings.toOperation(rawThreshold(image, settings.threshold));
        setStartRange(operation);
        // All of it now: a lack of memory is better found before the work than after it.
        result = new float[planes.size()][image.getWidth() * image.getHeight()];
    }

    @Override
    PixelBuffer.Type outputType() {
        return PixelBuffer.Type.F32;
    }

    @Override
    Report call(
            Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        Report report = operation.run(context, input, output, part.length, progress);
        // The library says "converged" of the converged mode only.
        converged &= !settings.isConverged() || report.converged();
        return report;
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        output.read(slot, result[place]);
    }

    @Override
    String warning() {
        if (converged) {
            return null;
        }
        return "the tolerance "
                + settings.tolerance
                + " was not reached after "
                + report().iterations()
                + " cycles (residual "
                + report().residual()
                + "); the result is less exact than asked. Raise the tolerance.";
    }

    @Override
    boolean isVolume() {
        return settings.isVolume();
    }

    /**
     * Fixes the grey range that becomes 0..1 at the start, for all planes: left to the library it
     * would be each call's own, and the result would depend on how the stack was cut into calls.
     * 8-bit images always have 0..255.
     */
    private void setStartRange(EdgeStrength operation) throws BadInput {
        if (!settings.startsFromImage() || type() == PixelBuffer.Type.U8) {
            return;
        }
        GreyRange range = new GreyRange();
        for (int index : planes.indices()) {
            range.add(GreyRange.of(pixels(index)));
        }
        // An image of one value has no range; the library knows what to do with it.
        if (range.hasExtent()) {
            operation.startMin = range.min;
            operation.startMax = range.max;
        }
    }

    @Override
    ImagePlus end(Progress progress) {
        ImagePlus made =
                ResultImage.like(planes, result, "ESF of " + image.getTitle(), "Edge strength", 1);
        made.setProperty(
                "Info",
                info(
                        "Isoline edge strength: "
                                + settings
                                + "\nIsoline iterations: "
                                + report().iterations()));
        return made;
    }
}
