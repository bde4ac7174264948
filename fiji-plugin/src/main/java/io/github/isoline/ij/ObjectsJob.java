package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.ResultsTable;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Objects;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/** Grows the objects of each volume, or slice, of an ImagePlus. */
final class ObjectsJob extends StackJob<ObjectsSettings> {
    private VoxelSize size;
    private Params params;

    /** The start; null if starts are detected. */
    private ObjectsStart start;

    /** Measures the objects; null if no output has rows or selections. */
    private MeasuredObjects measured;

    /** Holds the labels of each plane. */
    private Object[] labels;

    /** Holds the objects of two slices that follow each other, by their places in the list; null without measures. */
    private int[][] numbered;

    private final NoiseSign noise = new NoiseSign();
    private int count;
    private int largest;
    private int vanished;
    private boolean unfinished;

    ObjectsJob(ImagePlus image, ObjectsSettings settings) throws BadInput {
        super(image, settings);
        // The slices are processed one at a time: the objects of each have labels of their own.
        callBytes = 1;
    }

    @Override
    void begin(Progress progress) throws IsolineException {
        size = new VoxelSize(image, isVolume());
        params = settings.toParams(image, Settings.THRESHOLD);
        start = ObjectsStart.of(planes, settings);
        labels = Parallel.fill(new Object[planes.size()], () -> SnakeLabels.empty(outputType(), planePixels()));
        boolean needed = settings.is(Settings.RESULTS_TABLE) || settings.wantsRois();
        measured = needed ? new MeasuredObjects(planes, size, settings) : null;
        numbered = needed ? new int[2][planePixels()] : null;
    }

    @Override
    PixelBuffer.Type outputType() {
        return start == null ? PixelBuffer.Type.U16 : start.outputType();
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        input.setSpacing(size.x, size.y, size.z);
        Objects found;
        if (start == null) {
            found = Objects.run(context, params, input, null, output, part.length, progress);
        } else {
            try (PixelBuffer labels = start.labels(context, part)) {
                if (labels == null) {
                    // A slice without a start stays empty.
                    return null;
                }
                found = Objects.run(context, params, input, labels, output, part.length, progress);
            }
        }
        count += found.count();
        for (int slot = 0; slot < part.length; slot++) {
            read(output, slot, labels[planes.place(part[slot])]);
        }
        for (int object = 0; object < found.count(); object++) {
            largest = Math.max(largest, found.label(object));
            vanished += found.voxels(object) == 0 ? 1 : 0;
        }
        if (start == null) {
            lookForNoise(found, input, part);
        }
        // Without iterations the starts are wanted.
        unfinished |= !found.report().converged() && settings.number(Settings.ITERATIONS) > 0;
        if (measured != null) {
            measure(found, part);
        }
        return found.report();
    }

    private void lookForNoise(Objects found, PixelBuffer input, int... part) {
        int slices = Math.min(NoiseSign.MOST_SLICES, part.length);
        Object[] pixels = new Object[slices];
        Object[] here = new Object[slices];
        for (int i = 0; i < slices; i++) {
            int slot = i * part.length / slices;
            pixels[i] = input.plane(slot);
            here[i] = labels[planes.place(part[slot])];
        }
        noise.add(found, pixels, here, image.getWidth());
    }

    /** Makes the selections and the rows of the objects of a slice or a volume. */
    private void measure(Objects found, int... part) throws IsolineException {
        int[] numbers = new int[found.count() + 1];
        int most = 0;
        for (int object = 0; object < found.count(); object++) {
            numbers[object + 1] = found.label(object);
            most = Math.max(most, found.label(object));
        }
        int[] places = new int[most + 1];
        for (int place = 1; place < numbers.length; place++) {
            places[numbers[place]] = place;
        }
        List<Consumer<ResultsTable>> measures = measured.add(
                slot -> {
                    Object here = labels[planes.place(part[slot])];
                    int[] objects = numbered[slot % numbered.length];
                    Arrays.setAll(objects, i -> places[(int) IntensitySample.value(here, i)]);
                    return objects;
                },
                numbers,
                part);
        ShownValues shown = ShownValues.of(image);
        for (int object = 0; object < found.count(); object++) {
            Consumer<ResultsTable> measure = measures.get(object);
            long voxels = found.voxels(object);
            double outside = shown.of(found.background(object));
            boolean overlaps = found.touches(object);
            rows.add(table -> {
                measure.accept(table);
                table.addValue("Voxels", voxels);
                table.addValue("Mean outside", outside);
                table.addValue("Overlaps", overlaps ? 1 : 0);
                ShapeColumns.addUnit(table, image);
            });
        }
    }

    /** The labels were read with the objects. */
    @Override
    void take(PixelBuffer output, int slot, int place) {}

    @Override
    ImagePlus end() throws BadInput {
        if (report() == null && !start.isOfImage()) {
            throw new BadInput("There is nothing to start from: " + start.missing());
        }
        if (measured != null) {
            rois.addAll(measured.rois);
        }
        if (!settings.is(ObjectsSettings.LABEL_IMAGE)) {
            return null;
        }
        return finish(SnakeLabels.of(planes, labels, largest), "\nIsoline objects: " + count);
    }

    @Override
    RowTable rowTable() {
        return RowTable.of(
                Isoline.OBJECTS.command, image, Arrays.asList("Object", "Voxels"), isVolume() ? "Area" : "Volume");
    }

    @Override
    String outcome() {
        return RunLog.count(count, "object");
    }

    @Override
    List<String> warnings() {
        String none = "no start was found, so there is no object" + (start == null ? "." : ": " + start.missing());
        List<String> said = said(size.warning, count == 0 ? none : noise.warning());
        if (start != null) {
            said.addAll(start.warnings());
        }
        if (vanished > 0) {
            said.add(RunLog.count(vanished, "object") + " vanished, because the start did not fit the image.");
        }
        if (unfinished) {
            said.add("the fronts were not at rest after " + Setting.shortest(settings.number(Settings.ITERATIONS))
                    + " iterations; raise iterations.");
        }
        return said;
    }
}
