package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The objects of a level set: the label image, and an outline and a row of the table for each. An object has one number
 * everywhere, from 1 on in the order of volumes or slices.
 */
final class LevelSetObjects {
    /** The digits of the numbers in names. */
    private static final int DIGITS = 4;

    private final HyperStackSelection planes;
    private final ImagePlus image;
    private final VoxelSize voxel;
    private final boolean volume;
    private final FrontMeasure front;
    private final int[][] labels;
    private int count;

    /** Holds the selections in the order of planes and numbers. */
    final List<Roi> rois = new ArrayList<>();

    LevelSetObjects(HyperStackSelection planes, VoxelSize voxel, boolean volume) {
        this.planes = planes;
        this.voxel = voxel;
        this.volume = volume;
        image = planes.image;
        front = new FrontMeasure(image.getWidth(), volume, voxel.x, voxel.y, voxel.z);
        labels = new int[planes.size()][];
    }

    /**
     * Adds the objects of a volume, or of a slice.
     *
     * @param masks of its slices; 0 outside
     * @param indices the stack index of each slice
     * @return what adds the row of each object to a table
     */
    List<Consumer<ResultsTable>> add(byte[][] masks, int... indices) throws BadInput {
        MaskObjects objects = new MaskObjects(masks, image.getWidth());
        RegionStatistics[] statistics = new RegionStatistics[objects.count + 1];
        for (int i = 0; i < statistics.length; i++) {
            statistics[i] = new RegionStatistics();
        }
        long[][] crossings = front.nothing(objects.count);
        Map<Integer, Roi> outlines = new TreeMap<>();
        for (int slot = 0; slot < indices.length; slot++) {
            front.count(slot == 0 ? null : objects.labels[slot - 1], objects.labels[slot], crossings);
            Object pixels = Pixels.of(image, indices[slot]);
            for (int i = 0; i < masks[slot].length; i++) {
                if (masks[slot][i] != 0) {
                    statistics[objects.labels[slot][i]].add(i, pixels, image, slot, indices.length);
                }
            }
        }
        for (int slot = 0; slot < indices.length; slot++) {
            int index = indices[slot];
            outlines.clear();
            outlines.putAll(objects.outlines(slot));
            outlines.forEach((label, roi) -> rois.add(named(roi, count + label, index)));
        }
        List<Consumer<ResultsTable>> rows = new ArrayList<>();
        for (int label = 1; label <= objects.count; label++) {
            double length = front.of(crossings[label]);
            Roi outline = volume ? null : (Roi) outlines.get(label).clone();
            rows.add(row(count + label, indices[0], statistics[label], length, outline));
        }
        for (int slot = 0; slot < indices.length; slot++) {
            int[] slice = objects.labels[slot];
            for (int i = 0; i < slice.length; i++) {
                slice[i] += slice[i] == 0 ? 0 : count;
            }
            labels[planes.place(indices[slot])] = slice;
        }
        count += objects.count;
        return rows;
    }

    private Roi named(Roi roi, int number, int index) {
        roi.setName("object-" + ij.IJ.pad(number, DIGITS) + ResultImage.where(image, index));
        roi.setStrokeColor(SegmentColours.of(number - 1));
        ResultImage.setPosition(roi, image, planes.position(index));
        return roi;
    }

    private Consumer<ResultsTable> row(int number, int index, RegionStatistics s, double length, Roi outline) {
        double size = voxel.x * voxel.y * (volume ? voxel.z : 1);
        return table -> {
            table.addValue("Object", number);
            StackJob.addPosition(table, planes, index, !volume);
            table.addValue(volume ? "Volume" : "Area", s.count() * size);
            if (volume) {
                s.addCentroid(table, image, true);
                table.addValue("Surface", length);
            } else {
                ShapeColumns.add(table, image, outline, length);
            }
            s.addIntensity(table, image, size);
        };
    }

    int count() {
        return count;
    }

    /** Returns the label image. */
    ImagePlus labelImage() throws BadInput, io.github.isoline.IsolineException {
        return SnakeLabels.of(planes, labels, count);
    }
}
