package io.github.isoline;

/** A list of what was found in the slices of a stack. */
public interface InSlices {
    /** Returns the number of elements. */
    int count();

    /** Returns the slice, from 0 on, of an element by its index, from 0 on. */
    int slice(int index);
}
