package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.Measurements;
import ij.measure.ResultsTable;
import ij.plugin.filter.EDM;
import ij.plugin.filter.GaussianBlur;
import ij.plugin.filter.ParticleAnalyzer;
import ij.process.AutoThresholder;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;
import java.awt.Color;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests region snakes beside each other: targets that compete for pixels, and what is said of those that overlap. */
class SnakeNeighboursTest extends SnakeTest {
    /** The share of the pixels of a nucleus and its label that both have, from which on it counts as found. */
    private static final double FOUND = 0.5;

    private static final double FOUND_WELL = 0.75;

    /** Returns the labels of a usual recipe: blur, Li's threshold, watershed, particles of 20 pixels and more. */
    private static ImagePlus seeds(ImagePlus nuclei) {
        ImageProcessor blurred = nuclei.getProcessor().duplicate();
        // The accuracy is that of the command for 8 bits.
        new GaussianBlur().blurGaussian(blurred, 2, 2, 0.002);
        blurred.setAutoThreshold(AutoThresholder.Method.Li, true);
        ByteProcessor mask = blurred.createMask();
        new EDM().toWatershed(mask);
        ImagePlus binary = new ImagePlus("mask", mask);
        mask.setThreshold(255, 255, ImageProcessor.NO_LUT_UPDATE);
        int show = ParticleAnalyzer.SHOW_ROI_MASKS;
        ParticleAnalyzer analyzer = new ParticleAnalyzer(show, Measurements.AREA, table(), 20, Double.MAX_VALUE);
        analyzer.setHideOutputImage(true);
        analyzer.analyze(binary);
        table().reset();
        ImagePlus seeds = analyzer.getOutputImage();
        seeds.setTitle("seeds");
        return seeds;
    }

    /** Returns the percentage of the true objects that one label has in common by more than each of the shares. */
    private static double[] found(ImageProcessor labels, ImageProcessor truth, double... shares) {
        int most = (int) Math.max(labels.getMax(), truth.getMax()) + 1;
        int[][] both = new int[most][most];
        int[] size = new int[most];
        int[] trueSize = new int[most];
        for (int i = 0; i < labels.getPixelCount(); i++) {
            both[truth.get(i)][labels.get(i)]++;
            size[labels.get(i)]++;
            trueSize[truth.get(i)]++;
        }
        double[] found = new double[shares.length];
        int objects = 0;
        for (int object = 1; object < most; object++) {
            double best = 0;
            for (int label = 1; label < most; label++) {
                int common = both[object][label];
                best = Math.max(best, (double) common / (trueSize[object] + size[label] - common));
            }
            objects += trueSize[object] > 0 ? 1 : 0;
            for (int i = 0; i < shares.length; i++) {
                found[i] += trueSize[object] > 0 && best > shares[i] ? 1 : 0;
            }
        }
        for (int i = 0; i < shares.length; i++) {
            found[i] *= 100.0 / objects;
        }
        return found;
    }

    @ParameterizedTest
    @CsvSource({
        // The options, and the least percentages of objects found and found well.
        "'',                                            72, 58",
        "noise=poisson,                                 72, 58",
        "noise=gamma,                                   67.5, 54",
        "noise=poisson node_spacing=6 largest_step=4,   72, 58",
    })
    void nucleiAreFoundBetterThanTheirSeeds(String options, double atHalf, double atThreeQuarters) throws Exception {
        ImagePlus nuclei = open("nuclei.png");
        ImagePlus seeds = seeds(nuclei);
        ImageProcessor truth = open("nuclei_labels.png").getProcessor();
        int targets = (int) seeds.getProcessor().getStats().max;
        double[] before = found(seeds.getProcessor(), truth, FOUND, FOUND_WELL);
        assertEquals(65, before[0], 1);
        Map<String, Object> all = new HashMap<>();
        all.put("start", "labels");
        all.put("start_image", seeds);
        for (String option : options.isEmpty() ? new String[0] : options.split(" ")) {
            all.put(option.split("=")[0], option.split("=")[1]);
        }
        Result result = Isoline.regionSnake(nuclei, all);
        ImageProcessor labels = result.getImage().getProcessor();
        double[] after = found(labels, truth, FOUND, FOUND_WELL);
        assertTrue(after[0] > atHalf && after[1] > atThreeQuarters, after[0] + " " + after[1]);
        // No label is lost, and the table's pixels are the labels'.
        ResultsTable rows = result.getTable();
        assertEquals(targets, rows.size());
        assertEquals(targets, result.getRois().size());
        int yellow = 0;
        for (int i = 0; i < targets; i++) {
            int number = (int) rows.getValue("Target", i);
            assertTrue(count(labels, number) > 0, "label " + number);
            assertEquals(count(labels, number), rows.getValue("Area", i), "label " + number);
            boolean overlaps = rows.getValue("Overlaps", i) == 1 && rows.getValue("Touches window", i) == 0;
            assertEquals(overlaps, Color.YELLOW.equals(result.getRois().get(i).getStrokeColor()), "label " + number);
            yellow += overlaps ? 1 : 0;
        }
        assertTrue(yellow > 10 && yellow < targets, yellow + " touch another one");
    }

