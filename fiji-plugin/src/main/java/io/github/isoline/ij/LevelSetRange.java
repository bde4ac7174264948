package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.LevelSet;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** The intensity range of the object, T ± ε with its limits, as raw pixel values. */
final class LevelSetRange {
    /** The most slices, each segmented by itself, in which the library measures a range. */
    private static final int MOST_SLICES = 16;

    /** The range of a channel in which the start has no pixel. */
    static final LevelSetRange NOTHING = new LevelSetRange(0, 0, "auto");

    final double target;

    /** ε; 0 where all pixels of the sample are equal: the library then computes it. */
    final double epsilon;

    /**
     * "within", "above" or "below", as the library's parameter has it; "outside" between two regions; "auto" where the
     * library finds it out.
     */
    final String side;

    private LevelSetRange(double target, double epsilon, String side) {
        this.target = target;
        this.epsilon = Math.max(0, epsilon);
        this.side = side;
    }

    /** Writes the range to the library's parameters. */
    void write(Params params) throws IsolineException {
        if (epsilon > 0) {
            params.set(LevelSetSettings.TARGET, target)
                    .set(LevelSetSettings.EPSILON, epsilon)
                    .set(LevelSetSettings.SIDE, side);
        }
    }

    /** Returns true if a pixel value is in range. */
    boolean contains(double value) {
        double above = value - target;
        switch (side) {
            case "above":
                return above >= -epsilon;
            case "below":
                return above <= epsilon;
            case "outside":
                return Math.abs(above) >= epsilon;
            default:
                return Math.abs(above) <= epsilon;
        }
    }

    static BadInput nothing(StartSurface start) {
        return new BadInput(
                "No pixel is inside the start (" + start.describe() + "): nothing can grow." + start.elsewhere());
    }

    /**
     * Computes one range for all planes of a channel: {@link #NOTHING} where the start has no pixel in it; null if the
     * user stops it.
     *
     * @throws BadInput if there is nothing to measure it in
     */
    static LevelSetRange find(
            HyperStackSelection planes, LevelSetSettings settings, StartSurface start, Progress progress)
            throws IsolineException {
        ImagePlus image = planes.image;
        if (settings.hasRegions()) {
            // It is the range at the start, which changes as the front moves.
            return measured(planes, settings, start, progress);
        }
        if (settings.is(LevelSetSettings.RANGE, LevelSetSettings.VALUES)) {
            return new LevelSetRange(
                    ShownValues.of(image).stored(settings.number(LevelSetSettings.TARGET)),
                    ShownValues.of(image).storedDifference(settings.number(LevelSetSettings.EPSILON)),
                    settings.text(LevelSetSettings.SIDE));
        }
        if (settings.is(LevelSetSettings.RANGE, LevelSetSettings.ROI)) {
            Roi roi = StartSurface.areaSelection(image, "range=roi");
            Object pixels = Pixels.of(image, shown(roi, planes));
            IntensitySample sample = IntensitySample.of(pixels, StartSurface.pixels(roi, image), true);
            if (sample.count() == 0) {
                throw new BadInput("There are no pixels in the selection to sample (range=roi).");
            }
            return new LevelSetRange(
                    sample.mean(),
                    settings.number(LevelSetSettings.DEVIATIONS) * sample.deviation(),
                    settings.text(LevelSetSettings.SIDE));
        }
        return measured(planes, settings, start, progress);
    }

    /**
     * Lets the library measure the range, in the volume shown or in some of the slices; returns null if the user stops
     * it.
     */
    private static LevelSetRange measured(
            HyperStackSelection planes, LevelSetSettings settings, StartSurface start, Progress progress)
            throws IsolineException {
        ImagePlus image = planes.image;
        byte[] region = new byte[image.getWidth() * image.getHeight()];
        List<Integer> begun = new ArrayList<>();
        for (int index : planes.indices()) {
            if (progress != null && !progress.step(0, "looking at the start")) {
                return null;
            }
            byte[] plane = start.plane(index, region);
            if (IntStream.range(0, plane.length).anyMatch(i -> plane[i] != 0)) {
                begun.add(index);
            }
        }
        if (begun.isEmpty()) {
            return NOTHING;
        }
        int[] part = settings.isVolume() ? volume(planes, begun) : some(begun);
        VoxelSize voxel = new VoxelSize(image, settings.isVolume());
        return Turn.use("cpu", progress, context -> {
            try (PixelBuffer input = Pixels.buffer(context, Pixels.type(image), image, part.length);
                    PixelBuffer mask = Pixels.buffer(context, PixelBuffer.Type.U8, image, part.length)) {
                for (int slot = 0; slot < part.length; slot++) {
                    input.write(slot, Pixels.of(image, part[slot]));
                    mask.write(slot, start.plane(part[slot], region));
                }
                input.setSpacing(voxel.x, voxel.y, settings.isVolume() ? voxel.z : 1);
                try (LevelSet surface = LevelSet.start(context, input, mask, part.length, settings.toParams(image))) {
                    surface.step(0, null);
                    return new LevelSetRange(surface.target(), surface.epsilon(), surface.side());
                }
            }
        });
    }

    /**
     * Returns the volume of the frame that is shown if it has one of the planes of the start, else the first that has.
     */
    private static int[] volume(HyperStackSelection planes, List<Integer> begun) {
        int shown = planes.position(planes.image.getCurrentSlice())[2];
        int[] first = null;
        for (int[] volume : planes.volumes()) {
            boolean starts = IntStream.of(volume).anyMatch(begun::contains);
            if (starts && (first == null || planes.position(volume[0])[2] == shown)) {
                first = volume;
            }
        }
        return first;
    }

    private static int[] some(List<Integer> indices) {
        int count = Math.min(MOST_SLICES, indices.size());
        return IntStream.range(0, count)
                .map(i -> indices.get(i * indices.size() / count))
                .toArray();
    }

    /** Returns the plane that a selection is sampled on: its slice, in this channel and the frame shown. */
    private static int shown(Roi roi, HyperStackSelection planes) {
        int z = StartSurface.slice(roi, planes);
        int channel = planes.position(planes.indices()[0])[0];
        int frame = planes.position(planes.image.getCurrentSlice())[2];
        return planes.image.getStackIndex(channel, z, frame);
    }
}
