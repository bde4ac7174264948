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
 * The common part of all operations on images and stacks: copies an ImagePlus to native memory, calls the library, and
 * copies the result back. A stack that is too large is processed in several calls.
 */
abstract class StackJob {
    /**
     * The largest native memory, input and output together, of one call for independent slices: large enough for an
     * efficient slice pipeline, small compared with the image itself.
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
     * Creates a job.
     *
     * @param planes the planes of the image to process
     * @param device "auto", "cpu", "cuda" or "cuda:N"
     * @param callBytes the largest native memory for one call, so that tests need no large images
     */
    StackJob(HyperStackSelection planes, String device, long callBytes) {
        this.planes = planes;
        image = planes.image;
        this.device = device;
        this.callBytes = callBytes;
    }

    /** Refuses an image that cannot be processed, and allocates the result, before the work. */
    abstract void begin() throws BadInput, IsolineException;

    /** Returns true if the z slices of a channel and frame are one volume, false for independent slices. */
    abstract boolean isVolume();

    /** Returns the type of the output image; null if the operation makes none. */
    abstract PixelBuffer.Type outputType();

    /** Returns the type of the library's input: the image's own. */
    PixelBuffer.Type inputType() {
        return type();
    }

    /** Returns the bytes per pixel beside input and output that a call needs outside Java. */
    int workingBytes() {
        return 0;
    }

    /** Returns the library's input for a plane: its own pixels. */
    Object input(int index) throws BadInput, IsolineException {
        return pixels(index);
    }

    /**
     * Makes one call to the library.
     *
     * @param part stack indices of the slices that are in the buffers
     * @return null if there was nothing to do for these slices
     */
    abstract Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws BadInput, IsolineException;

    /**
     * Takes one slice of the output.
     *
     * @param slot its index in the buffer, from 0 on
     * @param place its index among the planes, from 0 on
     */
    abstract void take(PixelBuffer output, int slot, int place);

    /** Releases the resources that {@link #begin} acquired for the work, however it ended. */
    void release() {}

    /** Returns the new image, or null if none is made. */
    abstract ImagePlus end(Progress progress) throws BadInput, IsolineException;

    /** Delivers the other outputs, after everything has been computed. */
    void deliver() throws BadInput, IsolineException {}

    /** Returns a few words about the result, "" for none. */
    String outcome() {
        return "";
    }

    /** Returns a few words for the status line that say what the Escape key does. */
    String escapeHint() {
        return "cancel";
    }

    /** Returns true if the user stopped the run and the partial state became the result. */
    boolean isStopped() {
        return false;
    }

    /** Returns a sentence for the log about a deviation from the request; null if there is none. */
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
                        outputType() == null ? null : new PixelBuffer(outputType(), width, height, largest)) {
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
            // Between commands the device memory is free for other programs.
            context.trim();
        }
    }

    final Context context() throws IsolineException {
        return Contexts.of(device);
    }

    /** Returns the report of the last part; its device is that of all parts. */
    final Report report() {
        return lastReport;
    }

    /** Returns the seconds spent in the library, all parts together. */
    final double seconds() {
        return seconds;
    }

    /** Divides independent slices into parts that keep within the memory for one call. */
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

    /** Returns the values of all planes, as long as there are at most two. */
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

    /** Returns the pixels of a slice, as an array of the type that the image declares. */
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
            throw new BadInput("\""
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
     * Returns the threshold as a raw pixel value. ImageJ shows signed 16-bit pixels without their offset, so the user's
     * number is without it; under any other calibration function it is the raw value.
     */
    static double rawThreshold(ImagePlus image, double threshold) {
        return isSigned16(image) ? threshold + SIGNED_16_OFFSET : threshold;
    }

    static boolean isSigned16(ImagePlus image) {
        return image.getType() == ImagePlus.GRAY16 && image.getCalibration().isSigned16Bit();
    }

    /** Refuses a volume for an image without z slices, and says what to do. */
    static void checkVolume(ImagePlus image) throws BadInput {
        if (image.getNSlices() > 1) {
            return;
        }
        String why = image.getStackSize() > 1
                ? "has no z slices, but "
                        + image.getNChannels()
                        + " channel(s) and "
                        + image.getNFrames()
                        + " frame(s), which are never mixed into a volume. If its slices"
                        + " are z, say so in Image > Properties; else choose"
                : "is a single image. Choose";
        throw new BadInput("\"" + image.getTitle() + "\" " + why + " \"slices\" instead of \"volume\".");
    }

    /** Refuses RGB, and says what to do. */
    static void checkOneChannel(ImagePlus image, String operation) throws BadInput {
        if (image.getType() == ImagePlus.COLOR_RGB) {
            throw new BadInput("\""
                    + image.getTitle()
                    + "\" is an RGB image. "
                    + operation
                    + " works on one channel: convert it"
                    + " with Image > Type > 8-bit, or split it with Image > Color > Split"
                    + " Channels and take one channel.");
        }
    }

    /**
     * Returns the input's own information (Image > Show Info...), with the parameters of the new image.
     *
     * @param made the lines that the operation adds, as "Isoline key: value"
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
        return progress == null ? null : (fraction, stage) -> progress.step((done + fraction * slices) / all, stage);
    }
}
