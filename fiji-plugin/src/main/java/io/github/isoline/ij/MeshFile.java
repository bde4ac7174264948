package io.github.isoline.ij;

import io.github.isoline.IsolineException;
import io.github.isoline.Isosurface;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** Writes a mesh of triangles to a file, in the format that its ending says: STL and PLY in binary, or OBJ. */
final class MeshFile {
    private static final String STL = ".stl";
    private static final String PLY = ".ply";

    /** The endings of the formats. */
    static final String[] ENDINGS = {STL, PLY, ".obj"};

    private static final int STL_HEADER_BYTES = 80;
    private static final int CORNERS = 3;
    private static final int BLOCK = 1 << 16;

    private final Isosurface mesh;
    private final OutputStream out;
    private final ByteBuffer block = ByteBuffer.allocate(BLOCK).order(ByteOrder.LITTLE_ENDIAN);

    private MeshFile(Isosurface mesh, OutputStream out) {
        this.mesh = mesh;
        this.out = out;
    }

    /** Writes each mesh to the file of its index. */
    static void save(List<Isosurface> meshes, List<String> names) throws IsolineException {
        OutputFile.writeAll(names, "surface", i -> out -> {
            String name = names.get(i);
            String ending = name.substring(name.lastIndexOf('.')).toLowerCase(Locale.ROOT);
            new MeshFile(meshes.get(i), out).write(ending);
        });
    }

    private void write(String ending) throws IOException, IsolineException {
        switch (ending) {
            case STL:
                stl();
                break;
            case PLY:
                ply();
                break;
            default:
                obj();
                break;
        }
        flush();
    }

    /** Makes room in the block; Escape ends the writing. */
    private void room(int bytes) throws IOException, IsolineException {
        if (block.remaining() < bytes) {
            StackJob.checkEscape();
            flush();
        }
    }

    private void flush() throws IOException {
        out.write(block.array(), 0, block.position());
        block.clear();
    }

    private void text(String format, Object... values) throws IOException, IsolineException {
        byte[] bytes = String.format(Locale.ROOT, format, values).getBytes(StandardCharsets.US_ASCII);
        room(bytes.length);
        block.put(bytes);
    }

    private void stl() throws IOException, IsolineException {
        block.put(new byte[STL_HEADER_BYTES]).putInt(mesh.triangleCount());
        for (int i = 0; i < mesh.triangleCount(); i++) {
            room((CORNERS + 1) * CORNERS * Float.BYTES + Short.BYTES);
            for (float component : normal(i)) {
                block.putFloat(component);
            }
            for (int corner = 0; corner < CORNERS; corner++) {
                for (int axis = 0; axis < CORNERS; axis++) {
                    block.putFloat(mesh.vertex(mesh.corner(i, corner), axis));
                }
            }
            block.putShort((short) 0);
        }
    }

    /** Returns the normal of a triangle, of length 1; 0, 0, 0 of one without area. */
    private float[] normal(int triangle) {
        double[] normal = new double[CORNERS];
        for (int axis = 0; axis < CORNERS; axis++) {
            int next = (axis + 1) % CORNERS;
            int last = (axis + 2) % CORNERS;
            normal[axis] = side(triangle, 1, next) * side(triangle, 2, last)
                    - side(triangle, 1, last) * side(triangle, 2, next);
        }
        double length = Math.sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
        float[] unit = new float[CORNERS];
        for (int axis = 0; axis < CORNERS && length > 0; axis++) {
            unit[axis] = (float) (normal[axis] / length);
        }
        return unit;
    }

    /** Returns a coordinate of the way from the first corner to another one. */
    private double side(int triangle, int corner, int axis) {
        return (double) mesh.vertex(mesh.corner(triangle, corner), axis) - mesh.vertex(mesh.corner(triangle, 0), axis);
    }

    private void ply() throws IOException, IsolineException {
        text("ply\nformat binary_little_endian 1.0\nelement vertex %d\n", mesh.vertexCount());
        for (String name : new String[] {"x", "y", "z", "nx", "ny", "nz"}) {
            text("property float %s\n", name);
        }
        text("element face %d\nproperty list uchar int vertex_indices\nend_header\n", mesh.triangleCount());
        for (int i = 0; i < mesh.vertexCount(); i++) {
            room(2 * CORNERS * Float.BYTES);
            for (int axis = 0; axis < CORNERS; axis++) {
                block.putFloat(mesh.vertex(i, axis));
            }
            for (int axis = 0; axis < CORNERS; axis++) {
                block.putFloat(mesh.normal(i, axis));
            }
        }
        for (int i = 0; i < mesh.triangleCount(); i++) {
            room(1 + CORNERS * Integer.BYTES);
            block.put((byte) CORNERS);
            for (int corner = 0; corner < CORNERS; corner++) {
                block.putInt(mesh.corner(i, corner));
            }
        }
    }

    private void obj() throws IOException, IsolineException {
        for (int i = 0; i < mesh.vertexCount(); i++) {
            text("v %s %s %s\n", mesh.vertex(i, 0), mesh.vertex(i, 1), mesh.vertex(i, 2));
        }
        for (int i = 0; i < mesh.vertexCount(); i++) {
            text("vn %s %s %s\n", mesh.normal(i, 0), mesh.normal(i, 1), mesh.normal(i, 2));
        }
        for (int i = 0; i < mesh.triangleCount(); i++) {
            // Vertices are numbered from 1 on.
            text("f %1$d//%1$d %2$d//%2$d %3$d//%3$d\n", number(i, 0), number(i, 1), number(i, 2));
        }
    }

    private int number(int triangle, int corner) {
        return mesh.corner(triangle, corner) + 1;
    }
}
