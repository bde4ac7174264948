package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.LUT;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.LevelSet;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.awt.Color;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Computes the level set's mask and φ from an ImagePlus and a start region. */
final class LevelSetJob extends StackJob<LevelSetSettings> {
    private static final int WHITE = 255;

    /** The column of what frames that follow each other have in common. */
    private static final String OVERLAP = "Overlap";

    /** The bytes per pixel for independent slices: the library's copy of the image, φ twice, and φ read back. */
    private static final int WORKING_BYTES = 3 * Float.BYTES;
    /** The bytes per pixel for edges: the edge-stopping function and its slope, and two images to compute them with. */
    private static final int EDGE_BYTES = 5 * Float.BYTES;

    private final VoxelSize voxel;
    private final StartSurface start;

    // These are the parameters and the range of each channel.
    private final List<Params> params = new ArrayList<>();
    private List<LevelSetRange> ranges;

    /** Holds the mask of each plane, if masks are an output. */
    private byte[][] masks;

    private float[][] phi;
    /** The objects, if the label image is an output. */
    private LevelSetObjects objects;

    private ImagePlus labelImage;

    /** Holds the masks of the last frame of each channel, where the next one starts from them. */
    private final Map<Integer, byte[][]> last = new HashMap<>();

    private final GreyRange phiRange = new GreyRange();
    private ImagePlus phiImage;

    /** Holds the outline of each plane, null where nothing is inside. */
    private final Roi[] outlines;

    private boolean converged = true;
    private double done;
    private long iterations;
    private int unstarted;
    private int empty;

    /** The outcome where the start had no pixel, beside those of the library. */
    private static final String EMPTY = "empty";

    /** The number of slices or volumes, and how each ended. */
    private int parts;

    private final Map<String, Integer> outcomes = new HashMap<>();

    LevelSetJob(ImagePlus image, LevelSetSettings settings) throws BadInput {
        super(image, settings);
        voxel = new VoxelSize(image, settings.isVolume());
        // The start is fixed here: the user may draw another selection while the job waits or runs.
        start = new StartSurface(planes, settings);
        outlines = new Roi[planes.size()];
    }

    @Override
    void begin(Progress progress) throws IsolineException {
        ranges = byChannel(channel -> LevelSetRange.find(channel, settings, start, progress));
        if (ranges.contains(null)) {
            throw IsolineException.cancelled();
        }
        // In a channel without a start nothing grows, whatever its range.
        LevelSetRange any = ranges.stream()
                .filter(range -> range != LevelSetRange.NOTHING)
                .findFirst()
                .orElseThrow(() -> LevelSetRange.nothing(start));
        ranges.replaceAll(range -> range == LevelSetRange.NOTHING ? any : range);
        for (LevelSetRange range : ranges) {
            Params of = settings.toParams(image);
            if (!settings.hasRegions()) {
                range.write(of);
            }
            params.add(of);
        }
        // The whole result is allocated now: running out of memory is better found before the work.
        if (settings.is(LevelSetSettings.MASK_STACK)) {
            masks = Parallel.fill(new byte[planes.size()][], () -> new byte[planePixels()]);
        }
        objects = settings.is(LevelSetSettings.LABEL_IMAGE) ? new LevelSetObjects(planes, voxel, settings) : null;
        if (settings.is(LevelSetSettings.PHI)) {
            phi = Parallel.fill(new float[planes.size()][], () -> new float[planePixels()]);
        }
    }

    @Override
    PixelBuffer.Type outputType() {
        return PixelBuffer.Type.U8;
    }

