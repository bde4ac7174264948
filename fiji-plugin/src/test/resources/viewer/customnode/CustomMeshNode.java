package customnode;

import ij3d.ContentNode;

/** A stand-in for the class of this name. */
public class CustomMeshNode extends ContentNode {
    private CustomMesh mesh;

    protected CustomMeshNode() {}

    public CustomMeshNode(CustomMesh mesh) {
        this.mesh = mesh;
    }

    public CustomMesh getMesh() {
        return mesh;
    }
}
