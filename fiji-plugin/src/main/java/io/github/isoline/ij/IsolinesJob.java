package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.Calibration;
import io.github.isoline.Context;
import io.github.isoline.Findings;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polylines;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.Collections;
import java.util.List;

/** Computes the isolines of an ImagePlus. */
final class IsolinesJob extends FoundJob<IsolinesSettings> {
    private final FoundCurves found;
    /** The parameters of each channel. */
    private List<Params> params;

    private double[] levels;

    IsolinesJob(ImagePlus image, IsolinesSettings settings) throws BadInput {
        super(image, settings, Isoline.ISOLINES.command);
        found = new FoundCurves(planes, settings);
    }

    @Override
    void begin(Progress progress) throws IsolineException {
        levels = settings.levels(image);
        params = byChannel(channel -> {
            Params of = settings.toParams();
            if (levels.length == 0) {
                greyRange(channel).setIn(of);
            }
            return of;
        });
    }

    @Override
    PixelBuffer.Type outputType() {
        return null;
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        Calibration size = image.getCalibration();
        input.setSpacing(size.pixelWidth, size.pixelHeight, 1);
        Findings<Polylines> result = Isolines.run(context, in(params, part[0]), levels, input, part.length, progress);
        found.add(result.found(), part);
        return result.report();
    }

    @Override
    ImagePlus end() throws IsolineException {
        takeRois();
        return null;
    }

    @Override
    Found<?> found() {
        return found;
    }

    @Override
    String howToFindFewer() {
        return "";
    }

    @Override
    List<String> warnings() {
        return found.count() > 0
                ? super.warnings()
                : Collections.singletonList(
                        "no pixels above and below a level are neighbours, so there are no isolines.");
    }
}
