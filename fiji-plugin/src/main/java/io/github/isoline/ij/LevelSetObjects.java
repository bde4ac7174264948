package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import io.github.isoline.IsolineException;
import java.util.List;
import java.util.function.Consumer;

/**
 * The objects of a level set: the label image, and an outline and a row of the table for each. An object has one number
 * everywhere, from 1 on in the order of volumes or slices.
 */
final class LevelSetObjects {
    private final HyperStackSelection planes;
    private final MeasuredObjects measured;

    /** Holds the labels of each plane: short[], or float[] from the plane on where these are too few. */
    private final Object[] labels;

    /** Holds the mask of each slice of a volume, or of one slice, of which the objects are added next; 0 outside. */
    final byte[][] masks;

    /** Holds the numbers of the objects in these slices. */
    private final int[][] numbered;

    private int count;

    /** Allocates all that is as large as the image: running out of memory is better found before the work. */
    LevelSetObjects(HyperStackSelection planes, VoxelSize voxel, LevelSetSettings settings) throws IsolineException {
        this.planes = planes;
        measured = new MeasuredObjects(planes, voxel, settings);
        int pixels = planes.image.getWidth() * planes.image.getHeight();
        labels = Parallel.fill(new Object[planes.size()], () -> new short[pixels]);
        int slices = settings.isVolume() ? planes.slices() : 1;
        masks = Parallel.fill(new byte[slices][], () -> new byte[pixels]);
        numbered = Parallel.fill(new int[slices][], () -> new int[pixels]);
    }

    /**
     * Adds the objects of the {@link #masks} of a volume, or of a slice.
     *
     * @param indices the stack index of each slice
     * @return what adds the row of each object to a table
     */
    List<Consumer<ResultsTable>> add(int... indices) throws BadInput {
        MaskObjects objects = new MaskObjects(numbered, planes.image.getWidth(), (z, i) -> masks[z][i] == 0 ? 0 : 1);
        int[] numbers = new int[objects.count + 1];
        for (int i = 1; i < numbers.length; i++) {
            numbers[i] = count + i;
        }
        List<Consumer<ResultsTable>> rows = measured.add(slot -> numbered[slot], numbers, indices);
        count += objects.count;
        for (int slot = 0; slot < indices.length; slot++) {
            int[] slice = numbered[slot];
            int place = planes.place(indices[slot]);
            labels[place] = SnakeLabels.withRoom(labels[place], count);
            for (int i = 0; i < slice.length; i++) {
                SnakeLabels.set(labels[place], i, numbers[slice[i]]);
            }
        }
        return rows;
    }

    /** Returns the selections in the order of planes and numbers. */
    List<Roi> rois() {
        return measured.rois;
    }

    /** Returns the label image. */
    ImagePlus labelImage() {
        for (int place = 0; place < labels.length; place++) {
            labels[place] = SnakeLabels.withRoom(labels[place], count);
        }
        return SnakeLabels.of(planes, labels, count);
    }
}
