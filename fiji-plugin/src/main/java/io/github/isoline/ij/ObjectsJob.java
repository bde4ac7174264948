package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Objects;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.ArrayList;
import java.util.List;

/** Grows the objects of each volume, or slice, of an ImagePlus. */
final class ObjectsJob extends StackJob<ObjectsSettings> {
    private VoxelSize size;
    private Params params;

    /** The start; null if starts are detected. */
    private ObjectsStart start;

    /** Holds the labels of each plane. */
    private Object[] labels;

    /** Holds true for planes without a start, which stay empty. */
    private boolean[] empty;

    private int count;
    private int largest;
    private int vanished;
    private boolean unfinished;

    ObjectsJob(ImagePlus image, ObjectsSettings settings) throws BadInput {
        super(image, settings, DEFAULT_CALL_BYTES);
    }

    @Override
    void begin() throws BadInput, IsolineException {
        size = new VoxelSize(image, isVolume());
        params = settings.toParams();
        if (!settings.isAutomatic(Settings.THRESHOLD)) {
            params.set(Settings.THRESHOLD, Pixels.rawThreshold(image, settings.number(Settings.THRESHOLD)));
        }
        start = ObjectsStart.of(planes, settings);
        boolean large = outputType() == PixelBuffer.Type.F32;
        int pixels = image.getWidth() * image.getHeight();
        empty = new boolean[planes.size()];
        labels = Parallel.fill(new Object[planes.size()], () -> large ? new float[pixels] : (Object) new short[pixels]);
    }

    @Override
    PixelBuffer.Type outputType() {
        return start == null ? PixelBuffer.Type.U16 : start.outputType();
    }

    /** Returns the volumes, or the slices, each by itself. */
    @Override
    List<int[]> parts() {
        if (isVolume()) {
            return super.parts();
        }
        List<int[]> parts = new ArrayList<>();
        for (int index : planes.indices()) {
            parts.add(new int[] {index});
        }
        return parts;
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws BadInput, IsolineException {
        input.setSpacing(size.x, size.y, size.z);
        Objects found;
        if (start == null) {
            found = Objects.run(context, params, input, null, output, part.length, progress);
        } else {
            try (PixelBuffer labels = start.labels(context, part)) {
                if (labels == null) {
                    for (int index : part) {
                        empty[planes.place(index)] = true;
                    }
                    return null;
                }
                found = Objects.run(context, params, input, labels, output, part.length, progress);
            }
        }
        count += found.count();
        for (int object = 0; object < found.count(); object++) {
            addRow(found, object, part[0]);
            largest = Math.max(largest, found.label(object));
            vanished += found.voxels(object) == 0 ? 1 : 0;
        }
        unfinished |= !found.report().converged();
        return found.report();
    }

    private void addRow(Objects found, int object, int index) {
        boolean volume = isVolume();
        rows.add(table -> {
            table.addValue("Object", found.label(object));
            addPosition(table, planes, index, !volume);
            table.addValue("Voxels", found.voxels(object));
            table.addValue(volume ? "Volume" : "Area", found.volume(object));
            table.addValue("X", found.centre(object, 0));
            table.addValue("Y", found.centre(object, 1));
            if (volume) {
                table.addValue("Z", found.centre(object, 2));
            }
            table.addValue("Mean", found.mean(object));
            table.addValue("Background mean", found.background(object));
            table.addValue("At border", found.isAtBorder(object) ? 1 : 0);
            table.addValue("Touches", found.touches(object) ? 1 : 0);
            table.addValue("Unit", size.unit);
        });
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        if (!empty[place]) {
            read(output, slot, labels[place]);
        }
    }

    @Override
    ImagePlus end(Progress progress) {
        if (!settings.is(ObjectsSettings.LABEL_IMAGE)) {
            return null;
        }
        return finish(SnakeLabels.of(planes, labels, largest), "\nIsoline objects: " + count);
    }

    @Override
    void deliver() throws BadInput, IsolineException {
        if (settings.is(Settings.RESULTS_TABLE)) {
            deliverRows();
        }
    }

    @Override
    RowTable rowTable() {
        return RowTable.of(ObjectsPlugin.COMMAND, "Touches", isVolume() ? "Area" : "Volume", image);
    }

    @Override
    String outcome() {
        return RunLog.count(count, "object");
    }

    @Override
    List<String> warnings() {
        List<String> said = new ArrayList<>();
        if (isVolume() && size.warning != null) {
            said.add(size.warning);
        }
        if (count == 0) {
            said.add("no start was found, so there is no object.");
        }
        if (start != null && start.warning() != null) {
            said.add(start.warning());
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
