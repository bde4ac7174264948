package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import java.awt.Color;
import java.awt.Polygon;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests region snakes on real and on noisy images, of all pixel types, and what is done with the outlines. */
class SnakeImagesTest extends SnakeTest {
    @Test
    void coinsAreFoundFromRoughCircles() {
        ImagePlus coins = open("coins.png");
        // These are the centres of six coins, shifted by a third of their size.
        int[][] middles = {{44, 54}, {99, 56}, {155, 51}, {216, 48}, {44, 124}, {265, 116}};
        Overlay starts = new Overlay();
        for (int[] middle : middles) {
            starts.add(new OvalRoi(middle[0] - 16, middle[1] - 16, 26, 26));
        }
        ImagePlus labels = labels(coins, from(starts) + " results_table");
        assertEquals(middles.length, table().size());
        for (int i = 0; i < middles.length; i++) {
            assertEquals("converged", table().getStringValue("Status", i));
            double area = table().getValue("Area", i);
            assertEquals(count(labels.getProcessor(), i + 1), area);
            // The coins have about 40 pixels in diameter.
            assertTrue(area > 900 && area < 2000, "coin " + i + " of " + area + " pixels");
            assertEquals(i + 1, labels.getProcessor().get(middles[i][0], middles[i][1]));
        }
    }

    @Test
    void outlinesHoldThePixelsOfTheLabels() {
        ImagePlus coins = open("coins.png");
        coins.setRoi(new OvalRoi(305, 15, 60, 60));
        ImageProcessor labels = labels(coins, "overlay node_spacing=8").getProcessor();
        ImageProcessor filled = new ByteProcessor(coins.getWidth(), coins.getHeight());
        filled.setValue(1);
        filled.fill(coins.getOverlay().get(0));
        Polygon outline = coins.getOverlay().get(0).getPolygon();
        int inside = 0;
        for (int i = 0; i < filled.getPixelCount(); i++) {
            int x = i % filled.getWidth();
            int y = i / filled.getWidth();
            inside += labels.get(i);
            // ImageJ differs only where a pixel's very centre lies on an edge.
            if (filled.get(i) != labels.get(i)) {
                assertTrue(isOnEdge(outline, 2 * x + 1, 2 * y + 1), x + " " + y);
            }
        }
        assertTrue(inside > 2000, "inside " + inside);
    }

