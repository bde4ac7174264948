package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;

/** The common part of the tests of the level set without a display. */
abstract class LevelSetTest extends HeadlessTest {
    static final String LEVEL_SET = "Level Set...";

    /** The grey values of the object and of its surroundings. */
    static final int THING = 80;

    static final int AROUND = 10;

    /** Returns a line of a macro. */
    static String call(String options) {
        return "run(\"" + LEVEL_SET + "\", \"" + options.replace("\\", "/") + "\");";
    }

    /** Returns the mask that the command makes. */
    static ImagePlus mask(ImagePlus image, String options) {
        return run(LEVEL_SET, image, options + " mask_stack");
    }

    /** The options for a fixed range around the object's grey value. */
    static final String RANGE = " range=values target=80 epsilon=20 alpha=0.2";

    /**
     * Returns a grey ball in the dark, in the middle of a stack.
     *
     * @param radius in the unit of the voxel sizes
     */
    static ImagePlus ball(int width, int height, int depth, double radius, double... voxel) {
        double x0 = (width - 1) / 2.0;
        double y0 = (height - 1) / 2.0;
        double z0 = (depth - 1) / 2.0;
        ImageStack stack = new ImageStack(width, height);
        for (int z = 0; z < depth; z++) {
            byte[] pixels = new byte[width * height];
            for (int i = 0; i < pixels.length; i++) {
                double dx = (i % width - x0) * voxel[0];
                double dy = (i / width - y0) * voxel[1];
                double dz = (z - z0) * voxel[2];
                boolean inside = dx * dx + dy * dy + dz * dz <= radius * radius;
                // This adds a little noise, the same in every run.
                int noise = (int) ((i * 2654435761L + z * 40503L >> 7) % 5);
                pixels[i] = (byte) ((inside ? THING : AROUND) + noise - 2);
            }
            stack.addSlice("", pixels);
        }
        ImagePlus image = new ImagePlus("ball", stack);
        image.setDimensions(1, depth, 1);
        image.getCalibration().pixelWidth = voxel[0];
        image.getCalibration().pixelHeight = voxel[1];
        image.getCalibration().pixelDepth = voxel[2];
        if (voxel[0] != 1 || voxel[2] != 1) {
            image.getCalibration().setUnit("um");
        }
        return image;
    }

    /** Returns a ball of one slice. */
    static ImagePlus disc(int width, int height, double radius) {
        ImagePlus disc = ball(width, height, 1, radius, 1, 1, 1);
        disc.setTitle("disc");
        return disc;
    }

    /**
     * Returns the Dice coefficient 2 |A and B| / (|A| + |B|) of a mask and the pixels that are nearer to the object's
     * grey value than to the background's.
     */
    static double dice(ImagePlus mask, ImagePlus image) {
        long both = 0;
        long all = 0;
        for (int s = 1; s <= image.getStackSize(); s++) {
            byte[] a = (byte[]) mask.getStack().getPixels(s);
            byte[] b = (byte[]) image.getStack().getPixels(s);
            for (int i = 0; i < a.length; i++) {
                boolean inside = (b[i] & 0xff) > (THING + AROUND) / 2;
                both += a[i] != 0 && inside ? 2 : 0;
                all += (a[i] != 0 ? 1 : 0) + (inside ? 1 : 0);
            }
        }
        return (double) both / all;
    }

    /** Returns the number of inside pixels of a mask. */
    static long count(ImagePlus mask) {
        long count = 0;
        for (int s = 1; s <= mask.getStackSize(); s++) {
            for (byte pixel : (byte[]) mask.getStack().getPixels(s)) {
                count += pixel != 0 ? 1 : 0;
            }
        }
        return count;
    }

    /** Gives an image a selection like a macro does. */
    static void select(ImagePlus image, String code) {
        macro(image, code);
        IJ.resetEscape();
    }
}
