package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/**
 * Many objects at once, from labels to labels: each has a front of its own, which grows from its start and stops at its
 * neighbours. This is the table of the objects, in Java's own memory, in the order of their labels.
 *
 * <p>Lengths and volumes are in the unit of the input's spacing; the origin is the centre of the first voxel.
 */
public final class Objects extends Records {
    /** The name of the operation. */
    public static final String NAME = "objects";

    // The layout of isoline_object, whose label is first.
    private static final int BYTES = 64;
    private static final int FLAGS_AT = 4;
    private static final int VOXELS_AT = 8;
    private static final int VOLUME_AT = 16;
    private static final int CENTRE_AT = 24;
    private static final int MEAN_AT = 48;
    private static final int BACKGROUND_AT = 56;

    private static final int AT_BORDER = 1;
    private static final int TOUCHES = 2;

    private final Report report;

    private Objects(Report report, Pointer list) throws IsolineException {
        super(list, "object_list", BYTES, "Take a part of the image.");
        this.report = report;
    }

    /**
     * Runs the operation.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input pixels of any type; its spacing is the voxel's size
     * @param starts labels, 0 for none, of any type; null for automatic starts
     * @param output receives the label of each voxel, of a type that holds the largest one
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @throws IsolineException with the library's message
     */
    public static Objects run(
            Context context,
            Params params,
            PixelBuffer input,
            PixelBuffer starts,
            PixelBuffer output,
            int depth,
            Progress progress)
            throws IsolineException {
        Structs.Image in = input.describe(depth);
        Structs.Image start = starts == null ? null : starts.describe(depth);
        Structs.Image out = output.describe(depth);
        Pointer struct = params.struct(NAME);
        PointerByReference found = new PointerByReference();
        try {
            Report done = Report.of(
                    context,
                    progress,
                    (at, callback, report) ->
                            IsolineLibrary.isoline_objects(at, in, start, struct, callback, out, found, report));
            return new Objects(done, found.getValue());
        } finally {
            IsolineLibrary.isoline_object_list_free(found.getValue());
        }
    }

    /** Returns the report of the run. */
    public Report report() {
        return report;
    }

    /** Returns the label of an object. */
    public int label(int object) {
        return whole(object, 0);
    }

    /** Returns the number of voxels of an object; 0 of one that has vanished. */
    public long voxels(int object) {
        return large(object, VOXELS_AT);
    }

    /** Returns the volume of an object; of an image of one slice its area. */
    public double volume(int object) {
        return number(object, VOLUME_AT);
    }

    /** Returns x (axis 0), y (1) or z (2) of the mean of an object's voxels. */
    public double centre(int object, int axis) {
        return number(object, CENTRE_AT + axis * Double.BYTES);
    }

    /** Returns the mean of an object's voxels, in the image's own units. */
    public double mean(int object) {
        return number(object, MEAN_AT);
    }

    /** Returns the mean of the background near an object; NaN where there is none. */
    public double background(int object) {
        return number(object, BACKGROUND_AT);
    }

    /** Returns true if an object has a voxel at the border of the image. */
    public boolean isAtBorder(int object) {
        return (whole(object, FLAGS_AT) & AT_BORDER) != 0;
    }

    /** Returns true if an object has a voxel beside one of another object. */
    public boolean touches(int object) {
        return (whole(object, FLAGS_AT) & TOUCHES) != 0;
    }
}
