package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Line;
import ij.gui.Overlay;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the macro options of region snakes and their failures. */
class SnakeMacroTest extends SnakeTest implements CommandContract {
    @Override
    public String command() {
        return SNAKE;
    }

    @Override
    public String quick() {
        return "start=rectangle label_image";
    }

    @Test
    void outputsComeInAnyCombination() {
        String[] outputs = {"label_image", "overlay", "results_table"};
        for (int chosen = 1; chosen < 1 << outputs.length; chosen++) {
            ImagePlus image = disc(60, 50, 30, 25, 10);
            table().reset();
            StringBuilder options = new StringBuilder("start=rectangle");
            for (int i = 0; i < outputs.length; i++) {
                options.append((chosen >> i & 1) == 1 ? " " + outputs[i] : "");
            }
            Outcome outcome =
                    macro(image, call(options.toString()) + "t = getTitle; n = nImages; return t + \"|\" + n;");
            String title = (chosen & 1) != 0 ? "Labels of disc" : "disc";
            assertTrue(outcome.returned.startsWith(title + "|"), outcome.returned + outcome.log);
            assertEquals((chosen & 2) != 0, image.getOverlay() != null);
            assertEquals((chosen & 4) != 0, table().size() == 1);
            assertTrue(outcome.log.contains("Region Snake (disc): cpu"), outcome.log);
            assertTrue(outcome.log.contains("1 target, converged"), outcome.log);
            assertFalse(image.isLocked());
        }
    }

    @Test
    void resultsAreThereForTheMacro() {
        ImagePlus image = disc(60, 50, 30, 25, 10);
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 0.25;
        image.getCalibration().setUnit("um");
        Outcome outcome = macro(
                image,
                "makeOval(20, 15, 18, 18);"
                        + call("results_table label_image background=image")
                        + "return \"\" + nResults + \"|\" + getResult(\"Area\", 0)"
                        + " + \"|\" + getResult(\"Perim.\", 0)"
                        + " + \"|\" + getResult(\"Mean\", 0)"
                        + " + \"|\" + getResult(\"SD outside\", 0)"
                        + " + \"|\" + getResultString(\"Status\", 0)"
                        + " + \"|\" + getResultString(\"Name\", 0)"
                        + " + \"|\" + getResult(\"Nodes\", 0) + \"|\" + bitDepth;");
        String[] seen = outcome.returned.split("\\|");
        assertEquals("1", seen[0], outcome.log);
        assertEquals(Math.PI * 100 * 0.125, Double.parseDouble(seen[1]), 2.5);
        // The perimeter is that of an ellipse with the semi-axes 5 and 2.5.
        assertEquals(24.2, Double.parseDouble(seen[2]), 2);
        assertEquals(BRIGHT, Double.parseDouble(seen[3]), 3);
        assertEquals(12, Double.parseDouble(seen[4]), 1.5);
        assertEquals("converged", seen[5]);
        assertEquals("snake", seen[6]);
        assertTrue(Double.parseDouble(seen[7]) >= 4, outcome.returned);
        assertEquals("16", seen[8]);
    }

    @Test
    void rememberedDialogValuesDoNotChangeMacros() throws Exception {
        SnakeSettings other = new SnakeSettings();
        other.set("start", "manager").set("noise", "gamma").set("looks", 3);
        other.set("node_spacing", "5").set("max_iterations", 2).set("overlay", true);
        ImagePlus image = disc(60, 50, 30, 25, 10);
        assertRemembered(other, new SnakeSettings(), SNAKE, image, "start=rectangle label_image");
    }

    @ParameterizedTest
    @CsvSource({
        "start=roi stack=track noise=gamma looks=3.5 overlay",
        "start=manager start_file=[/a b/c.zip] background=image label_image all_frames",
        "start=labels start_image=[my labels] stack=current background=window margin=1.25 overlay",
        "start=rectangle largest_step=8 node_spacing=6.5 node_cost=1 max_nodes=99 results_table",
        "start=rectangle max_iterations=77 schedule=sequential show_every=0 roi_manager",
        "start=rectangle range_min=-0.5 range_max=2 roi_file=[/a b/d.zip] all_channels",
        "start=rectangle pyramid_levels=3 overlay"
    })
    void settingsAreWrittenAsTheMacroThatRepeatsThem(String options) throws Exception {
        assertWritten(new SnakeSettings(), options);
    }

