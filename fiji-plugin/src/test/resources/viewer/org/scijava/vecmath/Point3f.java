package org.scijava.vecmath;

/** A stand-in for the class of this name. */
public class Point3f {
    public float x;
    public float y;
    public float z;

    public Point3f(float[] p) {
        x = p[0];
        y = p[1];
        z = p[2];
    }

    public Point3f(float x, float y, float z) {
        this(new float[] {x, y, z});
    }
}
