package io.github.isoline;

/**
 * The exact Euclidean distance of every pixel's centre to the boundary of a mask, in 2D and 3D.
 *
 * <p>A pixel is the box of its spacing around its centre, and the boundary is the faces between boxes of inside pixels
 * and boxes of outside pixels; the image's border is not a boundary. Distances are in the unit of the spacing, negative
 * inside. Without any inside pixel all distances are +∞, without any outside pixel -∞.
 */
public final class Distance {
    /** The name of the operation. */
    public static final String NAME = "distance";

    private Distance() {}

    /**
     * Runs the operation; after a cancel any part of the output may have been written.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param mask pixels of any type; its spacing is the pixel's size
     * @param output pixels of type F32 and the same size
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @return the report of the run
     * @throws IsolineException with the library's message
     */
    public static Report run(
            Context context, Params params, PixelBuffer mask, PixelBuffer output, int depth, Progress progress)
            throws IsolineException {
        return Operation.run(NAME, context, params, mask, output, depth, progress);
    }
}
