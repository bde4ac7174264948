package ij3d;

import customnode.CustomIndexedTriangleMesh;
import customnode.CustomMeshNode;
import org.scijava.vecmath.Color3f;

/** A stand-in for the class of this name. */
public class ContentInstant {
    CustomIndexedTriangleMesh mesh;
    private Color3f color;

    public ContentInstant(String name) {}

    public void setColor(Color3f color) {
        this.color = color;
    }

    public void display(ContentNode node) {
        mesh = (CustomIndexedTriangleMesh) ((CustomMeshNode) node).getMesh();
        if (mesh.getColor() != color) {
            throw new IllegalStateException("two colours");
        }
    }
}
