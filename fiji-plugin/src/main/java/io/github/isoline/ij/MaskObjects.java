package io.github.isoline.ij;

import ij.gui.Roi;
import java.awt.Rectangle;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntBinaryOperator;

/**
 * The objects of a mask: components of pixels of one value that are connected by their sides, in a slice or a volume.
 */
final class MaskObjects {
    /** Holds for each slice the number of the object that a pixel belongs to, from 1 on; 0 outside. */
    final int[][] labels;

    /** The number of objects. */
    final int count;

    /**
     * Numbers the objects in the order of their first pixels: slice by slice, row by row. All values but 0 count as
     * one.
     *
     * @param slices of one volume, or a single one; 0 outside
     */
    MaskObjects(byte[][] slices, int width) {
        this(new int[slices.length][slices[0].length], width, (z, i) -> slices[z][i] == 0 ? 0 : 1);
    }

    /**
     * Numbers the objects in that order.
     *
     * @param labels receives the numbers
     * @param values the value of a pixel by its slice and its place there; 0 outside
     */
    MaskObjects(int[][] labels, int width, IntBinaryOperator values) {
        this.labels = labels;
        // Each provisional number points to a smaller one of the same object, or to itself.
        int[] parents = new int[64];
        int used = 0;
        for (int z = 0; z < labels.length; z++) {
            for (int i = 0; i < labels[z].length; i++) {
                int value = values.applyAsInt(z, i);
                if (value == 0) {
                    labels[z][i] = 0;
                    continue;
                }
                int[] before = {
                    i % width == 0 || values.applyAsInt(z, i - 1) != value ? 0 : labels[z][i - 1],
                    i < width || values.applyAsInt(z, i - width) != value ? 0 : labels[z][i - width],
                    z == 0 || values.applyAsInt(z - 1, i) != value ? 0 : labels[z - 1][i],
                };
                int least = 0;
                for (int other : before) {
                    int root = root(parents, other);
                    least = root != 0 && (least == 0 || root < least) ? root : least;
                }
                if (least == 0) {
                    least = ++used;
                    parents = used < parents.length ? parents : Arrays.copyOf(parents, 2 * parents.length);
                    parents[least] = least;
                }
                for (int other : before) {
                    parents[root(parents, other)] = other == 0 ? 0 : least;
                }
                labels[z][i] = least;
            }
        }
        int[] numbers = new int[used + 1];
        int found = 0;
        for (int[] slice : labels) {
            for (int i = 0; i < slice.length; i++) {
                int root = root(parents, slice[i]);
                if (root != 0 && numbers[root] == 0) {
                    numbers[root] = ++found;
                }
                slice[i] = numbers[root];
            }
        }
        count = found;
    }

    private static int root(int[] parents, int number) {
        int root = number;
        while (parents[root] != root) {
            // The path is halved, so that later searches are short.
            parents[root] = parents[parents[root]];
            root = parents[root];
        }
        return root;
    }

    /** Returns the outlines of the objects on a slice by their numbers, which its pixels have; 0 outside. */
    static Map<Integer, Roi> outlines(int[] here, int width) {
        Map<Integer, Rectangle> bounds = new TreeMap<>();
        for (int i = 0; i < here.length; i++) {
            if (here[i] != 0) {
                Rectangle pixel = new Rectangle(i % width, i / width, 1, 1);
                bounds.merge(here[i], pixel, Rectangle::union);
            }
        }
        Map<Integer, Roi> outlines = new TreeMap<>();
        bounds.forEach((label, box) -> outlines.put(label, Outline.of(here, width, label, box)));
        return outlines;
    }
}