    @Override
    int workingBytes() {
        return type().bytes() + WORKING_BYTES + (settings.hasEdges() ? EDGE_BYTES : 0);
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        long[] begun = new long[part.length];
        byte[][] before = last.get(planes.position(part[0])[0]);
        Parallel.each(part.length, slot -> {
            byte[] plane = before == null ? start.plane(part[slot], new byte[planePixels()]) : before[slot];
            output.write(slot, plane);
            begun[slot] = count(plane);
        });
        if (stopped) {
            // Slices that were not reached stay at their start.
            unstarted += part.length;
            return null;
        }
        input.setSpacing(voxel.x, voxel.y, isVolume() ? voxel.z : 1);
        try (LevelSet surface = LevelSet.start(context, input, output, part.length, in(params, part[0]))) {
            evolve(surface, output, part, progress);
            surface.readMask(output);
            double[] overlaps = follow(before, output, part);
            String[] ends = ends(surface, ofParts(begun), output, part);
            if (settings.is(LevelSetSettings.PHI)) {
                takePhi(surface, part);
            }
            if (objects != null) {
                addObjects(surface.report(), output, part, ends);
            } else if (settings.is(LevelSetSettings.RESULTS_TABLE)) {
                measure(surface, output, part, ends, overlaps);
            }
            iterations = Math.max(iterations, surface.iterations());
            converged &= surface.converged();
            return surface.report();
        }
    }

    @Override
    List<int[]> parts() {
        // The slices of a frame are a call of their own where the next frame starts from its result.
        return settings.followsFrames() ? planes.volumes() : super.parts();
    }

    /**
     * Keeps the masks that were read last for the next frame, where it starts from them; a frame without any pixel
     * inside leaves the next one its own start.
     *
     * @param before those of the last frame; null at the first
     * @return what the slices, or the volume, have in common with the last frame: intersection over union; not a number
     *     at the first frame. Null where frames have starts of their own
     */
    private double[] follow(byte[][] before, PixelBuffer output, int... part) throws IsolineException {
        if (!settings.followsFrames()) {
            return null;
        }
        byte[][] now = new byte[part.length][];
        long[] common = new long[part.length];
        long[] either = new long[part.length];
        Parallel.each(part.length, slot -> {
            now[slot] = (byte[]) output.plane(slot);
            for (int i = 0; before != null && i < now[slot].length; i++) {
                boolean here = now[slot][i] != 0;
                boolean there = before[slot][i] != 0;
                common[slot] += here && there ? 1 : 0;
                either[slot] += here || there ? 1 : 0;
            }
        });
        boolean found = Arrays.stream(now).anyMatch(mask -> count(mask) > 0);
        last.put(planes.position(part[0])[0], found ? now : null);
        long[] shared = ofParts(common);
        long[] all = ofParts(either);
        double[] overlaps = new double[shared.length];
        // 0 / 0 is not a number.
        Arrays.setAll(overlaps, i -> (double) shared[i] / all[i]);
        return overlaps;
    }

    private static int count(byte[] mask) {
        int count = 0;
        for (byte pixel : mask) {
            count += pixel != 0 ? 1 : 0;
        }
        return count;
    }

    /** Returns the counts of slices; for a volume their sum. */
    private long[] ofParts(long... counts) {
        return isVolume() ? new long[] {LongStream.of(counts).sum()} : counts;
    }

    /**
     * Counts the ends of slices, or of the volume, and returns them; each began with the given number of pixels inside.
     */
    private String[] ends(LevelSet surface, long[] begun, PixelBuffer mask, int[] part) throws IsolineException {
        long[] counts = new long[part.length];
        Parallel.each(part.length, slot -> counts[slot] = count((byte[]) mask.plane(slot)));
        long[] inside = ofParts(counts);
        String[] ends = new String[begun.length];
        long all = (long) planePixels() * part.length / begun.length;
        for (int i = 0; i < begun.length; i++) {
            parts++;
            empty += begun[i] > 0 ? 0 : part.length / begun.length;
            // The library's outcome is that of all slices of the call together.
            ends[i] = inside[i] == 0 ? LevelSet.LOST : inside[i] == all ? LevelSet.FILLED : surface.outcome();
            outcomes.merge(begun[i] > 0 ? ends[i] : EMPTY, 1, Integer::sum);
        }
        return ends;
    }