    /** Returns two discs that touch in the last of four frames, and are apart before. */
    private static ImagePlus film() {
        Random random = new Random(3);
        ImageStack stack = new ImageStack(120, 70);
        for (int frame = 0; frame < 4; frame++) {
            ByteProcessor plane = new ByteProcessor(120, 70);
            for (int i = 0; i < plane.getPixelCount(); i++) {
                double y = i / 120 + 0.5 - 35;
                double left = Math.hypot(i % 120 + 0.5 - (30 + 4 * frame), y);
                double right = Math.hypot(i % 120 + 0.5 - (86 - 4 * frame), y);
                double level = Math.min(left, right) < 16 ? BRIGHT : DARK;
                plane.set(i, (int) Math.round(level + 12 * random.nextGaussian()));
            }
            stack.addSlice(plane);
        }
        ImagePlus film = new ImagePlus("film", stack);
        film.setDimensions(1, 1, 4);
        return film;
    }

    private static Overlay starts() {
        Overlay starts = new Overlay();
        starts.add(new OvalRoi(20, 25, 20, 20));
        starts.add(new OvalRoi(76, 25, 20, 20));
        return starts;
    }

    @Test
    void cellsThatTouchInAFilmKeepTheirOutlines() {
        ImagePlus labels = labels(film(), from(starts()) + " stack=track noise=poisson results_table");
        assertEquals(8, table().size());
        ImageProcessor last = labels.getStack().getProcessor(4);
        for (int label = 1; label <= 2; label++) {
            double x = label == 1 ? 42 : 74;
            assertTrue(overlap(last, label, x, 35, 16) > 0.85, label + ": " + overlap(last, label, x, 35, 16));
            assertEquals(count(last, label), table().getValue("Area", 5 + label));
            assertEquals(1, table().getValue("Overlaps", 5 + label));
            assertEquals(0, table().getValue("Overlaps", label - 1));
        }
    }

    @Test
    void outlinesOfCompetingTargetsHoldTheirPixels() {
        ImagePlus film = film();
        ImagePlus last = new ImagePlus("last", film.getStack().getProcessor(4));
        Overlay starts = new Overlay();
        // One start is in the other, which therefore is a ring around it.
        starts.add(new OvalRoi(34, 27, 16, 16));
        starts.add(new OvalRoi(27, 20, 60, 30));
        ImageProcessor labels =
                labels(last, from(starts) + " overlay results_table").getProcessor();
        for (int i = 0; i < 2; i++) {
            assertEquals(count(labels, i + 1), table().getValue("Area", i));
            assertTrue(count(labels, i + 1) > 100, "target " + (i + 1));
        }
        // The ring is not its polygon, which has the other target in it.
        Roi ring = last.getOverlay().get(1);
        for (int p = 0; p < labels.getPixelCount(); p++) {
            int x = p % labels.getWidth();
            int y = p / labels.getWidth();
            assertEquals(labels.get(p) == 2, ring.contains(x, y), x + " " + y);
        }
    }

    @Test
    void targetsThatMayOverlapAreNamedWhenTheyHideEachOther() {
        ImagePlus image = disc(80, 70, 40, 35, 14);
        Overlay same = new Overlay();
        same.add(new OvalRoi(30, 25, 20, 20));
        same.add(new OvalRoi(30, 25, 20, 20));
        same.add(new OvalRoi(34, 29, 12, 12));
        same.get(1).setName("dim cell");
        String options = from(same) + " label_image results_table";
        Outcome outcome = macro(image, call(options + " overlap=allowed"));
        assertTrue(outcome.log.contains("hidden: no pixel has the number 2 (\"dim cell\")"), outcome.log);
        assertTrue(
                outcome.log.contains("3 targets share pixels with others (numbers 1, 2 (\"dim cell\"), 3; yellow"),
                outcome.log);
        assertEquals("hidden", table().getStringValue("Status", 1));
        table().reset();
        outcome = macro(image, call(options));
        assertTrue(outcome.log.contains("2 targets vanished"), outcome.log);
        assertTrue(outcome.log.contains("no pixel has the numbers 2 (\"dim cell\"), 3"), outcome.log);
        assertEquals("vanished", table().getStringValue("Status", 1));
        for (String column : (TablesTest.SHAPE + " Mean IntDen").split(" ")) {
            assertFalse(Double.isNaN(table().getValue(column, 0)), column);
            assertTrue(Double.isNaN(table().getValue(column, 1)), column);
        }
        assertFalse(outcome.log.contains("hidden"), outcome.log);
    }
}
