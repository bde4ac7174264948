package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import io.github.isoline.Solver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The common part of all operations on images and stacks: copies an ImagePlus to native memory, calls the library, and
 * copies the result back. A stack that is too large is processed in several calls.
 */
abstract class StackJob<S extends Settings> {
    final ImagePlus image;
    final HyperStackSelection planes;
    final S settings;

    /** The selections for the overlay and the ROI Manager. */
    final List<Roi> rois = new ArrayList<>();

    /** Holds for each row of the results table what adds its values. */
    final List<Consumer<ResultsTable>> rows = new ArrayList<>();

    /** Holds true if the user stopped the run and the partial state became the result. */
    boolean stopped;

    /** Holds the planes of a result of floats, after {@link #allocate}. */
    float[][] result;

    /** Allocates a result of one plane; null if nothing is being allocated. */
    private Parallel.Ahead allocation;

    /**
     * The largest native memory of one call for independent slices, its input, its output and the input of the next one
     * together: large enough for an efficient slice pipeline, small compared with the image itself. Tests set less, so
     * that they need no large images.
     */
    long callBytes = 512L << 20;

    /** Holds why a file could not be written; null if none failed. */
    private BadInput unwritten;

    final LibraryWarnings libraryWarnings = new LibraryWarnings();

    private Report lastReport;
    private double seconds;

    StackJob(ImagePlus image, S settings) throws BadInput {
        settings.check(image);
        this.image = image;
        this.settings = settings;
        planes = settings.planes(image);
    }

    /** Refuses pixels that cannot be processed, and allocates the result, before the work. */
    abstract void begin(Progress progress) throws IsolineException;

    /** Returns true if the z slices of a channel and frame are one volume, false for independent slices. */
    final boolean isVolume() {
        return settings.isVolume();
    }

    /**
     * Allocates the whole result, of floats: running out of memory is better found before the work. A single plane is
     * allocated while its result is computed, because the system clears new memory on one thread.
     */
    final void allocate() throws IsolineException {
        result = new float[planes.size()][];
        if (result.length == 1) {
            allocation = new Parallel.Ahead(1, plane -> result[plane] = new float[planePixels()]);
        } else {
            Parallel.fill(result, () -> new float[planePixels()]);
        }
    }

    /** Returns the type of the output image; null if the operation makes none. */
    PixelBuffer.Type outputType() {
        return PixelBuffer.Type.F32;
    }

    /** Returns the type of the library's input: the image's own. */
    PixelBuffer.Type inputType() {
        return type();
    }

    /** Returns the bytes per pixel beside input and output that a call needs outside Java. */
    int workingBytes() {
        return 0;
    }

    /** Copies a plane to a slot, from 0 on, of the library's input. Several threads do this for different planes. */
    void write(PixelBuffer input, int slot, int index) throws IsolineException {
        write(input, slot, pixels(index));
    }

    /** Copies pixels in, on several threads for a large plane. */
    final void write(PixelBuffer input, int slot, Object pixels) {
        Parallel.pixels(planePixels(), (from, count) -> input.write(slot, pixels, from, count));
    }

    /**
     * Makes one call to the library.
     *
     * @param part stack indices of the slices that are in the buffers
     * @return null if there was nothing to do for these slices
     */
    abstract Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException;

    /**
     * Takes one slice of the output. Several threads do this for different slices.
     *
     * @param slot its index in the buffer, from 0 on
     * @param place its index among the planes, from 0 on
     */
    void take(PixelBuffer output, int slot, int place) {
        read(output, slot, result[place]);
    }

    /** Copies one slice out, on several threads for a large one. */
    final void read(PixelBuffer output, int slot, Object pixels) {
        Parallel.pixels(planePixels(), (from, count) -> output.read(slot, pixels, from, count));
    }

    /** Releases the resources that {@link #begin} acquired for the work, however it ended. */
    void release() {}

    /** Returns the new image, or null if none is made. */
    abstract ImagePlus end() throws IsolineException;

    /**
     * Writes the files among the outputs, before all others, since Escape cancels that and then leaves no output. A
     * file that cannot be written leaves the others as they are, and is for {@link #checkFiles} to report.
     */
    final void saveFiles() throws IsolineException {
        try {
            writeFiles();
        } catch (BadInput e) {
            unwritten = e;
        } catch (OutOfMemoryError e) {
            unwritten = new BadInput("Not all files were written. %s", Host.reason(e));
        }
    }

    /** Delivers the outputs beside files and images. */
    final void deliver() throws IsolineException {
        try {
            deliverOthers();
        } catch (BadInput e) {
            throw unwritten == null ? e : new BadInput("%s %s", unwritten.getMessage(), e.getMessage());
        }
    }

