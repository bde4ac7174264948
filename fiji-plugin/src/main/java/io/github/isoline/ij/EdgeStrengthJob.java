package io.github.isoline.ij;

import ij.CompositeImage;
import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Overlay;
import ij.measure.Calibration;
import ij.process.ImageProcessor;
import ij.process.LUT;
import io.github.isoline.Context;
import io.github.isoline.EdgeStrength;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.ArrayList;
import java.util.List;

/**
 * From an ImagePlus to its edge strength: pixels through native memory, everything else by hand.
 */
final class EdgeStrengthJob {
    /**
     * Most native memory, input and output together, that one call is given when slices are
     * independent: large enough to keep a pipeline busy, small beside the image itself.
     */
    private static final long DEFAULT_CALL_BYTES = 512L << 20;

    /** ImageJ stores signed 16-bit values with this offset. */
    private static final int SIGNED_16_OFFSET = 32768;

    private final ImagePlus image;
    private final EdgeStrengthSettings settings;
    private final long callBytes;
    private Report lastReport;
    private double seconds;
    private boolean converged = true;

    EdgeStrengthJob(ImagePlus image, EdgeStrengthSettings settings) {
        this(image, settings, DEFAULT_CALL_BYTES);
    }

    /** With a memory bound of its own, so that tests need no huge images. */
    EdgeStrengthJob(ImagePlus image, EdgeStrengthSettings settings, long callBytes) {
        this.image = image;
        this.settings = settings;
        this.callBytes = callBytes;
    }

    /**
     * Refuses what cannot be computed, with what to do about it.
     *
     * @param image the input
     * @param volume true if its slices are to be one volume
     */
    static void check(ImagePlus image, boolean volume) throws BadInput {
        if (image.getType() == ImagePlus.COLOR_RGB) {
            throw new BadInput(
                    "\""
                            + image.getTitle()
                            + "\" is an RGB image. Edge strength works on one channel: convert it"
                            + " with Image > Type > 8-bit, or split it with Image > Color > Split"
                            + " Channels and take one channel.");
        }
        if (volume && image.getNSlices() < 2) {
            String why =
                    image.getStackSize() > 1
                            ? "has no z slices, but "
                                    + image.getNChannels()
                                    + " channel(s) and "
                                    + image.getNFrames()
                                    + " frame(s), which are never mixed into a volume. If its slices"
                                    + " are z, say so in Image > Properties; else"
                            : "is a single image.";
            throw new BadInput(
                    "\""
                            + image.getTitle()
                            + "\" "
                            + why
                            + (image.getStackSize() > 1 ? " choose" : " Choose")
                            + " \"slices\" instead of \"volume\".");
        }
    }

    /** Computes the result; the image itself is only read. */
    ImagePlus run(Progress progress) throws BadInput, IsolineException {
        check(image, settings.isVolume());
        Context context = Contexts.of(settings.device);
        List<int[]> parts = parts();
        EdgeStrength operation = settings.toOperation(rawThreshold(image, settings.threshold));
        setStartRange(operation);
        // All of it now: a lack of memory is better found before the work than after it.
        float[][] result = new float[image.getStackSize()][image.getWidth() * image.getHeight()];
        try {
            compute(context, operation, parts, result, progress);
        } catch (IsolineException e) {
            if (e.isDeviceFailure()) {
                Contexts.discard(settings.device);
            }
            throw e;
        }
        return dress(result);
    }

    private void compute(
            Context context,
            EdgeStrength operation,
            List<int[]> parts,
            float[][] result,
            Progress progress)
            throws BadInput, IsolineException {
        int width = image.getWidth();
        int height = image.getHeight();
        int largest = 0;
        for (int[] part : parts) {
            largest = Math.max(largest, part.length);
        }
        try (PixelBuffer input = new PixelBuffer(type(), width, height, largest);
                PixelBuffer output =
                        new PixelBuffer(PixelBuffer.Type.F32, width, height, largest)) {
            int done = 0;
            for (int[] part : parts) {
                for (int i = 0; i < part.length; i++) {
                    input.write(i, pixels(part[i]));
                }
                Progress share = share(progress, done, part.length, result.length);
                lastReport = operation.run(context, input, output, part.length, share);
                seconds += lastReport.seconds();
                // The library says "converged" of the converged mode only.
                converged &= !settings.isConverged() || lastReport.converged();
                for (int i = 0; i < part.length; i++) {
                    output.read(i, result[part[i] - 1]);
                }
                done += part.length;
            }
        } finally {
            // Between commands the device's memory belongs to other programs.
            context.trim();
        }
    }

    /** What the last part reports; its device and iterations hold for all. */
    Report report() {
        return lastReport;
    }

    /** Seconds spent in the library, all parts together. */
    double seconds() {
        return seconds;
    }

    /** False if any part did not reach the tolerance. */
    boolean converged() {
        return converged;
    }

    /**
     * The threshold as a raw pixel value. ImageJ shows signed 16-bit pixels without their offset,
     * so the user's number is without it; under any other calibration function it is the raw value.
     */
    static double rawThreshold(ImagePlus image, double threshold) {
        return isSigned16(image) ? threshold + SIGNED_16_OFFSET : threshold;
    }

    static boolean isSigned16(ImagePlus image) {
        return image.getType() == ImagePlus.GRAY16 && image.getCalibration().isSigned16Bit();
    }

