package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Polygons;
import java.util.List;

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

    /** The plane of that outline; 0 for a start of its own. */
    final int parentIndex;

    /** Holds true for an outline of an earlier pass, which others must not take pixels from. */
    final boolean isRival;

    SnakeTarget(int id, String name, int home, int[] nodes) {
        this(id, name, home, nodes, "", 0, false);
    }

    private SnakeTarget(int id, String name, int home, int[] nodes, String parent, int parentIndex, boolean isRival) {
        this.id = id;
        this.name = name;
        this.home = home;
        this.nodes = nodes;
        this.parent = parent;
        this.parentIndex = parentIndex;
        this.isRival = isRival;
    }

    /** Returns the polygons of targets, in their order. */
    static Polygons polygons(List<SnakeTarget> targets) {
        return Polygons.of(targets.stream().map(target -> target.nodes).toArray(int[][]::new));
    }

    /** Returns the same target with an outline. */
    SnakeTarget from(int[] outline) {
        return new SnakeTarget(id, name, home, outline);
    }

    /** Returns the outline that was found, for the search of others on its plane. */
    SnakeTarget rival(int[] outline) {
        return new SnakeTarget(id, name, home, outline, parent, parentIndex, true);
    }

    /**
     * Returns the same target on a neighbouring plane.
     *
     * @param from its nodes
     * @param outline the name of the outline that it continues
     * @param index the plane of that outline
     */
    SnakeTarget next(int[] from, String outline, int index) {
        return new SnakeTarget(id, name, home, from, outline, index, false);
    }

    /** Returns the number with the name that the user gave it, or with its plane, for messages. */
    String told(ImagePlus image, int index) {
        boolean isNamed = !name.startsWith(SnakeStart.NAME);
        return id + (isNamed ? " (\"" + name(image, index) + "\")" : ResultImage.where(image, index));
    }

    /** Returns the name on a plane: "nucleus 7" on its own, "nucleus 7 s3" on others. */
    String name(ImagePlus image, int index) {
        return index == home ? name : name + ResultImage.where(image, index);
    }
}
