package io.github.isoline.ij;

import ij.ImagePlus;

/** Counts the volumes or slices without a boundary, all inside or all outside, and describes them. */
final class MissingBoundary {
    private final String what;
    private int all;
    private int empty;
    private String firstEmpty;
    private int full;
    private String firstFull;

    /** @param inside the number of inside pixels of each plane */
    MissingBoundary(StackJob<?> job, int... inside) {
        HyperStackSelection planes = job.planes;
        what = job.isVolume() ? "volume" : planes.size() > 1 ? "slice" : "image";
        long pixels = (long) job.image.getWidth() * job.image.getHeight();
        if (job.isVolume()) {
            for (int[] volume : planes.volumes()) {
                long sum = 0;
                for (int index : volume) {
                    sum += inside[planes.place(index)];
                }
                add(where(job.image, volume[0]), sum, volume.length * pixels);
            }
        } else {
            for (int index : planes.indices()) {
                add(where(job.image, index), inside[planes.place(index)], pixels);
            }
        }
    }

    private static String where(ImagePlus image, int index) {
        boolean hyperstack = ResultImage.isHyperStack(image);
        return hyperstack ? ResultImage.where(image, index).trim() : Integer.toString(index);
    }

    /**
     * Examines one slice or volume.
     *
     * @param where its name
     * @param inside the number of its inside pixels
     * @param pixels the number of its pixels
     */
    private void add(String where, long inside, long pixels) {
        all++;
        if (inside == 0 && empty++ == 0) {
            firstEmpty = where;
        }
        if (inside == pixels && full++ == 0) {
            firstFull = where;
        }
    }

    /**
     * Returns a sentence that names the slices or volumes and their distances in that region; null if none lacks a
     * boundary.
     */
    String sentence(String region) {
        boolean inside = DistanceSettings.INSIDE_ONLY.equals(region);
        boolean outside = DistanceSettings.OUTSIDE_ONLY.equals(region);
        String distances = " and so no boundary: all distances are ";
        return sentence(
                "inside" + distances + (inside ? "0" : "infinite"),
                "outside" + distances + (outside ? "0" : "infinite"),
                "\"inside\"");
    }

    /**
     * Returns such a sentence for any kind of result.
     *
     * @param noneInside the end of "has no pixel ..."
     * @param noneOutside the end of "has no pixel ..."
     * @param field the field to check beside the threshold
     */
    String sentence(String noneInside, String noneOutside, String field) {
        String said = (empty > 0 ? sentence(empty, firstEmpty, noneInside) : "")
                + (full > 0 ? sentence(full, firstFull, noneOutside) : "");
        return said.isEmpty() ? null : said + "Look at " + field + " and \"threshold\" if that is not meant.";
    }

    private String sentence(int count, String first, String none) {
        String some = count + " of " + all + " " + what + "s (the first at " + first + ") ";
        return (all == 1 ? "the " + what + " has" : some + (count == 1 ? "has" : "have")) + " no pixel " + none + ". ";
    }
}
