package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The commands' defaults on images of the kinds that ImageJ's menu opens, and on the moon. ImageJ's Blobs, Boats and
 * Bridge are not here: images with the same properties are drawn, whose borders are therefore known.
 */
class FirstPicturesTest extends HeadlessTest {
    private static final int BLOB = 216;
    private static final int GROUND = 40;
    private static final int CELL = 36;
    private static final int ACROSS = 7;
    private static final int LONG = 40;

    /** Returns the distance from the border of a blob, negative inside, at a pixel of the blob's cell of the grid. */
    private static double fromBlob(int x, int y) {
        int number = x / CELL + ACROSS * (y / CELL);
        double angle = 0.7 * number;
        double dx = x % CELL + 0.5 - CELL / 2.0;
        double dy = y % CELL + 0.5 - CELL / 2.0;
        double along = (dx * Math.cos(angle) + dy * Math.sin(angle)) / (7 + number % 5);
        double across = (dy * Math.cos(angle) - dx * Math.sin(angle)) / (6 + number % 4);
        return (Math.hypot(along, across) - 1) * (6 + number % 4);
    }

    /** Returns 49 blobs as in ImageJ's Blobs: bright pixels, shown dark by an inverting table, with soft borders. */
    private static ImagePlus blobs() {
        Random random = new Random(5);
        ByteProcessor pixels = new ByteProcessor(ACROSS * CELL, ACROSS * CELL);
        for (int i = 0; i < pixels.getPixelCount(); i++) {
            double share = 1 / (1 + Math.exp(fromBlob(i % pixels.getWidth(), i / pixels.getWidth())));
            double value = GROUND + (BLOB - GROUND) * share + 8 * random.nextGaussian();
            pixels.set(i, (int) Math.max(0, Math.min(255, Math.round(value))));
        }
        pixels.invertLut();
        return new ImagePlus("blobs", pixels);
    }

    /** Returns the number of blobs that have one label with more than a share of their pixels in common. */
    private static int found(ImageProcessor labels, double share) {
        int count = (int) labels.getStats().max + 1;
        int[] size = new int[count];
        int[] blobSize = new int[ACROSS * ACROSS];
        int[][] common = new int[ACROSS * ACROSS][count];
        for (int i = 0; i < labels.getPixelCount(); i++) {
            int x = i % labels.getWidth();
            int y = i / labels.getWidth();
            int label = (int) labels.getf(i);
            size[label]++;
            if (fromBlob(x, y) < 0) {
                blobSize[x / CELL + ACROSS * (y / CELL)]++;
                common[x / CELL + ACROSS * (y / CELL)][label]++;
            }
        }
        int found = 0;
        for (int blob = 0; blob < blobSize.length; blob++) {
            for (int label = 1; label < count; label++) {
                int both = common[blob][label];
                found += both > share * (blobSize[blob] + size[label] - both) ? 1 : 0;
            }
        }
        return found;
    }

    @ParameterizedTest
    @CsvSource({
        // The command, and the least share of the pixels of a blob or its label that they have in common.
        "Grow Objects..., 0.8",
        // A region snake counts the soft border as the inside, because the ground varies less.
        "Region Snake..., 0.5",
    })
    void blobsShownInvertedAreFound(String command, double share) {
        ImageProcessor labels =
                run(command, blobs(), "start=detect label_image").getProcessor();
        assertEquals(ACROSS * ACROSS, (int) labels.getStats().max);
        assertEquals(ACROSS * ACROSS, found(labels, share));
    }

    /** Counts the rows, those of closed curves, and those of more than 40 points. */
    private static int[] rows() {
        ResultsTable table = ResultsTable.getResultsTable();
        int[] rows = {table.size(), 0, 0};
        for (int row = 0; row < table.size(); row++) {
            rows[1] += table.getValue("Closed", row) == 1 ? 1 : 0;
            rows[2] += table.getValue("Points", row) > LONG ? 1 : 0;
        }
        return rows;
    }

    @ParameterizedTest
    @ValueSource(strings = {"Edge Drawing...", "Isolines..."})
    void blobsHaveOneClosedCurveEach(String command) {
        macro(blobs(), "run('" + command + "', 'results_table');");
        int[] rows = rows();
        int blobs = ACROSS * ACROSS;
        assertTrue(rows[0] <= blobs + 2 && rows[1] >= blobs - 2, Arrays.toString(rows));
    }