    /** Returns true if a point lies on an edge; the coordinates are doubled. */
    private static boolean isOnEdge(Polygon p, int x, int y) {
        for (int i = 0; i < p.npoints; i++) {
            int next = (i + 1) % p.npoints;
            if (new java.awt.geom.Line2D.Double(
                                    2 * p.xpoints[i], 2 * p.ypoints[i], 2 * p.xpoints[next], 2 * p.ypoints[next])
                            .ptSegDist(x, y)
                    < 1e-6) {
                return true;
            }
        }
        return false;
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void flatImagesAreNoSuccess(int bits) {
        for (double value : new double[] {0, 100, Double.NaN}) {
            if (bits < 32 && Double.isNaN(value)) {
                continue;
            }
            ImagePlus image = IJ.createImage("flat", bits + "-bit black", 80, 60, 1);
            image.getProcessor().setValue(value);
            image.getProcessor().fill();
            image.setRoi(new OvalRoi(30, 20, 20, 20));
            Outcome outcome = macro(image, call("label_image results_table"));
            assertFalse(outcome.log.contains("converged"), value + ": " + outcome.log);
            assertTrue(outcome.log.contains("1 target, flat"), value + ": " + outcome.log);
            assertTrue(outcome.log.contains("(flat): warning: nothing to segment: all"), outcome.log);
            int last = table().size() - 1;
            assertEquals("flat", table().getStringValue("Status", last));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void allPixelTypesGiveTheSameOutline(int bits) {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        image.setRoi(new OvalRoi(34, 30, 24, 24));
        ImagePlus wanted = labels(image, "results_table");
        double mean = table().getValue("Mean", 0);
        table().reset();
        ImagePlus other = new ImagePlus("disc", image.getProcessor().duplicate());
        convert(other, bits);
        other.setRoi(new OvalRoi(34, 30, 24, 24));
        String options = bits == 32 ? "results_table range_min=0 range_max=255" : "results_table";
        ImagePlus got = labels(other, options);
        assertArrayEquals((short[]) wanted.getProcessor().getPixels(), (short[])
                got.getProcessor().getPixels());
        assertEquals(mean, table().getValue("Mean", 0), 1e-6);
    }

    @Test
    void coarseLevelsSaveIterationsOfTheWholeImage() {
        ImagePlus image = disc(150, 140, 75, 70, 50);
        double[] iterations = new double[2];
        for (int i = 0; i < 2; i++) {
            table().reset();
            image.setRoi(new OvalRoi(69, 64, 12, 12));
            macro(image, call("results_table margin=5 largest_step=1 pyramid_levels=" + (1 + 2 * i)));
            assertEquals(Math.PI * 50 * 50, table().getValue("Area", 0), 200);
            iterations[i] = table().getValue("Iterations", 0);
        }
        assertTrue(2 * iterations[1] <= iterations[0], iterations[0] + " " + iterations[1]);
    }

    @Test
    void signedPixelsAreGivenAsImageJShowsThem() {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        ShortProcessor signed = new ShortProcessor(90, 80);
        for (int i = 0; i < signed.getPixelCount(); i++) {
            signed.set(i, 32768 - 500 + image.getProcessor().get(i));
        }
        ImagePlus shown = new ImagePlus("signed", signed);
        shown.getCalibration().setSigned16BitCalibration();
        for (ImagePlus one : new ImagePlus[] {image, shown}) {
            one.setRoi(new OvalRoi(34, 30, 24, 24));
            macro(one, call("results_table"));
        }
        assertEquals(BRIGHT, table().getValue("Mean", 0), 4);
        assertEquals(DARK, table().getValue("Mean outside", 0), 4);
        for (String mean : new String[] {"Mean", "Mean outside"}) {
            assertEquals(table().getValue(mean, 0) - 500, table().getValue(mean, 1), 1e-6);
        }
        for (String same : new String[] {"SD inside", "SD outside", "Area"}) {
            assertEquals(table().getValue(same, 0), table().getValue(same, 1), 1e-6);
        }
    }

    @Test
    void targetsThatReachTheirWindowsBorderAreSaid() {
        // The disc reaches farther to the right than the window of this start.
        ImagePlus image = disc(200, 180, 100, 90, 60);
        Roi start = new OvalRoi(60, 65, 50, 50);
        image.setRoi(start);
        Outcome outcome = macro(image, call("results_table overlay"));
        assertTrue(outcome.log.contains("1 target reached the border of the window (number 1; white"));
        assertEquals(1, table().getValue("Touches window", 0));
        assertEquals(Color.WHITE, image.getOverlay().get(0).getStrokeColor());
        for (String enough : new String[] {"margin=2", "background=image"}) {
            image.setRoi(start);
            outcome = macro(image, call("results_table overlay " + enough));
            assertFalse(outcome.log.contains("reached the border"), outcome.log);
            assertEquals(0, table().getValue("Touches window", table().size() - 1));
            assertNotEquals(Color.WHITE, image.getOverlay().get(0).getStrokeColor());
        }
    }

    @Test
    void targetsAtTheBorderOfTheImageAreSaid() {
        ImagePlus image = disc(120, 100, 10, 50, 25);
        image.setRoi(new OvalRoi(2, 40, 20, 20));
        macro(image, call("results_table overlay"));
        assertEquals(1, ResultsTable.getResultsTable().getValue("Touches image", 0));
        assertEquals(Color.GRAY, image.getOverlay().get(0).getStrokeColor());
    }

    @Test
    void earlierOutlinesInTheOverlayAreReplaced() {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        Roi own = new Roi(1, 1, 3, 3);
        image.setOverlay(new Overlay(own));
        image.setRoi(new OvalRoi(34, 30, 24, 24));
        macro(image, call("overlay"));
        macro(image, call("overlay noise=poisson"));
        assertEquals(2, image.getOverlay().size());
        assertNull(image.getOverlay().get(0).getName());
        ImagePlus labels = labels(image, "");
        assertEquals(1, labels.getOverlay().size(), "only what is the user's own");
    }

    @Test
    void nucleiThatPeopleOutlinedAreFoundFromTheirMiddles() {
        ImagePlus nuclei = open("nuclei.png");
        ImageProcessor drawn = open("nuclei_labels.png").getProcessor();
        Overlay starts = new Overlay();
        List<Integer> numbers = new ArrayList<>();
        for (int label = 1; label < 256; label++) {
            Rectangle box = box(drawn, label);
            if (box != null && box.width >= 10 && box.height >= 10 && isAlone(drawn, label, box)) {
                // This is the middle half of its box.
                int x = box.x + box.width / 4;
                int y = box.y + box.height / 4;
                starts.add(new OvalRoi(x, y, box.width / 2, box.height / 2));
                numbers.add(label);
            }
        }
        ImageProcessor found = labels(nuclei, from(starts)).getProcessor();
        int good = 0;
        double all = 0;
        for (int i = 0; i < numbers.size(); i++) {
            int both = 0;
            int either = 0;
            for (int p = 0; p < found.getPixelCount(); p++) {
                boolean a = drawn.get(p) == numbers.get(i);
                boolean b = found.get(p) == i + 1;
                both += a && b ? 1 : 0;
                either += a || b ? 1 : 0;
            }
            double overlap = (double) both / either;
            all += overlap;
            good += overlap > 0.7 ? 1 : 0;
        }
        String what = good + " of " + numbers.size() + ", mean " + all / numbers.size();
        assertTrue(numbers.size() > 20, what);
        assertTrue(good > 0.9 * numbers.size(), what);
        assertTrue(all > 0.8 * numbers.size(), what);
    }

    /** Returns the bounds of a label; null if there is none. */
    private static Rectangle box(ImageProcessor labels, int label) {
        Rectangle box = null;
        for (int p = 0; p < labels.getPixelCount(); p++) {
            if (labels.get(p) == label) {
                Rectangle pixel = new Rectangle(p % labels.getWidth(), p / labels.getWidth(), 1, 1);
                box = box == null ? pixel : box.union(pixel);
            }
        }
        return box;
    }

    /** Returns true if there is no other label near, nor the border of the image. */
    private static boolean isAlone(ImageProcessor labels, int label, Rectangle box) {
        Rectangle around = new Rectangle(box);
        around.grow(7, 7);
        Rectangle all = new Rectangle(labels.getWidth(), labels.getHeight());
        if (!all.contains(around)) {
            return false;
        }
        for (int y = around.y; y < around.y + around.height; y++) {
            for (int x = around.x; x < around.x + around.width; x++) {
                if (labels.get(x, y) != 0 && labels.get(x, y) != label) {
                    return false;
                }
            }
        }
        return true;
    }
}
