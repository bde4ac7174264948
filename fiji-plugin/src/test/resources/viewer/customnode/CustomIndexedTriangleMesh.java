package customnode;

import java.util.List;
import org.scijava.vecmath.Color3f;
import org.scijava.vecmath.Point3f;

/** A stand-in for the class of this name, which measures what it is given. */
public class CustomIndexedTriangleMesh extends CustomMesh {
    private final Point3f[] vertices;
    private final int[] faces;
    private final Color3f color;
    private final float transp;

    public CustomIndexedTriangleMesh(List<Point3f> mesh) {
        throw new UnsupportedOperationException();
    }

    public CustomIndexedTriangleMesh(Point3f[] vertices, int[] faces) {
        this(vertices, faces, new Color3f(0, 1, 0), 0);
    }

    public CustomIndexedTriangleMesh(Point3f[] vertices, int[] faces, Color3f color, float transp) {
        this.vertices = vertices;
        this.faces = faces;
        this.color = color;
        this.transp = transp;
    }

    public Color3f getColor() {
        return color;
    }

    /** Returns numbers of vertices and triangles, the volume, the smallest x, the colour and the transparency. */
    public String describe() {
        double volume = 0;
        double least = Double.POSITIVE_INFINITY;
        for (int i = 0; i < faces.length; i += 3) {
            Point3f a = vertices[faces[i]];
            Point3f b = vertices[faces[i + 1]];
            Point3f c = vertices[faces[i + 2]];
            volume += a.x * ((double) b.y * c.z - (double) b.z * c.y)
                    + a.y * ((double) b.z * c.x - (double) b.x * c.z)
                    + a.z * ((double) b.x * c.y - (double) b.y * c.x);
            least = Math.min(least, a.x);
        }
        int rgb = Math.round(255 * color.x) << 16 | Math.round(255 * color.y) << 8 | Math.round(255 * color.z);
        return vertices.length + " " + faces.length / 3 + " " + volume / 6 + " " + least + " "
                + Integer.toHexString(rgb) + " " + transp;
    }
}
