package io.github.isoline;

/** Draws shapes into masks of type U8. Parts outside the image are clipped. */
public final class Masks {
    private static final int SPHERE_NUMBERS = 4;
    private static final int BOX_NUMBERS = 6;

    private Masks() {}

    /**
     * Fills spheres.
     *
     * @param mask with its spacing
     * @param depth the number of slices, from the first on
     * @param spheres x, y, z of the centre and the radius of one after the other; centres in pixels, where whole
     *     numbers are pixels' centres; radii in the unit of the spacing
     * @param value of the pixels in them
     */
    public static void fillSpheres(PixelBuffer mask, int depth, double[] spheres, int value) throws IsolineException {
        Status.check(IsolineLibrary.isoline_mask_fill_spheres(
                mask.describe(depth), spheres, spheres.length / SPHERE_NUMBERS, (byte) value));
    }

    /**
     * Fills boxes.
     *
     * @param depth the number of slices, from the first on
     * @param boxes smallest x, y, z and largest x, y, z of one after the other, in pixels; pixels whose centres lie
     *     within are filled
     * @param value of the pixels in them
     */
    public static void fillBoxes(PixelBuffer mask, int depth, double[] boxes, int value) throws IsolineException {
        Status.check(IsolineLibrary.isoline_mask_fill_boxes(
                mask.describe(depth), boxes, boxes.length / BOX_NUMBERS, (byte) value));
    }
}