    /** Stack indices (from 1) of each call to the library. */
    private List<int[]> parts() {
        List<int[]> parts = new ArrayList<>();
        if (settings.isVolume()) {
            for (int t = 1; t <= image.getNFrames(); t++) {
                for (int c = 1; c <= image.getNChannels(); c++) {
                    int[] part = new int[image.getNSlices()];
                    for (int z = 1; z <= part.length; z++) {
                        part[z - 1] = image.getStackIndex(c, z, t);
                    }
                    parts.add(part);
                }
            }
            return parts;
        }
        long pixels = (long) image.getWidth() * image.getHeight();
        long sliceBytes = pixels * (type().bytes() + PixelBuffer.Type.F32.bytes());
        int most = (int) Math.max(1, Math.min(callBytes / sliceBytes, image.getStackSize()));
        for (int first = 1; first <= image.getStackSize(); first += most) {
            int[] part = new int[Math.min(most, image.getStackSize() - first + 1)];
            for (int i = 0; i < part.length; i++) {
                part[i] = first + i;
            }
            parts.add(part);
        }
        return parts;
    }

    private PixelBuffer.Type type() {
        switch (image.getBitDepth()) {
            case 8:
                return PixelBuffer.Type.U8;
            case 16:
                return PixelBuffer.Type.U16;
            default:
                return PixelBuffer.Type.F32;
        }
    }

    private Object pixels(int index) throws BadInput {
        Object pixels = image.getStack().getPixels(index);
        boolean fits;
        switch (type()) {
            case U8:
                fits = pixels instanceof byte[];
                break;
            case U16:
                fits = pixels instanceof short[];
                break;
            default:
                fits = pixels instanceof float[];
                break;
        }
        if (!fits) {
            throw new BadInput(
                    "Slice "
                            + index
                            + " of \""
                            + image.getTitle()
                            + "\" cannot be read as "
                            + image.getBitDepth()
                            + "-bit pixels. If it is a virtual stack, check its files, or open it"
                            + " without \"virtual\".");
        }
        return pixels;
    }

    /**
     * Fixes the grey range that becomes 0..1 at the start, for the whole image: left to the library
     * it would be each call's own, and the result would depend on how the stack was cut into calls.
     * 8-bit images always have 0..255.
     */
    private void setStartRange(EdgeStrength operation) throws BadInput {
        if (!settings.startsFromImage() || type() == PixelBuffer.Type.U8) {
            return;
        }
        double min = Double.POSITIVE_INFINITY;
        double max = Double.NEGATIVE_INFINITY;
        for (int i = 1; i <= image.getStackSize(); i++) {
            Object pixels = pixels(i);
            int count = image.getWidth() * image.getHeight();
            for (int p = 0; p < count; p++) {
                double value =
                        pixels instanceof short[]
                                ? ((short[]) pixels)[p] & 0xffff
                                : ((float[]) pixels)[p];
                if (!Double.isNaN(value) && !Double.isInfinite(value)) {
                    min = Math.min(min, value);
                    max = Math.max(max, value);
                }
            }
        }
        // An image of one value has no range; the library knows what to do with it.
        if (min < max) {
            operation.startMin = min;
            operation.startMax = max;
        }
    }

    private static Progress share(Progress progress, int done, int slices, int all) {
        return progress == null
                ? null
                : (fraction, stage) -> progress.step((done + fraction * slices) / all, stage);
    }

    /** Gives the bare pixels what their image has: calibration, labels, dimensions, colours. */
    private ImagePlus dress(float[][] pixels) {
        ImageStack stack = new ImageStack(image.getWidth(), image.getHeight());
        for (int i = 0; i < pixels.length; i++) {
            stack.addSlice(image.getStack().getSliceLabel(i + 1), pixels[i]);
        }
        ImagePlus result = new ImagePlus("ESF of " + image.getTitle(), stack);
        result.setDimensions(image.getNChannels(), image.getNSlices(), image.getNFrames());
        Calibration calibration = image.getCalibration().copy();
        // The grey calibration is that of the input's values, not of edge strength.
        calibration.setFunction(Calibration.NONE, null, "Edge strength");
        result.setCalibration(calibration);
        if (image.isComposite()) {
            CompositeImage composite = (CompositeImage) image;
            result = new CompositeImage(result, composite.getMode());
            LUT[] luts = new LUT[image.getNChannels()];
            for (int c = 0; c < luts.length; c++) {
                luts[c] = (LUT) composite.getChannelLut(c + 1).clone();
                luts[c].min = 0;
                luts[c].max = 1;
            }
            ((CompositeImage) result).setLuts(luts);
        } else {
            ImageProcessor processor = image.getProcessor();
            boolean palette = image.getType() == ImagePlus.COLOR_256;
            if (!palette && !processor.isInvertedLut()) {
                result.getProcessor().setColorModel(processor.getColorModel());
                stack.setColorModel(processor.getColorModel());
            }
        }
        result.setDisplayRange(0, 1);
        result.setOpenAsHyperStack(image.isHyperStack());
        Overlay overlay = image.getOverlay();
        if (overlay != null) {
            result.setOverlay(overlay.duplicate());
        }
        result.setProperty("Info", info());
        result.setPosition(image.getC(), image.getZ(), image.getT());
        return result;
    }

    /** The input's own information (Image > Show Info...), and how this image was made from it. */
    private String info() {
        Object before = image.getProperty("Info");
        return (before == null ? "" : before + "\n")
                + "Isoline edge strength: "
                + settings
                + "\nIsoline device: "
                + lastReport.device()
                + "\nIsoline iterations: "
                + lastReport.iterations()
                + "\nIsoline seconds: "
                + IJ.d2s(seconds, 4);
    }
}
