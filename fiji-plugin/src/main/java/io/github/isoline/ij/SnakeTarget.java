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

    /** The name of the outline on a neighbouring plane that the target continues; "" for a start of its own. */
    final String parent;

    SnakeTarget(int id, String name, int home, int[] nodes) {
        this(id, name, home, nodes, "");
    }

    private SnakeTarget(int id, String name, int home, int[] nodes, String parent) {
        this.id = id;
        this.name = name;
        this.home = home;
        this.nodes = nodes;
        this.parent = parent;
    }

    /** Returns the same target with an outline. */
    SnakeTarget from(int[] outline) {
        return new SnakeTarget(id, name, home, outline);
    }

    /**
     * Returns the same target on a neighbouring plane.
     *
     * @param from its nodes
     * @param outline the name of the outline that it continues
     */
    SnakeTarget next(int[] from, String outline) {
        return new SnakeTarget(id, name, home, from, outline);
    }

    /** Returns the name on a plane: "nucleus 7" on its own, "nucleus 7 s3" on others. */
    String name(ImagePlus image, int index) {
        return index == home ? name : name + SegmentRois.where(image, index);
    }
}