    @Test
    void everyNoiseHasAHintOfItsOwn() throws Exception {
        java.util.Set<String> hints = new java.util.HashSet<>();
        SnakeSettings s = new SnakeSettings();
        for (String noise : CApi.words("snake", "noise")) {
            s.set("noise", noise);
            assertTrue(s.noiseHint().startsWith(noise + ": "));
            hints.add(s.noiseHint());
            assertEquals(s.parameter("noise").valueOf(noise), s.toParams().get("noise"));
        }
        assertEquals(5, hints.size());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "start=rectangle                  | No output is chosen. Choose at least one of label_image",
                "overlay                          | start=roi needs a selection with an area on \"disc\", but there is none",
                "overlay start=manager            | start=manager needs areas or points, but the ROI Manager is empty",
                "overlay start=manager start_file=/no/such.zip | The file /no/such.zip of areas and points cannot be read",
                "overlay start=labels             | start_image must be the title of an open image",
                "overlay start=labels start_image=[not there] | There is no open image \"not there\" for the start image to start from (start_image)",
                "overlay start=roi start_image=x  | start_image is used with start=labels only, but start is roi",
                "overlay start=roi start_file=x   | start_file is used with start=manager only",
                "overlay start=rectangle looks=2  | looks is used with noise=gamma only, but noise is gaussian",
                "overlay start=rectangle noise=gamma looks=0.5 | looks must be from 1 to 1000000, but it is 0.5",
                "overlay start=rectangle margin=2 | margin has no effect without background=window",
                "overlay start=rectangle background=window margin=0 | margin must be greater than 0 (sides), but it is 0",
                "overlay start=rectangle largest_step=12 | largest_step must be a power of two from 1 to 4096 (pixels), or automatic, but it is 12",
                "overlay start=rectangle largest_step=-1 | largest_step must be a power of two",
                "overlay start=rectangle largest_step=8192 | largest_step must be a power of two",
                "overlay start=rectangle node_spacing=1 | node_spacing must be at least 2 (pixels), or automatic, but it is 1",
                "overlay start=rectangle node_cost=-1 | node_cost must be from 0 to 1000000, but it is -1",
                "overlay start=rectangle max_nodes=2 | max_nodes must be a whole number from 3 to 65536",
                "overlay start=rectangle max_nodes=70000 | max_nodes must be a whole number from 3 to 65536",
                "overlay start=rectangle max_iterations=0 | max_iterations must be a whole number of at least 1, but it is 0",
                "overlay start=rectangle show_every=0.5 | show_every must be a whole number of 0",
                "overlay start=rectangle range_min=3 range_max=2 | range_min must be less than range_max (or both \"auto\"), got 3 and 2",
                "overlay start=rectangle range_min=0 range_max=2 | range_min and range_max are for 32-bit images; \"disc\" has 8 bits",
                "overlay start=rectangle range_max=2 | range_min and range_max must both be given",
                "overlay start=rectangle stack=track | has one slice and one frame, so there is nothing to track through",
                "overlay start=rectangle stack=all | stack must be one of slices, track, track_frames, current",
                "overlay start=here               | start must be one of roi, manager, labels, thresholded, detect, rectangle",
                "overlay start=rectangle noise=any | noise must be one of gaussian, poisson, gamma, rayleigh, bernoulli",
                "overlay start=rectangle background=none | background must be one of auto, image, window",
                "overlay start=rectangle schedule=fast | schedule must be one of parallel, sequential",
                "overlay=yes start=rectangle      | overlay is a switch: write overlay alone",
                "overlay start=rectangle device=cuda:99 | cuda:99",
                "overlay start=rectangle nois=poisson | There is no option \"nois\"",
                "roi_manager start=rectangle      | Write roi_file=FILE.zip instead of roi_manager",
                "roi_file=/no/such/folder/a.zip start=rectangle | roi_file cannot be written: there is no folder \"/no/such/folder\""
            })
    void invalidOptionsEndTheMacroWithOneSentence(String options, String sentence) {
        ImagePlus image = disc(60, 50, 30, 25, 10);
        Overlay own = new Overlay(new Roi(1, 2, 3, 4));
        image.setOverlay(own);
        assertRefused(image, options, sentence);
        assertSame(own, image.getOverlay());
        assertEquals(0, table().size());
        // The plugin still works afterwards.
        assertEquals(16, labels(image, "start=rectangle").getBitDepth());
    }

    @Test
    void selectionsWithoutAnAreaAreToldWhatToDo() {
        ImagePlus image = disc(60, 50, 30, 25, 10);
        image.setRoi(new Line(2, 2, 20, 20));
        assertRefused(image, "overlay", "but there is a straight line. Draw one with the rectangle");
    }

    @Test
    void selectionsOutsideTheImageAreToldWhatToDo() {
        ImagePlus image = disc(60, 50, 30, 25, 10);
        Roi outside = new Roi(100, 100, 20, 20);
        image.setRoi(outside);
        assertRefused(image, "overlay", "The selection has no pixel within \"disc\"");
    }

    @Test
    void crossingOutlinesStartFromTheirLargestLoop() {
        ImagePlus image = disc(60, 50, 30, 25, 10);
        // The outline is a loop on the disc, and a small one beside it.
        int[] x = {46, 46, 6, 6};
        int[] y = {10, 40, 20, 30};
        image.setRoi(new PolygonRoi(x, y, x.length, Roi.FREEROI));
        Outcome outcome = macro(image, call("label_image background=image largest_step=8") + "return getTitle;");
        assertEquals("Labels of disc", outcome.returned, outcome.log);
        assertTrue(outcome.log.contains("crosses itself (the selection)"), outcome.log);
        assertTrue(overlap(current().getProcessor(), 1, 30, 25, 10) > 0.9);
    }

    @Test
    void deviceOfTheSequentialScheduleIsTheCpu() {
        ImagePlus image = disc(60, 50, 30, 25, 10);
        ImagePlus made = labels(image, "start=rectangle schedule=sequential");
        assertTrue(overlap(made.getProcessor(), 1, 30, 25, 10) > 0.9);
        assertTrue(((String) made.getProperty("Info")).contains("Isoline device: cpu"));
    }

    @Test
    void escapeKeepsTheStateThatWasReachedAndEndsTheMacro() {
        // Noise, a node spacing of 2 and one node after the other take minutes.
        ImagePlus image = noise(1400);
        Overlay own = new Overlay(new Roi(1, 2, 3, 4));
        image.setOverlay(own);
        pressEscapeAfter(1500, image);
        Outcome outcome = assertTimeoutPreemptively(
                Duration.ofSeconds(60),
                () -> macro(
                        image,
                        call("start=rectangle node_spacing=2 max_nodes=65536"
                                        + " max_iterations=10000000"
                                        + " schedule=sequential"
                                        + " label_image overlay results_table")
                                + "print(\"went on\");"));
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertFalse(outcome.log.contains("went on"), outcome.log);
        assertFalse(outcome.log.contains("\tat "), outcome.log);
        String name = "Region Snake (" + image.getTitle() + "): ";
        assertTrue(outcome.log.contains(name + "warning: stopped by Escape; the outputs show"));
        assertTrue(outcome.log.contains(name + "stopped; the outputs show"), outcome.log);
        assertEquals(1, table().size());
        assertEquals("stopped", table().getStringValue("Status", 0));
        double pixels = table().getValue("Area", 0);
        assertTrue(pixels > 1000, "pixels " + pixels);
        assertEquals(pixels, count(current().getProcessor(), 1));
        assertSame(own.get(0), image.getOverlay().get(0));
        assertEquals(2, image.getOverlay().size());
        assertFalse(image.isLocked());
        assertFalse(IJ.escapePressed());
        assertEquals(16, labels(disc(60, 50, 30, 25, 10), "start=rectangle").getBitDepth());
    }

    private static ImagePlus noise(int side) {
        byte[] pixels = new byte[side * side];
        new java.util.Random(1).nextBytes(pixels);
        return new ImagePlus("noise", new ij.process.ByteProcessor(side, side, pixels));
    }

    @Test
    void slicesThatWereNotBegunHaveNoOutlines() {
        ImagePlus one = noise(1400);
        ij.ImageStack stack = new ij.ImageStack(1400, 1400);
        for (int z = 0; z < 3; z++) {
            stack.addSlice(one.getProcessor());
        }
        ImagePlus image = new ImagePlus("noise", stack);
        pressEscapeAfter(1500, image);
        Outcome outcome = assertTimeoutPreemptively(
                Duration.ofSeconds(60),
                () -> macro(
                        image,
                        call("start=rectangle node_spacing=2 max_nodes=65536"
                                + " max_iterations=10000000"
                                + " schedule=sequential label_image"
                                + " results_table")));
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertTrue(outcome.log.contains("without 2 slices that the run did not reach"), outcome.log);
        assertEquals(1, table().size());
        assertTrue(count(current().getStack().getProcessor(1), 1) > 1000);
        assertEquals(0, count(current().getStack().getProcessor(2), 1));
    }
}