    /** Evolves until convergence, the last iteration, or Escape. */
    private void evolve(LevelSet surface, PixelBuffer buffer, int[] part, Progress progress) throws IsolineException {
        long most = (long) settings.number(LevelSetSettings.ITERATIONS);
        boolean shown = isWatched(settings.number(LevelSetSettings.SHOW_EVERY));
        long step = shown ? (long) settings.number(LevelSetSettings.SHOW_EVERY) : most;
        // The share of the iterations that are likely to be needed; it never falls.
        done = 0;
        try (RunOverlay picture = shown ? new RunOverlay(image) : null) {
            while (!stopped && surface.iterations() < most && !surface.converged()) {
                if (picture != null && picture.isDue()) {
                    picture.show(front(surface, buffer, part));
                }
                long before = surface.iterations();
                long wanted = Math.min(step, most - before);
                long expected = surface.expectedIterations();
                long end = expected < 0 ? most : Math.min(most, expected);
                step(surface, wanted, (fraction, stage) -> {
                    done = Math.max(done, (before + fraction * Math.min(wanted, end - before)) / end);
                    return progress == null || progress.step(done, "level set of " + image.getTitle());
                });
            }
        }
    }

    /** Returns the current front on the slice that is shown; null if there is none. */
    private Roi front(LevelSet surface, PixelBuffer buffer, int... part) throws IsolineException {
        int index = image.getCurrentSlice();
        Roi front = null;
        for (int slot = 0; slot < part.length; slot++) {
            if (part[slot] == index) {
                surface.readMask(buffer);
                front = Outline.of((byte[]) buffer.plane(slot), image.getWidth(), image.getHeight());
            }
        }
        return front == null ? null : GuestOverlay.element(front, "Isoline front", planes, index);
    }

    /** Finds the objects of the mask that was read last, with their rows. */
    private void addObjects(Report report, PixelBuffer mask, int[] part, String... ends) throws BadInput {
        int slices = isVolume() ? part.length : 1;
        for (int first = 0; first < part.length; first += slices) {
            String end = ends[first / slices];
            int[] indices = Arrays.copyOfRange(part, first, first + slices);
            IntensitySample outside = new IntensitySample();
            for (int i = 0; i < slices; i++) {
                mask.read(first + i, objects.masks[i]);
                outside.add(IntensitySample.of(pixels(indices[i]), objects.masks[i], false));
            }
            for (Consumer<ResultsTable> row : objects.add(indices)) {
                rows.add(table -> {
                    row.accept(table);
                    addRun(table, outside, report, end);
                });
            }
        }
    }

    /** Makes the rows of the table from the mask that was read last. */
    private void measure(LevelSet surface, PixelBuffer mask, int[] part, String[] ends, double... overlaps)
            throws IsolineException {
        FrontMeasure front = new FrontMeasure(image.getWidth(), isVolume(), voxel.x, voxel.y, voxel.z);
        RegionStatistics[] inside = new RegionStatistics[part.length];
        IntensitySample[] outside = new IntensitySample[part.length];
        long[][] crossings = new long[part.length][];
        Parallel.each(part.length, slot -> {
            byte[] here = (byte[]) mask.plane(slot);
            crossings[slot] = front.count(isVolume() && slot > 0 ? (byte[]) mask.plane(slot - 1) : null, here);
            Object pixels = pixels(part[slot]);
            inside[slot] = RegionStatistics.of(here, pixels, image, slot, isVolume() ? part.length : 1);
            outside[slot] = IntensitySample.of(pixels, here, false);
        });
        Report report = surface.report();
        int slices = isVolume() ? part.length : 1;
        for (int first = 0; first < part.length; first += slices) {
            RegionStatistics all = new RegionStatistics();
            IntensitySample rest = new IntensitySample();
            for (int slot = first; slot < first + slices; slot++) {
                all.add(inside[slot]);
                rest.add(outside[slot]);
            }
            double length = front.of(Arrays.copyOfRange(crossings, first, first + slices));
            double overlap = overlaps == null ? -1 : overlaps[first / slices];
            String end = ends[first / slices];
            addRow(part[first], all, length, overlap, table -> addRun(table, rest, report, end));
        }
    }

