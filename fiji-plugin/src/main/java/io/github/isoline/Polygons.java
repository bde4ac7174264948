package io.github.isoline;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Arrays;

/**
 * Closed polygons in Java's own memory, which never change. Their nodes are the corners of pixels: (0, 0) is the upper
 * left corner of the image, (width, height) the lower right one.
 */
public final class Polygons {
    private static final int COORDINATES = 2;

    /** Holds x and y alternately. */
    private final int[] nodes;

    /** Holds the index of each polygon's first node, and the end of the last polygon. */
    private final int[] offsets;

    private Polygons(int[] nodes, int[] offsets) {
        this.nodes = nodes;
        this.offsets = offsets;
    }

    /** Joins polygons, whose nodes are x and y alternately; the last node is joined to the first. */
    public static Polygons of(int[]... polygons) {
        int[] offsets = new int[polygons.length + 1];
        for (int i = 0; i < polygons.length; i++) {
            offsets[i + 1] = Math.addExact(offsets[i], polygons[i].length / COORDINATES);
        }
        int[] nodes = new int[Math.multiplyExact(offsets[polygons.length], COORDINATES)];
        for (int i = 0; i < polygons.length; i++) {
            int count = offsets[i + 1] - offsets[i];
            System.arraycopy(polygons[i], 0, nodes, offsets[i] * COORDINATES, count * COORDINATES);
        }
        return new Polygons(nodes, offsets);
    }

    /**
     * Copies the library's polygons.
     *
     * @throws IsolineException if there are more than a Java array holds
     */
    static Polygons copyOf(Structs.Polygons struct) throws IsolineException {
        Status.checkRoom(
                Math.max(struct.node_count, struct.count + 1),
                Integer.MAX_VALUE / COORDINATES,
                "There are " + struct.count + " polygons with " + struct.node_count + " nodes",
                "Take fewer targets, or less max_nodes.");
        int count = (int) struct.count;
        if (count == 0) {
            return of();
        }
        int[] offsets = Status.narrow(struct.offsets.getLongArray(0, count + 1));
        int numbers = (int) struct.node_count * COORDINATES;
        int[] nodes = numbers == 0 ? new int[0] : struct.nodes.getIntArray(0, numbers);
        return new Polygons(nodes, offsets);
    }

    /** Returns the description that the C API takes; the memory belongs to it. */
    Structs.Polygons struct() throws IsolineException {
        Structs.Polygons struct = Structs.init("polygons", new Structs.Polygons());
        struct.count = count();
        struct.node_count = nodeCount();
        struct.nodes = nodes.length == 0 ? Pointer.NULL : memory(nodes);
        Memory ends = new Memory((long) offsets.length * Long.BYTES);
        for (int i = 0; i < offsets.length; i++) {
            ends.setLong((long) i * Long.BYTES, offsets[i]);
        }
        struct.offsets = ends;
        return struct;
    }

    /**
     * Returns a smooth closed curve along each polygon, with about its area: x and y alternately.
     *
     * @param longestEdge in pixels: only the ends of longer edges are rounded; or the automatic value of the region
     *     snakes' parameter node_spacing
     * @param pointsPerEdge 1 to 1024
     */
    public double[][] smooth(double longestEdge, int pointsPerEdge) throws IsolineException {
        double[][] curves = new double[count()][];
        if (curves.length == 0) {
            return curves;
        }
        NativeLoader.load();
        Structs.Polygons struct = struct();
        Memory ends = new Memory((long) offsets.length * Long.BYTES);
        Status.check(IsolineLibrary.isoline_polygons_smooth(struct, longestEdge, pointsPerEdge, 0, ends, Pointer.NULL));
        long capacity = ends.getLong((long) curves.length * Long.BYTES);
        Memory points = new Memory(capacity * COORDINATES * Double.BYTES);
        Status.check(
                IsolineLibrary.isoline_polygons_smooth(struct, longestEdge, pointsPerEdge, capacity, ends, points));
        for (int i = 0; i < curves.length; i++) {
            long from = ends.getLong((long) i * Long.BYTES);
            long count = ends.getLong((i + 1L) * Long.BYTES) - from;
            curves[i] = points.getDoubleArray(from * COORDINATES * Double.BYTES, Math.toIntExact(count * COORDINATES));
        }
        return curves;
    }

    private static Memory memory(int[] numbers) {
        Memory memory = new Memory((long) numbers.length * Integer.BYTES);
        memory.write(0, numbers, 0, numbers.length);
        return memory;
    }

    /** Returns the number of polygons. */
    public int count() {
        return offsets.length - 1;
    }

    /** Returns the number of nodes of all polygons. */
    public int nodeCount() {
        return nodes.length / COORDINATES;
    }

    /** Returns the nodes of one polygon: x and y alternately. */
    public int[] get(int polygon) {
        return Arrays.copyOfRange(nodes, offsets[polygon] * COORDINATES, offsets[polygon + 1] * COORDINATES);
    }
}
