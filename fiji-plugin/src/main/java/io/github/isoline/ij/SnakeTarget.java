package io.github.isoline.ij;

import ij.ImagePlus;

/** A polygon that a region snake starts from. */
final class SnakeTarget {
    /** The number in the table and in label images, from 1 on. */
    final int id;

    /** The nodes of a simple polygon: pixel corners, x and y alternately. */
    final int[] nodes;

    private final String name;

    /** The plane on which the name has no suffix; 0 for none. */
    private final int home;

    SnakeTarget(int id, String name, int home, int[] nodes) {
        this.id = id;
        this.name = name;
        this.home = home;
        this.nodes = nodes;
    }

    /** Returns the same target with another start. */
    SnakeTarget at(int[] from) {
        return new SnakeTarget(id, name, home, from);
    }

    /** Returns the name on a plane: "nucleus 7" on its own, "nucleus 7 s3" on others. */
    String name(ImagePlus image, int index) {
        return index == home ? name : name + SegmentRois.where(image, index);
    }
}
