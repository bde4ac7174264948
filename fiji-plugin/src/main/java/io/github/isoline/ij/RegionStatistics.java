package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.ResultsTable;

/** Size, place and intensity of a region of a slice or a volume. */
final class RegionStatistics {
    private long count;
    private double x;
    private double y;
    private double z;
    private double sum;

    /** The number of pixels in the sum: those with a finite value. */
    private long measured;

    private boolean touches;

    /**
     * Returns the statistics of a slice.
     *
     * @param mask 0 outside
     * @param slice its index in the volume, from 0 on
     * @param slices those of the volume; 1 for a slice by itself
     */
    static RegionStatistics of(byte[] mask, Object pixels, ImagePlus image, int slice, int slices) {
        RegionStatistics made = new RegionStatistics();
        for (int i = 0; i < mask.length; i++) {
            if (mask[i] != 0) {
                made.add(i, pixels, image, slice, slices);
            }
        }
        return made;
    }

    /**
     * @param at its index in the slice
     * @param slices those of the volume; 1 for a slice by itself
     */
    void add(int at, Object pixels, ImagePlus image, int slice, int slices) {
        int width = image.getWidth();
        int column = at % width;
        int row = at / width;
        count++;
        x += column;
        y += row;
        z += slice;
        double value = IntensitySample.value(pixels, at);
        if (!Double.isNaN(value) && !Double.isInfinite(value)) {
            sum += value;
            measured++;
        }
        touches |= column == 0 || row == 0 || column == width - 1 || row == image.getHeight() - 1;
        touches |= slices > 1 && (slice == 0 || slice == slices - 1);
    }

    /** Adds the pixels of another one. */
    void add(RegionStatistics other) {
        count += other.count;
        x += other.x;
        y += other.y;
        z += other.z;
        sum += other.sum;
        measured += other.measured;
        touches |= other.touches;
    }

    long count() {
        return count;
    }

    /** Adds the centroid, in the image's unit; not a number for a region without pixels. */
    void addCentroid(ResultsTable table, ImagePlus image, VoxelSize voxel, boolean volume) {
        // The sums are of pixels' centres, the coordinates of their corners.
        ShapeColumns.addPosition(table, image, x / count + 0.5, y / count + 0.5);
        if (volume) {
            // The depth that ImageJ itself takes is not always one.
            table.addValue("Z", (z / count + 0.5 - image.getCalibration().zOrigin) * voxel.z);
        }
    }

    /** Adds the intensities; the size is that of a pixel or voxel, in the image's unit. */
    void addIntensity(ResultsTable table, ImagePlus image, double size) {
        double shown = ShownValues.of(image).ofSum(sum, measured);
        double mean = shown / measured;
        table.addValue("Mean", mean);
        table.addValue("IntDen", mean * count * size);
        table.addValue("RawIntDen", shown);
        table.addValue("Touches image", touches ? 1 : 0);
    }
}
