package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.Calibration;
import io.github.isoline.Context;
import io.github.isoline.EdgeStrength;
import io.github.isoline.Findings;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polylines;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Computes the edge strength of an ImagePlus. */
final class EdgeStrengthJob extends FoundJob<EdgeStrengthSettings> {
    /** Is null where nothing is to be found. */
    private final FoundAxes found;

    /** The parameters of each channel. */
    private List<Params> params;

    /** The voxel's size; null for independent slices. */
    private VoxelSize size;

    private boolean converged = true;

    /** The test for the shape in each channel. */
    private List<InsideTest> shape;

    /** A smallest edge strength above this one is displayed as black. */
    private static final double NEARLY_WHITE = 0.5;

    /** The smallest and the largest edge strength. */
    private final GreyRange strengths = new GreyRange();

    /** Holds the number of pixels of the shape in each plane. */
    private int[] shapeCounts;

    EdgeStrengthJob(ImagePlus image, EdgeStrengthSettings settings) throws BadInput {
        super(image, settings, Isoline.EDGE_STRENGTH.command);
        found = settings.finds() ? new FoundAxes(planes, settings) : null;
    }

    @Override
    void begin(Progress progress) throws IsolineException {
        shape = new ArrayList<>();
        params = byChannel(channel -> {
            TwoValues values = settings.needsValues() ? twoValues(channel) : null;
            shape.add(settings.insideTest(image, values));
            Params of = settings.toParams(
                    settings.usesThreshold()
                            ? ShapeThreshold.raw(image, settings.text(EdgeStrengthSettings.THRESHOLD), values)
                            : 0);
            setStartRange(of, channel);
            return of;
        });
        size = isVolume() ? new VoxelSize(image, true) : null;
        shapeCounts = new int[planes.size()];
        allocate();
    }

    @Override
    PixelBuffer.Type inputType() {
        return settings.usesThreshold() ? type() : PixelBuffer.Type.U8;
    }

    @Override
    void write(PixelBuffer input, int slot, int index) throws IsolineException {
        checkEscape();
        Object pixels = pixels(index);
        PixelBuffer mask = settings.usesThreshold() ? null : input;
        shapeCounts[planes.place(index)] = in(shape, index).write(pixels, planePixels(), mask, slot);
        if (mask == null) {
            // A plane of a virtual stack is read once.
            write(input, slot, pixels);
        }
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        if (size != null) {
            // The decay length is in widths of a pixel.
            input.setSpacing(1, size.y / size.x, size.z / size.x);
        }
        Report report;
        if (found == null) {
            report = EdgeStrength.run(context, in(params, part[0]), input, output, part.length, progress);
        } else {
            Calibration calibration = image.getCalibration();
            output.setSpacing(calibration.pixelWidth, calibration.pixelHeight, 1);
            Findings<Polylines> result =
                    EdgeStrength.axes(context, in(params, part[0]), input, output, part.length, progress);
            found.add(result.found(), part);
            report = result.report();
        }
        // The library reports "converged" in converged mode only.
        converged &= !settings.isConverged() || report.converged();
        return report;
    }

    @Override
    List<String> warnings() {
        List<String> said = new ArrayList<>(found == null ? Collections.emptyList() : super.warnings());
        String blank = new MissingBoundary(this, shapeCounts)
                .sentence(
                        "that is shape: the result is blank there",
                        "that is not shape: the result is 1 everywhere there",
                        "\"foreground\"");
        String inexact = String.format(
                "the tolerance %s was not reached after %s (residual %s); the result is less exact "
                        + "than asked. Raise %sthe tolerance.",
                Setting.shortest(settings.number(EdgeStrengthSettings.TOLERANCE)),
                RunLog.count((int) report().iterations(), "cycle"),
                OperationDialog.number(report().residual()),
                report().iterations() < settings.number(EdgeStrengthSettings.MAX_CYCLES) ? "" : "max_cycles or ");
        said.addAll(said(blank, converged ? null : inexact, size == null ? null : size.warning));
        return said;
    }

    /**
     * Sets the grey range that becomes 0..1 at the start, for all planes of a channel: the library would compute a
     * range for each call, and the result would depend on how the stack was divided into calls. 8-bit images always
     * have 0..255.
     */
    private void setStartRange(Params params, HyperStackSelection channel) throws IsolineException {
        if (!settings.usesThreshold() || !settings.startsFromImage() || type() == PixelBuffer.Type.U8) {
            return;
        }
        GreyRange range = automaticRange(channel);
        // An image of one value has no range; the library handles that case.
        if (range.hasExtent()) {
            params.set("start_min", range.min).set("start_max", range.max);
        }
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        super.take(output, slot, place);
        strengths.add(GreyRange.of(result[place]));
    }

    @Override
    Found<?> found() {
        return found;
    }

    @Override
    String howToFindFewer() {
        return ", or shortest_axis for fewer axes";
    }

    @Override
    ImagePlus end() throws IsolineException {
        if (found != null) {
            takeRois();
        }
        // In an image full of shapes all is near 1, and would be white.
        double black = strengths.min > NEARLY_WHITE && strengths.hasExtent() ? strengths.min : 0;
        ImagePlus made = ResultImage.like(planes, result, "ESF of " + image.getTitle(), "Edge strength", black, 1);
        return finish(made, "\nIsoline iterations: " + report().iterations());
    }
}