    /** Fails if a file could not be written. */
    final void checkFiles() throws BadInput {
        if (unwritten != null) {
            throw unwritten;
        }
    }

    /** Writes the files among the outputs. */
    void writeFiles() throws IsolineException {
        if (settings.has(Settings.ROI_FILE) && !settings.text(Settings.ROI_FILE).isEmpty()) {
            OutputFile.write(
                    settings.text(Settings.ROI_FILE), roiName(), file -> RoiOutput.write(this::saveRois, file));
        }
    }

    /** Delivers selections and rows to ImageJ's windows, or to a script. */
    void deliverOthers() throws IsolineException {
        if (!settings.has(Settings.ROI_FILE)) {
            return;
        }
        if (settings.wants(Settings.OVERLAY)) {
            RoiOutput.addToOverlay(image, rois, settings.kind);
        }
        if (settings.wants(Settings.ROI_MANAGER)) {
            settings.workspace.take(image, rois);
        }
        if (settings.wants(Settings.RESULTS_TABLE)) {
            deliverRows();
        }
    }

    final void deliverRows() throws IsolineException {
        ResultsTable given = settings.workspace.table();
        if (given != null) {
            addRows(given);
        } else {
            RowTable shown = rowTable();
            addRows(shown.table);
            shown.show();
        }
    }

    /** Returns the name of the selections, for messages. */
    String roiName() {
        return "outlines";
    }

    /** Passes all selections on to a file; Escape ends that. */
    void saveRois(RoiOutput.Taker taker) throws IsolineException, IOException {
        for (Roi roi : rois) {
            checkEscape();
            taker.take(roi);
        }
    }

    /** Returns the table in ImageJ for the rows of this run. */
    RowTable rowTable() {
        throw new UnsupportedOperationException("a command without rows");
    }

    /** Adds all rows to the table. */
    void addRows(ResultsTable table) throws IsolineException {
        for (Consumer<ResultsTable> row : rows) {
            startRow(table, image);
            row.accept(table);
        }
    }

    static void startRow(ResultsTable table, ImagePlus image) {
        // This works also with ImageJ before 1.53d, which has no addRow().
        table.incrementCounter();
        table.addLabel(image.getTitle());
    }

    /** Adds the position of a plane to a row, without the slice where a row is of all slices. */
    static void addPosition(ResultsTable table, HyperStackSelection planes, int index, boolean slice) {
        int[] position = planes.position(index);
        boolean hyperstack = ResultImage.isHyperStack(planes.image);
        if (hyperstack) {
            // These are the column names of ImageJ's own Measure; "Slice" is z.
            table.addValue("Ch", position[0]);
        }
        if (slice) {
            table.addValue("Slice", hyperstack ? position[1] : index);
        }
        if (hyperstack) {
            table.addValue("Frame", position[2]);
        }
    }

    /** Adds the operation's information to a new image, and removes the selections of an earlier run from it. */
    final ImagePlus finish(ImagePlus made, String lines) {
        if (made.getOverlay() != null) {
            // Those in the copied overlay are not the user's own.
            RoiOutput.addToOverlay(made, Collections.emptyList(), settings.kind);
        }
        made.setProperty("Info", info("Isoline " + settings.kind + ": " + settings + lines));
        return made;
    }

    /** Returns a few words about the result, "" for none. */
    String outcome() {
        return "";
    }

    /** Returns true if the image shows the state of a run after every so many iterations; 0 stands for never. */
    final boolean isWatched(double every) {
        return every > 0 && image.getWindow() != null && settings.workspace.isWatched();
    }

    /** Returns true if the state that Escape leaves is a result. */
    boolean keepsStopped() {
        return false;
    }

    /** Returns a sentence for the log about each doubt of the image, and each deviation from the request. */
    final List<String> allWarnings() {
        List<String> all = said(LutHint.palette(image), ShownValues.warning(image));
        all.addAll(warnings());
        all.addAll(libraryWarnings.kept());
        return all;
    }

    /** Returns a sentence about each deviation from the request. */
    List<String> warnings() {
        return Collections.emptyList();
    }

    /** Returns a list of those sentences that are not null, which may be extended. */
    static List<String> said(String... sentences) {
        List<String> said = new ArrayList<>(Arrays.asList(sentences));
        said.removeIf(Objects::isNull);
        return said;
    }

