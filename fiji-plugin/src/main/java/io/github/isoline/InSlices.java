package io.github.isoline;

/** A list of what was found in the slices of a stack. */
public interface InSlices {
    /** Returns the number of elements. */
    int count();

    /**
     * Returns the slice of an element, from 0 on.
     *
     * @param index of the element, from 0 on
     */
    int slice(int index);
}
