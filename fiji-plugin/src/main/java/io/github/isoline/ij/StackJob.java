package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.ArrayList;
import java.util.List;

/**
 * From an ImagePlus through native memory and back: what all operations on images and stacks share.
 * A stack that is too large goes to the library in parts.
 */
abstract class StackJob {
    /**
     * Most native memory, input and output together, that one call is given when slices are
     * independent: large enough to keep a pipeline busy, small beside the image itself.
     */
    static final long DEFAULT_CALL_BYTES = 512L << 20;

    /** ImageJ stores signed 16-bit values with this offset. */
    private static final int SIGNED_16_OFFSET = 32768;

    final ImagePlus image;
    final HyperStackSelection planes;
    private final String device;
    private final long callBytes;
    private Report lastReport;
    private double seconds;

    /**
     * @param planes what is read of which image
     * @param device "auto", "cpu", "cuda" or "cuda:N"
     * @param callBytes most native memory for one call, so that tests need no huge images
     */
    StackJob(HyperStackSelection planes, String device, long callBytes) {
        this.planes = planes;
        image = planes.image;
        this.device = device;
        this.callBytes = callBytes;
    }

    /** Refuses what cannot be computed, and reserves what the result needs, before the work. */
    abstract void begin() throws BadInput, IsolineException;

    /**
     * True if the z slices of a channel and frame are one volume, false for slices by themselves.
     */
    abstract boolean isVolume();

    /** Type of the output image; null if the operation is to make none. */
    abstract PixelBuffer.Type outputType();

    /** Type of what the library is given: the image's own. */
    PixelBuffer.Type inputType() {
        return type();
    }

    /** Bytes per pixel beside input and output that a call takes outside Java. */
    int workingBytes() {
        return 0;
    }

    /** What the library is given of a plane: its own pixels. */
    Object input(int index) throws BadInput, IsolineException {
        return pixels(index);
    }

