package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Context;
import io.github.isoline.Distance;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.List;

/** Computes the signed distance from the boundary of the inside pixels of an ImagePlus. */
final class DistanceJob extends StackJob<DistanceSettings> {
    private VoxelSize size;
    /** The test of each channel. */
    private List<InsideTest> inside;

    private Params params;

    /** Holds the number of inside pixels of each plane. */
    private int[] insideCounts;

    /** The smallest and the largest finite distance. */
    private final GreyRange distances = new GreyRange();

    DistanceJob(ImagePlus image, DistanceSettings settings) throws BadInput {
        super(image, settings);
    }

    @Override
    void begin(Progress progress) throws IsolineException {
        size = new VoxelSize(image, isVolume());
        inside = byChannel(channel -> settings.insideTest(image, settings.needsValues() ? twoValues(channel) : null));
        params = settings.toParams();
        insideCounts = new int[planes.size()];
        allocate();
    }

    @Override
    PixelBuffer.Type inputType() {
        return PixelBuffer.Type.U8;
    }

    @Override
    void write(PixelBuffer input, int slot, int index) throws IsolineException {
        checkEscape();
        InsideTest test = in(inside, index);
        Object pixels = test.isSelection() ? null : pixels(index);
        insideCounts[planes.place(index)] = test.write(pixels, planePixels(), input, slot);
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        input.setSpacing(size.x, size.y, size.z);
        return Distance.run(context, params, input, output, part.length, progress);
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        super.take(output, slot, place);
        distances.add(GreyRange.of(result[place]));
    }

    @Override
    ImagePlus end() {
        ImagePlus made = ResultImage.inColours(
                planes,
                result,
                settings.quantity() + " (" + size.unit + ") of " + image.getTitle(),
                size.unit,
                BoundaryColours.of(settings.text(DistanceSettings.REGION), distances.min, distances.max));
        return finish(made, "\nIsoline distance unit: " + size.unit);
    }

    /** Returns warnings about planes without a boundary, where distances are not finite, and about the voxel size. */
    @Override
    List<String> warnings() {
        String boundary = new MissingBoundary(this, insideCounts).sentence(settings.text(DistanceSettings.REGION));
        return said(boundary, size.warning);
    }
}
