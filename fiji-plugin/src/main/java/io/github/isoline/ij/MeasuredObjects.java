package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/**
 * Measures the numbered objects of slices or volumes: makes an outline on each slice and a row of the table for each.
 */
final class MeasuredObjects {
    /** The digits of the numbers in names. */
    private static final int DIGITS = 4;

    private final HyperStackSelection planes;
    private final ImagePlus image;
    private final VoxelSize voxel;
    private final boolean volume;
    private final String kind;

    /** Holds true if the selections, or the rows of slices, need outlines. */
    private final boolean outlined;

    private final FrontMeasure front;

    /** Holds the selections in the order of planes and numbers. */
    final List<Roi> rois = new ArrayList<>();

    MeasuredObjects(HyperStackSelection planes, VoxelSize voxel, Settings settings) {
        this.planes = planes;
        this.voxel = voxel;
        volume = settings.isVolume();
        kind = settings.kind;
        outlined = settings.wantsRois() || !volume;
        image = planes.image;
        front = new FrontMeasure(image.getWidth(), volume, voxel.x, voxel.y, voxel.z);
    }

    /**
     * Adds the objects of a volume, or of a slice.
     *
     * @param objects returns for each slice the place in the numbers that a pixel belongs to, 0 outside; is called once
     *     for each, in their order, and must keep the slice before
     * @param numbers those of the objects, from place 1 on
     * @param indices the stack index of each slice
     * @return what adds the row of each object to a table
     */
    List<Consumer<ResultsTable>> add(IntFunction<int[]> objects, int[] numbers, int... indices) throws BadInput {
        int count = numbers.length - 1;
        RegionStatistics[] statistics = new RegionStatistics[count + 1];
        for (int i = 0; i < statistics.length; i++) {
            statistics[i] = new RegionStatistics();
        }
        long[][] crossings = front.nothing(count);
        Map<Integer, Roi> outlines = new TreeMap<>();
        int[] before = null;
        for (int slot = 0; slot < indices.length; slot++) {
            int[] here = objects.apply(slot);
            front.count(before, here, crossings);
            before = here;
            Object pixels = Pixels.of(image, indices[slot]);
            for (int i = 0; i < here.length; i++) {
                if (here[i] != 0) {
                    statistics[here[i]].add(i, pixels, image, slot, indices.length);
                }
            }
            if (outlined) {
                outlines = MaskObjects.outlines(here, image.getWidth());
            }
            for (Map.Entry<Integer, Roi> outline : outlines.entrySet()) {
                rois.add(named(outline.getValue(), numbers[outline.getKey()], indices[slot]));
            }
        }
        List<Consumer<ResultsTable>> rows = new ArrayList<>();
        for (int place = 1; place <= count; place++) {
            double length = front.of(crossings[place]);
            // An object that has vanished has no outline.
            Roi outline = volume || !outlines.containsKey(place)
                    ? null
                    : (Roi) outlines.get(place).clone();
            rows.add(row(numbers[place], indices[0], statistics[place], length, outline));
        }
        return rows;
    }

    private Roi named(Roi roi, int number, int index) {
        String name = "object-" + IJ.pad(number, DIGITS) + ResultImage.where(image, index);
        return RoiOutput.dress(roi, name, SegmentColours.of(number - 1), kind, planes, index);
    }

    private Consumer<ResultsTable> row(int number, int index, RegionStatistics s, double length, Roi outline) {
        double size = voxel.x * voxel.y * (volume ? voxel.z : 1);
        return table -> {
            table.addValue("Object", number);
            StackJob.addPosition(table, planes, index, !volume);
            table.addValue(volume ? "Volume" : "Area", s.count() * size);
            if (volume) {
                s.addCentroid(table, image, voxel, true);
                table.addValue("Surface", length);
            } else {
                ShapeColumns.add(table, image, outline, length);
            }
            s.addIntensity(table, image, size);
        };
    }
}
