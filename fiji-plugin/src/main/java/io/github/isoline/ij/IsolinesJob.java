package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polylines;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Computes the isolines of an ImagePlus. */
final class IsolinesJob extends StackJob<IsolinesSettings> {
    private static final int LEAST_DIGITS = 4;

    /** The offset of a pixel's centre from its corner, for areas. For lines ImageJ counts from the centres. */
    private static final float CENTRE = 0.5f;

    /** The number of selections made between two checks of the Escape key. */
    private static final int CANCEL_INTERVAL = 1024;

    /** The curves of each call, and the planes of its slices. */
    private final List<Polylines> curves = new ArrayList<>();

    private final List<int[]> parts = new ArrayList<>();
    private final LevelColours colours = new LevelColours();
    private Params params;
    private double[] levels;
    private int count;

    IsolinesJob(ImagePlus image, IsolinesSettings settings) throws BadInput {
        this(image, settings, DEFAULT_CALL_BYTES);
    }

    /** Creates a job with its own memory limit, so that tests need no large images. */
    IsolinesJob(ImagePlus image, IsolinesSettings settings, long callBytes) throws BadInput {
        super(image, settings, callBytes);
    }

    @Override
    void begin() throws BadInput, IsolineException {
        params = settings.toParams();
        levels = settings.levels();
        if (levels.length == 0) {
            setRange(params, greyRange());
        }
    }

    /** Sets the range that the library would take from the pixels of each call: it holds for the whole stack. */
    static void setRange(Params params, GreyRange range) throws IsolineException {
        if (range.hasExtent()) {
            params.set(Settings.RANGE_MIN, range.min);
            params.set(Settings.RANGE_MAX, range.max);
        }
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
        Isolines.Result result = Isolines.run(context, params, levels, input, part.length, progress);
        curves.add(result.polylines());
        parts.add(part);
        colours.add(result.polylines());
        count += result.polylines().count();
        return result.report();
    }

    /** Receives a curve: its number among all, from 0 on, the curves of its call, its number among these, its plane. */
    @FunctionalInterface
    private interface Taker {
        void take(int number, Polylines some, int at, int index) throws IsolineException, IOException;
    }

    private void forEach(Taker taker) throws IsolineException, IOException {
        int number = 0;
        for (int call = 0; call < curves.size(); call++) {
            Polylines some = curves.get(call);
            for (int at = 0; at < some.count(); at++) {
                if (number % CANCEL_INTERVAL == 0) {
                    IJ.showProgress(number, count);
                    checkEscape();
                }
                taker.take(number++, some, at, parts.get(call)[some.slice(at)]);
            }
        }
    }

    @Override
    ImagePlus end(Progress progress) throws IsolineException {
        if (settings.is(Settings.ROI_MANAGER) || settings.is(Settings.OVERLAY)) {
            int most = (int) settings.number(IsolinesSettings.MOST_ROIS);
            double[] lengths = new double[count];
            try {
                forEach((number, some, at, index) -> lengths[number] = some.length(at));
                double[] sorted = lengths.clone();
                Arrays.sort(sorted);
                double least = count > most ? sorted[count - most] : 0;
                forEach((number, some, at, index) -> {
                    if (lengths[number] >= least && rois.size() < most) {
                        rois.add(roi(number, some, at, index));
                    }
                });
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
        return null;
    }

    private Roi roi(int number, Polylines some, int at, int index) {
        // Two points enclose no area.
        int points = some.pointCount(at);
        boolean closed = some.isClosed(at) && points > 2;
        float offset = closed ? CENTRE : 0;
        float[] x = new float[points];
        float[] y = new float[points];
        for (int p = 0; p < points; p++) {
            x[p] = (float) some.x(at, p) + offset;
            y[p] = (float) some.y(at, p) + offset;
        }
        Roi roi = new PolygonRoi(x, y, points, closed ? Roi.POLYGON : Roi.FREELINE);
        int digits = Math.max(LEAST_DIGITS, Integer.toString(count).length());
        roi.setName("iso-" + IJ.pad(number + 1, digits) + SegmentRois.where(image, index));
        roi.setStrokeColor(colours.of(some.level(at)));
        roi.setProperty(SegmentRois.PROPERTY, settings.kind);
        roi.setProperty("level", Double.toString(some.level(at)));
        ResultImage.setPosition(roi, image, planes.position(index));
        return roi;
    }

    @Override
    RowTable rowTable() {
        return RowTable.of(IsolinesPlugin.COMMAND, "Isoline", null, image);
    }

    @Override
    void addRows(ResultsTable table) throws IsolineException {
        try {
            forEach((number, some, at, index) -> {
                startRow(table);
                table.addValue("Isoline", number + 1);
                addPosition(table, planes, index, true);
                addMiddle(table, some, at);
                table.addValue("Level", some.level(at));
                table.addValue("Length", some.length(at));
                table.addValue("Area", some.area(at));
                // Numbers of rows begin with 1, so that 0 is none.
                table.addValue("Parent", some.parent(at) < 0 ? 0 : number - at + some.parent(at) + 1);
                table.addValue("Points", some.pointCount(at));
                table.addValue("Closed", some.isClosed(at) ? 1 : 0);
                ShapeColumns.addUnit(table, image);
            });
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Adds the mean position of a curve's points. */
    private void addMiddle(ResultsTable table, Polylines some, int at) {
        double x = 0;
        double y = 0;
        for (int p = 0; p < some.pointCount(at); p++) {
            x += some.x(at, p);
            y += some.y(at, p);
        }
        ShapeColumns.addPosition(table, image, x / some.pointCount(at) + CENTRE, y / some.pointCount(at) + CENTRE);
    }

    @Override
    String roiName() {
        return "isolines";
    }

    @Override
    void saveRois(RoiOutput.Taker taker) throws IsolineException, IOException {
        forEach((number, some, at, index) -> taker.take(roi(number, some, at, index)));
    }

    @Override
    List<String> warnings() {
        if (count == 0) {
            return Collections.singletonList(
                    "no pixels above and below a level are neighbours, so there are no isolines.");
        }
        boolean limited = settings.is(Settings.ROI_MANAGER) || settings.is(Settings.OVERLAY);
        if (!limited || rois.size() == count) {
            return Collections.emptyList();
        }
        return Collections.singletonList(String.format(
                "of %s isolines only the longest %s went to the ROI Manager or the overlay, which become slow with more. "
                        + "Raise most_rois to get more; results_table and roi_file have all of them.",
                count, rois.size()));
    }

    @Override
    String outcome() {
        return RunLog.count(count, "isoline");
    }
}
