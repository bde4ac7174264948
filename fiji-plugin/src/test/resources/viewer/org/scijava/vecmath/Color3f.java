package org.scijava.vecmath;

/** A stand-in for the class of this name. */
public class Color3f {
    public float x;
    public float y;
    public float z;

    public Color3f(float[] v) {
        x = v[0];
        y = v[1];
        z = v[2];
    }

    public Color3f(float x, float y, float z) {
        this(new float[] {x, y, z});
    }
}