    /** Returns the number of the part of the drawn photograph at a pixel: sky, sea, hull, sail or mast. */
    private static int part(int x, int y) {
        if (x >= 352 && x < 358 && y >= 90 && y < 380) {
            return 4;
        }
        if (x >= 370 && y >= 110 && y < 330 && x - 370 < (y - 110) * 0.7) {
            return 3;
        }
        if (y >= 380 && y < 440 && x > 180 + (y - 380) * 0.8 && x < 600 - (y - 380) * 1.2) {
            return 2;
        }
        return y < 300 ? 0 : 1;
    }

    /** Returns a large grey photograph of a boat, of low contrast, unevenly lit, unsharp and noisy. */
    private static ImagePlus boat() {
        int[] grey = {150, 122, 82, 182, 100};
        int width = 720;
        int height = 576;
        FloatProcessor scene = new FloatProcessor(width, height);
        for (int i = 0; i < width * height; i++) {
            scene.setf(i, grey[part(i % width, i / width)] + 0.02f * (i % width) - 0.02f * (i / width));
        }
        scene.blurGaussian(0.8);
        Random random = new Random(6);
        ByteProcessor pixels = new ByteProcessor(width, height);
        for (int i = 0; i < width * height; i++) {
            pixels.set(i, (int) Math.round(scene.getf(i) + 2 * random.nextGaussian()));
        }
        return new ImagePlus("boat", pixels);
    }

    /** Returns true for a pixel that has one of another part within a distance. */
    private static boolean nearBorder(int x, int y, int distance) {
        for (int dy = -distance; dy <= distance; dy++) {
            for (int dx = -distance; dx <= distance; dx++) {
                if (part(x + dx, y + dy) != part(x, y)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean hasEdge(ImageProcessor edges, int x, int y, int distance) {
        for (int dy = -distance; dy <= distance; dy++) {
            for (int dx = -distance; dx <= distance; dx++) {
                if (edges.get(x + dx, y + dy) > 0) {
                    return true;
                }
            }
        }
        return false;
    }

    @Test
    void edgesOfAPhotographAreThoseOfItsParts() {
        ImageProcessor edges = run("Edge Drawing...", boat(), "edge_map").getProcessor();
        double[] border = new double[2];
        double[] drawn = new double[2];
        for (int y = 4; y < edges.getHeight() - 4; y++) {
            for (int x = 4; x < edges.getWidth() - 4; x++) {
                if (nearBorder(x, y, 1)) {
                    border[hasEdge(edges, x, y, 2) ? 1 : 0]++;
                }
                if (edges.get(x, y) > 0) {
                    drawn[nearBorder(x, y, 2) ? 1 : 0]++;
                }
            }
        }
        double recall = border[1] / (border[0] + border[1]);
        double precision = drawn[1] / (drawn[0] + drawn[1]);
        assertTrue(recall > 0.9 && precision > 0.9, recall + " " + precision);
    }

    /** The moon's plain has faint texture, and its craters have rims: edges lie where the image is steep. */
    @Test
    void edgesOfTheMoonAreItsCraters() {
        ImagePlus moon = open("moon.png");
        ImageProcessor edges =
                run("Edge Drawing...", moon, "edge_map results_table").getProcessor();
        FloatProcessor smooth = moon.getProcessor().convertToFloatProcessor();
        smooth.blurGaussian(1.5);
        double[] slope = new double[2];
        double[] count = new double[2];
        for (int y = 4; y < edges.getHeight() - 4; y++) {
            for (int x = 4; x < edges.getWidth() - 4; x++) {
                int edge = edges.get(x, y) > 0 ? 1 : 0;
                double across = smooth.getf(x + 1, y) - smooth.getf(x - 1, y);
                slope[edge] += Math.hypot(across, smooth.getf(x, y + 1) - smooth.getf(x, y - 1));
                count[edge]++;
            }
        }
        int[] rows = rows();
        double steeper = slope[1] / count[1] / (slope[0] / count[0]);
        double drawn = count[1] / (count[0] + count[1]);
        assertTrue(rows[2] >= 20 && steeper > 4 && drawn < 0.05, rows[2] + " " + steeper + " " + drawn);
    }
}
