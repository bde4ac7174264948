package io.github.isoline.ij;

import ij.ImagePlus;

/** A preview that depends on which pixels of the current slice belong to a shape. */
abstract class ShapePreview<S> extends LivePreview<S> {
    private static final double PERCENT = 100;

    /**
     * Holds the values of each slice, null where they are unknown; only the worker writes them, but others may remove
     * them.
     */
    private final TwoValues[] values;

    ShapePreview(ImagePlus image, Listener listener) {
        super(image, listener);
        values = new TwoValues[image.getStackSize()];
        followSelection();
    }

    /** Returns a share in percent. */
    static double percent(int part, int all) {
        return PERCENT * part / all;
    }

    /** Returns the values of some slices; null if a newer request has come. */
    final TwoValues values(int[] indices) throws BadInput {
        TwoValues all = new TwoValues();
        for (int index : indices) {
            TwoValues one;
            synchronized (this) {
                one = values[index - 1];
            }
            if (one == null) {
                if (isOutdated()) {
                    return null;
                }
                one = TwoValues.of(StackJob.pixels(image, index));
                synchronized (this) {
                    values[index - 1] = one;
                }
            }
            all.add(one);
            if (all.isMore()) {
                break;
            }
        }
        return all;
    }

    @Override
    final synchronized void slicesChanged(int slice) {
        if (slice <= values.length) {
            values[slice - 1] = null;
        }
    }
}
