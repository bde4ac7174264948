package io.github.isoline.ij;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.io.RoiEncoder;
import ij.measure.ResultsTable;
import ij.process.ImageProcessor;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.io.TempDir;

/** The common part of the tests of region snakes without a display. */
abstract class SnakeTest extends HeadlessTest {
    static final String SNAKE = "Region Snake...";

    @TempDir
    Path folder;

    /** Returns a line of a macro. */
    static String call(String options) {
        return "run(\"" + SNAKE + "\", \"" + options.replace("\\", "/") + "\");";
    }

    /** Replaces the pixels to the right of a column by those of another plane of 8 bits. */
    static void putRight(ImagePlus image, ImageProcessor other, int column) {
        for (int i = 0; i < other.getPixelCount(); i++) {
            if (i % image.getWidth() > column) {
                image.getProcessor().set(i, other.get(i));
            }
        }
    }

    /** Returns the labels that the command makes. */
    static ImagePlus labels(ImagePlus image, String options) {
        return run(SNAKE, image, options + " label_image");
    }

    static ResultsTable table() {
        return ResultsTable.getResultsTable();
    }

    static final int BRIGHT = 150;
    static final int DARK = 100;

    /** Returns a bright disc in noise, the same in every run. */
    static ImagePlus disc(int width, int height, double x0, double y0, double radius) {
        ImagePlus disc = new ImagePlus("disc", plane(width, height, x0, y0, radius, 1));
        return disc;
    }

    /** Returns a disc that moves to the right by a number of pixels from one slice to the next. */
    static ImagePlus moving(int slices, double step) {
        ImageStack stack = new ImageStack(120, 80);
        for (int z = 0; z < slices; z++) {
            stack.addSlice(plane(120, 80, 30 + step * z, 40, 12, z + 1));
        }
        ImagePlus image = new ImagePlus("moving", stack);
        image.setDimensions(1, slices, 1);
        return image;
    }

    static ImageProcessor plane(int width, int height, double x0, double y0, double radius, int seed) {
        Random random = new Random(seed);
        byte[] pixels = new byte[width * height];
        for (int i = 0; i < pixels.length; i++) {
            double dx = i % width + 0.5 - x0;
            double dy = i / width + 0.5 - y0;
            double mean = dx * dx + dy * dy <= radius * radius ? BRIGHT : DARK;
            double noisy = mean + 12 * random.nextGaussian();
            pixels[i] = (byte) Math.max(0, Math.min(255, Math.round(noisy)));
        }
        return new ij.process.ByteProcessor(width, height, pixels);
    }

    /** Returns the intersection over union of the pixels with a label and a disc. */
    static double overlap(ImageProcessor labels, int label, double x0, double y0, double radius) {
        int both = 0;
        int either = 0;
        for (int i = 0; i < labels.getPixelCount(); i++) {
            double dx = i % labels.getWidth() + 0.5 - x0;
            double dy = i / labels.getWidth() + 0.5 - y0;
            boolean a = dx * dx + dy * dy <= radius * radius;
            boolean b = labels.getf(i) == label;
            both += a && b ? 1 : 0;
            either += a || b ? 1 : 0;
        }
        return (double) both / either;
    }

    /** Returns the number of pixels with a label. */
    static int count(ImageProcessor labels, int label) {
        int count = 0;
        for (int i = 0; i < labels.getPixelCount(); i++) {
            count += labels.getf(i) == label ? 1 : 0;
        }
        return count;
    }

    /** Returns the options for a start from a file as the ROI Manager saves it. */
    final String from(Overlay rois) {
        Path file = folder.resolve("starts.zip");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file));
                DataOutputStream out = new DataOutputStream(zip)) {
            int number = 0;
            for (Roi roi : rois.toArray()) {
                // The name of a selection is stored in itself; that of an entry is only for the archive.
                zip.putNextEntry(new ZipEntry("roi" + ++number + ".roi"));
                new RoiEncoder(out).write(roi);
                out.flush();
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return "start=manager start_file=[" + file + "]";
    }
}
