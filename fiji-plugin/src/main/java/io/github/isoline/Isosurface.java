package io.github.isoline;

import java.util.Arrays;
import java.util.List;

/**
 * An isosurface: the surface on which a volume has a value, as a mesh of triangles in Java's own memory, and what was
 * measured on it. Coordinates, areas and volumes are in the unit of the input's spacing; the origin is the centre of
 * the first voxel.
 */
public final class Isosurface {
    /** The name of the operation. */
    public static final String NAME = "isosurface";

    private static final int CORNERS = 3;

    private final Report report;
    private final Structs.SurfaceArrays measured;
    private final float[] vertices;
    private final float[] normals;
    private final int[] triangles;

    private Isosurface(Report report, Structs.SurfaceArrays arrays) throws IsolineException {
        Status.checkRoom(
                Math.max(arrays.vertex_count, arrays.triangle_count),
                Integer.MAX_VALUE / CORNERS,
                "The surface has " + arrays.triangle_count + " triangles",
                "Take a part of the volume, or smooth it.");
        this.report = report;
        measured = arrays;
        int coordinates = CORNERS * (int) arrays.vertex_count;
        vertices = coordinates == 0 ? new float[0] : arrays.vertices.getFloatArray(0, coordinates);
        normals = coordinates == 0 ? new float[0] : arrays.normals.getFloatArray(0, coordinates);
        int corners = CORNERS * (int) arrays.triangle_count;
        triangles = corners == 0 ? new int[0] : arrays.triangles.getIntArray(0, corners);
    }

    /**
     * Runs the operation.
     *
     * @param context the device to run on; the surface is computed on the CPU
     * @param params those of {@link #NAME}
     * @param input pixels of any type; its spacing is the voxel's size
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @throws IsolineException with the library's message, or if the mesh is larger than Java's arrays
     */
    public static Isosurface run(Context context, Params params, PixelBuffer input, int depth, Progress progress)
            throws IsolineException {
        List<Object> arguments = Arrays.asList(input.describe(depth), params.struct(NAME));
        return Operation.compute(
                NAME,
                context,
                arguments,
                progress,
                "surface",
                Structs.init("surface_arrays", new Structs.SurfaceArrays()),
                Isosurface::new);
    }

    /** Returns the report of the run. */
    public Report report() {
        return report;
    }

    /** Returns the number of vertices. */
    public int vertexCount() {
        return vertices.length / CORNERS;
    }

    /** Returns the number of triangles. */
    public int triangleCount() {
        return triangles.length / CORNERS;
    }

    /** Returns x (axis 0), y (1) or z (2) of a vertex. */
    public float vertex(int vertex, int axis) {
        return vertices[CORNERS * vertex + axis];
    }

    /** Returns x (axis 0), y (1) or z (2) of the normal of a vertex, which points outwards. */
    public float normal(int vertex, int axis) {
        return normals[CORNERS * vertex + axis];
    }

    /** Returns the vertex at a corner, 0 to 2, of a triangle, counterclockwise as seen from outside. */
    public int corner(int triangle, int corner) {
        return triangles[CORNERS * triangle + corner];
    }

    /** Returns the level, in the image's own units. */
    public double level() {
        return measured.level;
    }

    /** Returns the area. */
    public double area() {
        return measured.area;
    }

    /** Returns the volume within a closed surface; NaN of another one. */
    public double volume() {
        return measured.volume;
    }

    /** Returns the mean over the area of the mean curvature; NaN without an area. */
    public double meanCurvature() {
        return measured.mean_curvature;
    }

    /** Returns the number of connected pieces. */
    public long pieces() {
        return measured.piece_count;
    }

    /** Returns the Euler characteristic. */
    public long euler() {
        return measured.euler;
    }

    /** Returns true if no edge has only one triangle. */
    public boolean isClosed() {
        return measured.closed != 0;
    }
}