    /** Locks the image, and computes with progress in ImageJ's status bar; Escape ends the run. */
    final ImagePlus runLocked() throws IsolineException {
        if (!image.lockSilently()) {
            throw new BadInput("\"" + image.getTitle() + "\" is in use by another command; wait for its end.");
        }
        IJ.resetEscape();
        String escape = keepsStopped() ? "stop and keep the result" : "cancel";
        try (StatusBar bar = new StatusBar(context().device(), escape)) {
            return run(bar);
        } finally {
            image.unlock();
        }
    }

    /** Returns further images beside the one that {@link #run} returns. */
    List<ImagePlus> otherImages() {
        return Collections.emptyList();
    }

    /** Returns a line about the finished run: device, seconds, planes, outcome. */
    final String summary() {
        String text = String.format(Locale.ROOT, "%s, %.3f s", device(), seconds);
        // For a hyperstack it names the planes that were processed.
        for (String more : new String[] {planes.describe(), outcome()}) {
            text += more.isEmpty() ? "" : ", " + more;
        }
        return text;
    }

    /** Returns a few words about the finished run: outcome and seconds. */
    final String status() {
        String outcome = outcome();
        return String.format(Locale.ROOT, "%s%.2f s", outcome.isEmpty() ? "" : outcome + ", ", seconds);
    }

    /** Computes the result; the image itself is only read. */
    final ImagePlus run(Progress progress) throws IsolineException {
        try {
            if (settings.has(Settings.ROI_MANAGER) && settings.wants(Settings.ROI_MANAGER)) {
                settings.workspace.findRoiReceiver();
            }
            begin(progress);
            Contexts.use(settings.device(), context -> {
                compute(context, libraryWarnings.taking(progress));
                return null;
            });
        } finally {
            release();
            libraryWarnings.take();
        }
        ImagePlus made = end();
        if (stopped) {
            // Escape has had its effect and must cancel neither the saving of the outputs nor the next command.
            IJ.resetEscape();
        }
        return made;
    }

    private void compute(Context context, Progress progress) throws IsolineException {
        List<int[]> parts = parts();
        int largest = 0;
        int all = 0;
        for (int[] part : parts) {
            largest = Math.max(largest, part.length);
            all += part.length;
        }
        // While the library computes slices, the next ones are read, from files where the stack is virtual. Of volumes
        // there is one at a time: they are large.
        int buffers = !isVolume() && parts.size() > 1 ? 2 : 1;
        List<PixelBuffer> inputs = new ArrayList<>();
        Parallel.Ahead reading = null;
        try (PixelBuffer output = outputType() == null ? null : Pixels.buffer(context, outputType(), image, largest)) {
            for (int i = 0; i < buffers; i++) {
                inputs.add(Pixels.buffer(context, inputType(), image, largest));
            }
            int done = 0;
            for (int i = 0; i < parts.size(); i++) {
                int[] part = parts.get(i);
                PixelBuffer input = inputs.get(i % buffers);
                // A run that was stopped leaves the other planes at their start, for which nothing is read.
                if (!stopped) {
                    if (reading == null) {
                        reading = read(input, part);
                    }
                    reading.await();
                    reading = buffers > 1 && i + 1 < parts.size()
                            ? read(inputs.get((i + 1) % buffers), parts.get(i + 1))
                            : null;
                }
                Progress share = Progress.part(progress, (double) done / all, (double) (done + part.length) / all);
                Report report = callInTurn(context, input, output, part, share);
                if (report != null) {
                    lastReport = report;
                    seconds += report.seconds();
                }
                if (allocation != null) {
                    allocation.await();
                }
                if (output != null) {
                    Parallel.each(part.length, slot -> take(output, slot, planes.place(part[slot])));
                }
                done += part.length;
            }
        } finally {
            for (Parallel.Ahead ahead : new Parallel.Ahead[] {reading, allocation}) {
                if (ahead != null) {
                    ahead.stop();
                }
            }
            inputs.forEach(PixelBuffer::close);
        }
    }

    /** Makes a call when other commands have made theirs; Escape may end the wait. */
    private Report callInTurn(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        // A run that was stopped computes nothing more.
        try (Turn turn = stopped ? null : Turn.take(context, progress)) {
            if (turn == null && !stopped) {
                if (!keepsStopped() || lastReport == null) {
                    throw IsolineException.cancelled();
                }
                stopped = true;
            }
            return call(context, input, output, part, progress);
        }
    }

    /** Begins to copy slices to the buffer of a call. */
    private Parallel.Ahead read(PixelBuffer input, int[] part) {
        return new Parallel.Ahead(part.length, slot -> write(input, slot, part[slot]));
    }

    final Context context() throws IsolineException {
        return Contexts.of(settings.device());
    }