    /**
     * @param overlap with the frame before; below 0 for none
     * @param last adds the last columns
     */
    private void addRow(int index, RegionStatistics inside, double front, double overlap, Consumer<ResultsTable> last) {
        double size = voxel.x * voxel.y * (isVolume() ? voxel.z : 1);
        rows.add(table -> {
            addPosition(table, planes, index, !isVolume());
            table.addValue(isVolume() ? "Volume" : "Area", inside.count() * size);
            table.addValue(isVolume() ? "Surface" : "Perim.", front);
            inside.addCentroid(table, image, voxel, isVolume());
            inside.addIntensity(table, image, size);
            if (!(overlap < 0)) {
                table.addValue(OVERLAP, overlap);
            }
            last.accept(table);
        });
    }

    private void addRun(ResultsTable table, IntensitySample outside, Report report, String end) {
        boolean hasFront = !LevelSet.LOST.equals(end) && !LevelSet.FILLED.equals(end);
        table.addValue("Mean outside", ShownValues.of(image).of(outside.mean()));
        table.addValue("Iterations", report.iterations());
        table.addValue("Converged", report.converged() && hasFront ? 1 : 0);
        table.addValue("Outcome", end);
        table.addValue("Seconds", report.seconds());
        table.addValue("Device", report.device());
        ShapeColumns.addUnit(table, image);
    }

    @Override
    RowTable rowTable() {
        List<String> has = new ArrayList<>(Collections.singletonList("Outcome"));
        List<String> lacks = new ArrayList<>(Collections.singletonList(isVolume() ? "Area" : "Volume"));
        (objects == null ? lacks : has).add("Object");
        (objects == null && settings.followsFrames() ? has : lacks).add(OVERLAP);
        return RowTable.of(Isoline.LEVEL_SET.command, image, has, lacks.toArray(new String[0]));
    }

    private void takePhi(LevelSet surface, int[] part) throws IsolineException {
        try (PixelBuffer buffer = Pixels.buffer(context(), PixelBuffer.Type.F32, image, part.length)) {
            surface.readPhi(buffer);
            Parallel.each(part.length, slot -> {
                float[] slice = phi[planes.place(part[slot])];
                read(buffer, slot, slice);
                phiRange.add(GreyRange.of(slice));
            });
        }
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        if (masks != null) {
            read(output, slot, masks[place]);
        }
        if (settings.wantsRois() && objects == null) {
            byte[] mask = masks == null ? (byte[]) output.plane(slot) : masks[place];
            outlines[place] = Outline.of(mask, image.getWidth(), image.getHeight());
        }
    }

    /** Adds the outlines to the selections, in the order of the calls. */
    private void addOutlines() {
        for (int[] part : parts()) {
            for (int index : part) {
                Roi roi = outlines[planes.place(index)];
                if (roi != null) {
                    String name = "level-set" + ResultImage.where(image, index);
                    rois.add(RoiOutput.dress(roi, name, RunOverlay.COLOUR, settings.kind, planes, index));
                }
            }
        }
    }

    @Override
    ImagePlus end() throws IsolineException {
        addOutlines();
        String regions = settings.hasRegions()
                ? "\nIsoline regions: " + settings.text(LevelSetSettings.REGIONS) + ", at the start"
                : "";
        String told = ranges(
                "\n",
                range -> ShownValues.of(image).of(range.target) + " +- "
                        + ShownValues.of(image).difference(range.epsilon) + "\nIsoline limits: " + range.side);
        String info = regions + "\nIsoline range: " + told + "\nIsoline iterations: " + iterations
                + (stopped ? " (stopped)" : hasConverged() ? " (converged)" : "");
        if (objects != null) {
            rois.addAll(objects.rois());
            labelImage = finish(objects.labelImage(), info);
        }
        if (phi != null) {
            LUT colours = BoundaryColours.of(DistanceSettings.SIGNED, phiRange.min, phiRange.max);
            phiImage = ResultImage.inColours(planes, phi, "Phi of " + image.getTitle(), voxel.unit, colours);
            finish(phiImage, info);
        }
        if (masks == null) {
            return null;
        }
        ImagePlus made = ResultImage.inColours(planes, masks, "Level set of " + image.getTitle(), "Inside", grey());
        return finish(made, info);
    }

