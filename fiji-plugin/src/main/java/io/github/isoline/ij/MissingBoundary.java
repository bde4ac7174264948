package io.github.isoline.ij;

/** Counts the volumes or slices that have no boundary to be far from, and says so. */
final class MissingBoundary {
    private final String what;
    private int all;
    private int empty;
    private String firstEmpty;
    private int full;
    private String firstFull;

    /**
     * @param what one of them is called
     */
    MissingBoundary(String what) {
        this.what = what;
    }

    /**
     * Looks at one.
     *
     * @param where it is, in words
     * @param inside how many of its pixels are inside
     * @param pixels how many it has
     */
    void add(String where, long inside, long pixels) {
        all++;
        if (inside == 0 && empty++ == 0) {
            firstEmpty = where;
        }
        if (inside == pixels && full++ == 0) {
            firstFull = where;
        }
    }

    /** What is missing, where, and what the distances of that region are; null if nothing is. */
    String sentence(String region) {
        String said = "";
        if (empty > 0) {
            boolean infinite = !DistanceSettings.INSIDE_ONLY.equals(region);
            said += sentence(empty, firstEmpty, "inside", infinite);
        }
        if (full > 0) {
            boolean infinite = !DistanceSettings.OUTSIDE_ONLY.equals(region);
            said += sentence(full, firstFull, "outside", infinite);
        }
        return said.isEmpty()
                ? null
                : said + "Look at \"inside\" and \"threshold\" if that is not meant.";
    }

    private String sentence(int count, String first, String missing, boolean infinite) {
        String some = count + " of " + all + " " + what + "s (the first at " + first + ") ";
        return (all == 1 ? "the " + what + " has" : some + (count == 1 ? "has" : "have"))
                + " no pixel "
                + missing
                + " and so no boundary: all distances are "
                + (infinite ? "infinite. " : "0. ");
    }
}
