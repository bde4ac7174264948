package io.github.isoline.ij;

import ij.ImagePlus;

/** A preview that depends on which pixels of the current slice are a shape. */
abstract class ShapePreview<S> extends LivePreview<S> {
    private static final double PERCENT = 100;

    /** Of each slice, null where it is not known; of the worker alone but for being forgotten. */
    private final TwoValues[] values;

    ShapePreview(ImagePlus image, Listener listener) {
        super(image, listener);
        values = new TwoValues[image.getStackSize()];
        followSelection();
    }

    /** A share in percent, with three digits. */
    static double percent(int part, int all) {
        return PERCENT * part / all;
    }

    /** The values of some slices; null if a newer wish came meanwhile. */
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