    /** Returns the report of the last part; its device is that of all parts. */
    final Report report() {
        return lastReport;
    }

    /** Returns the device that computed; "none" where there was nothing to compute. */
    final String device() {
        return lastReport == null ? "none" : lastReport.device();
    }

    /** Returns the seconds spent in the library, all parts together. */
    final double seconds() {
        return seconds;
    }

    /** Returns the stack indices of the planes of each call. */
    List<int[]> parts() {
        return isVolume() ? planes.volumes() : slices();
    }

    /** Divides independent slices into parts of one channel that keep within the memory for one call. */
    private List<int[]> slices() {
        int outputBytes = outputType() == null ? 0 : outputType().bytes();
        // There are two inputs, of which one is read while the other is computed.
        long sliceBytes = (long) planePixels() * (2 * inputType().bytes() + outputBytes + workingBytes());
        int most = (int) Math.max(1, Math.min(callBytes / sliceBytes, planes.size()));
        List<int[]> parts = new ArrayList<>();
        for (int[] indices : planes.channels() > 1 ? planes.volumes() : Collections.singletonList(planes.indices())) {
            for (int first = 0; first < indices.length; first += most) {
                parts.add(Arrays.copyOfRange(indices, first, Math.min(first + most, indices.length)));
            }
        }
        return parts;
    }

    /**
     * Steps a solver; if the user stops it, it keeps its last whole iteration, which becomes the result.
     *
     * @param report receives the progress of the step; returns false to cancel
     */
    final void step(Solver solver, long iterations, Progress report) throws IsolineException {
        try {
            solver.step(iterations, report);
            stopped = !report.step(1, "");
        } catch (IsolineException e) {
            if (!e.isCancelled()) {
                throw e;
            }
            stopped = true;
        }
    }

    static void checkEscape() throws IsolineException {
        if (IJ.escapePressed()) {
            throw IsolineException.cancelled();
        }
    }

    /** Makes what depends on pixel values from the planes of one channel; null if the user stops it. */
    @FunctionalInterface
    interface Maker<T> {
        T of(HyperStackSelection channel) throws IsolineException;
    }

    /** Makes something for each channel by itself, since they differ in brightness: a list for {@link #in}. */
    final <T> List<T> byChannel(Maker<T> maker) throws IsolineException {
        List<T> made = new ArrayList<>();
        for (HyperStackSelection channel : planes.byChannel()) {
            made.add(maker.of(channel));
        }
        return made;
    }

    /** Returns what was made for the channel of a plane. */
    final <T> T in(List<T> byChannel, int index) {
        return byChannel.get(planes.place(index) % planes.channels());
    }

    /** Returns the values of some planes, as long as there are at most two. */
    final TwoValues twoValues(HyperStackSelection some) throws IsolineException {
        TwoValues values = new TwoValues();
        int[] indices = some.indices();
        Parallel.each(indices.length, i -> {
            checkEscape();
            if (!values.isMore()) {
                values.add(TwoValues.of(pixels(indices[i])));
            }
        });
        return values;
    }

    /** Returns the smallest and largest value of some planes; for 8-bit pixels it is not needed. */
    final GreyRange greyRange(HyperStackSelection some) throws IsolineException {
        GreyRange range = new GreyRange();
        int[] indices = some.indices();
        Parallel.each(indices.length, i -> {
            checkEscape();
            range.add(GreyRange.of(pixels(indices[i])));
        });
        return range;
    }

    /** Returns the range of some planes that is used where it is automatic; for 8-bit pixels it is not needed. */
    final GreyRange automaticRange(HyperStackSelection some) throws IsolineException {
        AutomaticRange range = new AutomaticRange();
        int[] indices = some.indices();
        Parallel.each(indices.length, i -> {
            checkEscape();
            range.add(AutomaticRange.of(pixels(indices[i]), image.getWidth()));
        });
        return range.range();
    }

    /** Returns the number of pixels of a plane. */
    final int planePixels() {
        return image.getWidth() * image.getHeight();
    }

    final PixelBuffer.Type type() {
        return Pixels.type(image);
    }

    final Object pixels(int index) throws BadInput {
        return Pixels.of(image, index);
    }

    /** Returns the input's own information (Image > Show Info...), with further lines "Isoline key: value". */
    private String info(String made) {
        Object before = image.getProperty("Info");
        return String.format(
                "%s%s%s\nIsoline device: %s\nIsoline seconds: %s",
                before == null ? "" : before + "\n",
                made,
                planes.describe().isEmpty() ? "" : "\nIsoline planes: " + planes.describe(),
                device(),
                IJ.d2s(seconds, 4));
    }
}