    /**
     * One call to the library.
     *
     * @param part stack indices of the slices that are in the buffers
     * @return null if there was nothing to do for these slices
     */
    abstract Report call(
            Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws BadInput, IsolineException;

    /**
     * Takes one slice of the output.
     *
     * @param slot its place in the buffer, from 0 on
     * @param place its place among the planes, from 0 on
     */
    abstract void take(PixelBuffer output, int slot, int place);

    /** Gives back what {@link #begin} took for the time of the work, however it ended. */
    void release() {}

    /** The new image, or null if none is made. */
    abstract ImagePlus end(Progress progress) throws BadInput, IsolineException;

    /** Hands over what is not an image, after everything has been computed. */
    void deliver() throws BadInput, IsolineException {}

    /** A few words about what was found, "" for none. */
    String outcome() {
        return "";
    }

    /** Returns a few words for the status line that say what the Escape key does. */
    String escapeHint() {
        return "cancel";
    }

    /** True if the user stopped it and it made a result of what it had until then. */
    boolean isStopped() {
        return false;
    }

    /** A sentence for the log about what is not as it was asked for; null if all is. */
    String warning() {
        return null;
    }

    /** Computes the result; the image itself is only read. */
    final ImagePlus run(Progress progress) throws BadInput, IsolineException {
        try {
            begin();
            compute(context(), progress);
        } catch (IsolineException e) {
            if (e.isDeviceFailure()) {
                Contexts.discard(device);
            }
            throw e;
        } finally {
            release();
        }
        return end(progress);
    }

    private void compute(Context context, Progress progress) throws BadInput, IsolineException {
        int width = image.getWidth();
        int height = image.getHeight();
        List<int[]> parts = isVolume() ? planes.volumes() : slices();
        int largest = 0;
        int all = 0;
        for (int[] part : parts) {
            largest = Math.max(largest, part.length);
            all += part.length;
        }
        try (PixelBuffer input = new PixelBuffer(inputType(), width, height, largest);
                PixelBuffer output =
                        outputType() == null
                                ? null
                                : new PixelBuffer(outputType(), width, height, largest)) {
            int done = 0;
            for (int[] part : parts) {
                for (int i = 0; i < part.length; i++) {
                    input.write(i, input(part[i]));
                }
                Progress share = share(progress, done, part.length, all);
                Report report = call(context, input, output, part, share);
                if (report != null) {
                    lastReport = report;
                    seconds += report.seconds();
                }
                for (int i = 0; output != null && i < part.length; i++) {
                    take(output, i, planes.place(part[i]));
                }
                done += part.length;
            }
        } finally {
            // Between commands the device's memory belongs to other programs.
            context.trim();
        }
    }

    final Context context() throws IsolineException {
        return Contexts.of(device);
    }

    /** What the last part reports; its device holds for all. */
    final Report report() {
        return lastReport;
    }

    /** Seconds spent in the library, all parts together. */
    final double seconds() {
        return seconds;
    }

    /** Cuts independent slices into parts that keep within the memory for one call. */
    private List<int[]> slices() {
        int[] indices = planes.indices();
        int outputBytes = outputType() == null ? 0 : outputType().bytes();
        long pixels = (long) image.getWidth() * image.getHeight();
        long sliceBytes = pixels * (inputType().bytes() + outputBytes + workingBytes());
        int most = (int) Math.max(1, Math.min(callBytes / sliceBytes, indices.length));
        List<int[]> parts = new ArrayList<>();
        for (int first = 0; first < indices.length; first += most) {
            int[] part = new int[Math.min(most, indices.length - first)];
            System.arraycopy(indices, first, part, 0, part.length);
            parts.add(part);
        }
        return parts;
    }

    static void checkEscape() throws IsolineException {
        if (IJ.escapePressed()) {
            throw IsolineException.cancelled();
        }
    }

    /** The values of all planes that are taken, as long as they are two at most. */
    final TwoValues twoValues() throws BadInput, IsolineException {
        TwoValues values = new TwoValues();
        for (int index : planes.indices()) {
            checkEscape();
            values.add(TwoValues.of(pixels(index)));
            if (values.isMore()) {
                break;
            }
        }
        return values;
    }

    final PixelBuffer.Type type() {
        return type(image);
    }

    static PixelBuffer.Type type(ImagePlus image) {
        switch (image.getBitDepth()) {
            case 8:
                return PixelBuffer.Type.U8;
            case 16:
                return PixelBuffer.Type.U16;
            default:
                return PixelBuffer.Type.F32;
        }
    }

    final Object pixels(int index) throws BadInput {
        return pixels(image, index);
    }

    /** The pixels of a slice, as an array of the type that the image says it has. */
    static Object pixels(ImagePlus image, int index) throws BadInput {
        Object pixels = image.getStack().getPixels(index);
        boolean fits;
        switch (type(image)) {
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
                    "\""
                            + image.getTitle()
                            + "\" ("
                            + HyperStackSelection.everything(image).name(index)
                            + ") cannot be read as "
                            + image.getBitDepth()
                            + "-bit pixels. If it is a virtual stack, check its files, or open it"
                            + " without \"virtual\".");
        }
        return pixels;
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

    /** Refuses a volume of an image without z slices, with what to do about it. */
    static void checkVolume(ImagePlus image) throws BadInput {
        if (image.getNSlices() > 1) {
            return;
        }
        String why =
                image.getStackSize() > 1
                        ? "has no z slices, but "
                                + image.getNChannels()
                                + " channel(s) and "
                                + image.getNFrames()
                                + " frame(s), which are never mixed into a volume. If its slices"
                                + " are z, say so in Image > Properties; else choose"
                        : "is a single image. Choose";
        throw new BadInput(
                "\"" + image.getTitle() + "\" " + why + " \"slices\" instead of \"volume\".");
    }

    /** Refuses RGB, with what to do about it. */
    static void checkOneChannel(ImagePlus image, String operation) throws BadInput {
        if (image.getType() == ImagePlus.COLOR_RGB) {
            throw new BadInput(
                    "\""
                            + image.getTitle()
                            + "\" is an RGB image. "
                            + operation
                            + " works on one channel: convert it"
                            + " with Image > Type > 8-bit, or split it with Image > Color > Split"
                            + " Channels and take one channel.");
        }
    }

    /**
     * The input's own information (Image > Show Info...), and how a new image was made from it.
     *
     * @param made what the operation adds, in lines "Isoline key: value"
     */
    final String info(String made) {
        Object before = image.getProperty("Info");
        return (before == null ? "" : before + "\n")
                + made
                + (planes.describe().isEmpty() ? "" : "\nIsoline planes: " + planes.describe())
                + "\nIsoline device: "
                + lastReport.device()
                + "\nIsoline seconds: "
                + IJ.d2s(seconds, 4);
    }

    private static Progress share(Progress progress, int done, int slices, int all) {
        return progress == null
                ? null
                : (fraction, stage) -> progress.step((done + fraction * slices) / all, stage);
    }
}