    /** Returns the range in words, of each channel where they differ. */
    private String ranges(String between, Function<LevelSetRange, String> words) {
        List<String> all = ranges.stream().map(words).collect(Collectors.toList());
        if (all.stream().distinct().count() == 1) {
            return all.get(0);
        }
        for (int c = 0; c < all.size(); c++) {
            all.set(c, "of channel " + (c + 1) + ": " + all.get(c));
        }
        return String.join(between, all);
    }

    private static LUT grey() {
        LUT grey = LUT.createLutFromColor(Color.WHITE);
        grey.min = 0;
        grey.max = WHITE;
        return grey;
    }

    /** Returns φ as an image; null if it was not requested. */
    ImagePlus phiImage() {
        return phiImage;
    }

    @Override
    List<ImagePlus> otherImages() {
        List<ImagePlus> images = new ArrayList<>(Arrays.asList(phiImage, labelImage));
        images.removeIf(Objects::isNull);
        return images;
    }

    @Override
    boolean keepsStopped() {
        return true;
    }

    @Override
    List<String> warnings() {
        List<String> doubts = said(voxel.warning);
        if (stopped) {
            doubts.add(String.format(
                    "stopped by Escape after %s iterations; the outputs show the state that was reached%s",
                    iterations,
                    unstarted > 0 ? ", and the start for " + unstarted + " slices that the run did not reach." : "."));
        } else if (settings.isConverged() && !converged) {
            doubts.add("not converged after " + iterations + " iterations: the front still moved. Raise iterations.");
        }
        String advice = String.format(
                " (grey values %s). Check range, target and epsilon.",
                ranges(
                        "; ",
                        range -> OperationDialog.number(ShownValues.of(image).of(range.target)) + " \u00b1 "
                                + OperationDialog.number(ShownValues.of(image).difference(range.epsilon))));
        if (count(LevelSet.AT_LIMIT) > 0) {
            doubts.add(where(count(LevelSet.AT_LIMIT))
                    + "many intensities inside are at the limits of the range, which cut into the object: it is probably "
                    + "larger than was found" + advice);
        }
        if (count(LevelSet.LOST) > 0) {
            doubts.add(where(count(LevelSet.LOST))
                    + "nothing is left inside: with this range there was nothing to segment" + advice);
        }
        if (count(LevelSet.FILLED) > 0) {
            doubts.add(String.format(
                    "%sall is inside and no front is left, as in a flat image: with this range there was nothing "
                            + "to segment%s",
                    where(count(LevelSet.FILLED)), advice));
        }
        if (empty > 0) {
            doubts.add(String.format(
                    "%s %s nothing inside the start (%s), so nothing could grow there.",
                    RunLog.count(empty, "slice"), empty == 1 ? "has" : "have", start.describe()));
        }
        return doubts;
    }

    /** Returns "in the image " or "in 3 of 7 slices ". */
    private String where(int count) {
        String what = isVolume() ? "volume" : planes.size() > 1 ? "slice" : "image";
        return parts == 1 ? "in the " + what + " " : "in " + count + " of " + parts + " " + what + "s ";
    }

    /** Returns the number of slices or volumes that ended so. */
    private int count(String outcome) {
        return outcomes.getOrDefault(outcome, 0);
    }

    /** Returns true if no slice or volume has a front any more. */
    private boolean hasNoFront() {
        return parts > 0 && count(LevelSet.LOST) + count(LevelSet.FILLED) + count(EMPTY) == parts;
    }

    /** Returns true if every front is at rest; false where no front is left. */
    private boolean hasConverged() {
        return settings.isConverged() && converged && !hasNoFront();
    }

    @Override
    String outcome() {
        String end = count(LevelSet.AT_LIMIT) > 0 ? ", at the range's limits" : hasNoFront() ? ", no front left" : "";
        return String.format(
                "%s iterations%s%s", iterations, stopped ? ", stopped" : hasConverged() ? ", converged" : "", end);
    }
}
