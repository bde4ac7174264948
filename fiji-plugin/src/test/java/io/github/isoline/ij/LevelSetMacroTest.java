package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.Line;
import ij.gui.NewImage;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import io.github.isoline.LevelSet;
import io.github.isoline.Operation;
import io.github.isoline.Parameter;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the macro options of the level set and its failures. */
class LevelSetMacroTest extends LevelSetTest implements CommandContract {
    @Override
    public String command() {
        return LEVEL_SET;
    }

    @Override
    public String quick() {
        // The time step is given: the automatic one is that of all slices together.
        return "start=box mode=iterations iterations=10 time_step=0.01 mask_stack"
                + " range=values target=100 epsilon=50 alpha=0.2";
    }

    @ParameterizedTest
    @CsvSource({"chan_vese", "gaussian", "poisson", "gamma", "rayleigh"})
    void twoRegionsNeedNoRange(String regions) {
        ImagePlus image = disc(60, 50, 12);
        ImagePlus mask = mask(image, "start=box box_x=15-44 box_y=10-39 regions=" + regions);
        assertTrue(dice(mask, image) > 0.97, regions + " " + dice(mask, image));
        String info = (String) mask.getProperty("Info");
        assertTrue(info.contains("Isoline regions: " + regions), info);
    }

    /** A dialog keeps the values of its fields when regions are chosen after them. */
    @ParameterizedTest
    @ValueSource(strings = {"values", "roi"})
    void twoRegionsAreRecordedWithoutARange(String range) throws Exception {
        LevelSetSettings settings = new LevelSetSettings();
        settings.set("range", range)
                .set("target", 3)
                .set("epsilon", 2)
                .set("regions", "chan_vese")
                .set("phi", true);
        String written = settings.toString();
        assertEquals(
                written, Settings.fromMacro(new LevelSetSettings(), written).toString());
        assertFalse(settings.setting("target").applies(settings));
    }

    @Test
    void edgesHoldTheFrontWhereTheRangeLeaks() {
        ImagePlus disc = disc(60, 50, 12);
        ImagePlus image = disc(60, 50, 12);
        for (int y = 0; y < image.getHeight(); y++) {
            for (int x = 0; x < image.getWidth(); x++) {
                image.getProcessor().set(x, y, (disc.getProcessor().get(x, y) > 45 ? 80 : 20) + 2 * x);
            }
        }
        String options = "start=box box_x=24-35 box_y=19-30 range=values target=120 epsilon=110 edge_weight=";
        assertTrue(dice(mask(image, options + 0), disc) < 0.5);
        double held = dice(mask(image, options + 3), disc);
        assertTrue(held > 0.95, "Dice " + held);
    }

    @Test
    void coarseLevelsSaveIterationsOfTheWholeImage() {
        ImagePlus image = disc(120, 110, 40);
        String options = "start=box box_x=55-64 box_y=50-59 results_table pyramid_levels=";
        double[] iterations = new double[2];
        for (int levels = 1; levels <= 2; levels++) {
            ResultsTable.getResultsTable().reset();
            ImagePlus mask = mask(image, options + levels);
            assertTrue(dice(mask, image) > 0.98, levels + " " + dice(mask, image));
            iterations[levels - 1] = ResultsTable.getResultsTable().getValue("Iterations", 0);
        }
        assertTrue(2 * iterations[1] <= iterations[0], iterations[0] + " " + iterations[1]);
    }

    @Test
    void twoRegionsThatAreAlikeAreRefused() {
        ImagePlus flat = NewImage.createByteImage("flat", 40, 36, 1, NewImage.FILL_BLACK);
        Outcome outcome = macro(flat, call("start=box regions=chan_vese mask_stack"));
        assertTrue(outcome.log.contains("are alike"), outcome.log);
    }

    @Test
    void outputsComeInAnyCombination() {
        String[] outputs = {"mask_stack", "phi", "overlay", "results_table"};
        for (int chosen = 1; chosen < 1 << outputs.length; chosen++) {
            ImagePlus image = disc(40, 36, 10);
            ResultsTable.getResultsTable().reset();
            StringBuilder options = new StringBuilder("start=box" + RANGE);
            for (int i = 0; i < outputs.length; i++) {
                options.append((chosen >> i & 1) == 1 ? " " + outputs[i] : "");
            }
            Outcome outcome =
                    macro(image, call(options.toString()) + "t = getTitle; n = nImages; return t + \"|\" + n;");
            boolean mask = (chosen & 1) != 0;
            boolean phi = (chosen & 2) != 0;
            String title = mask ? "Level set of disc" : phi ? "Phi of disc" : "disc";
            assertTrue(outcome.returned.startsWith(title + "|"), outcome.returned + outcome.log);
            assertEquals((chosen & 4) != 0, image.getOverlay() != null);
            assertEquals((chosen & 8) != 0, ResultsTable.getResultsTable().size() == 1);
            assertTrue(outcome.log.contains("Level Set (disc): cpu"), outcome.log);
            assertTrue(outcome.log.contains(" iterations, converged"), outcome.log);
            assertFalse(image.isLocked());
        }
    }

    @Test
    void resultsAreThereForTheMacro() {
        Outcome outcome = macro(
                disc(40, 36, 10),
                "makeOval(16, 14, 8, 8);"
                        + call("range=roi deviations=10 alpha=0.2 results_table mask_stack")
                        + "getStatistics(area, mean);"
                        + "return \"\" + nResults + \"|\" + getResult(\"Iterations\", 0)"
                        + " + \"|\" + getResult(\"Area\", 0)"
                        + " + \"|\" + area * mean / 255 + \"|\" + bitDepth"
                        + " + \"|\" + getResultString(\"Device\", 0);");
        String[] seen = outcome.returned.split("\\|");
        assertEquals("1", seen[0], outcome.log);
        assertTrue(Double.parseDouble(seen[1]) > 5, outcome.returned);
        double area = Double.parseDouble(seen[2]);
        assertEquals(1, area / (Math.PI * 100), 0.05);
        assertEquals(area, Double.parseDouble(seen[3]), 1e-3 * area);
        assertEquals("8", seen[4]);
        assertTrue(seen[5].startsWith("cpu"), outcome.returned);
    }

    @Test
    void rememberedDialogValuesDoNotChangeMacros() throws Exception {
        LevelSetSettings other = new LevelSetSettings();
        other.set("start", "spheres").set("radius", "3").set("alpha", "0.9").set("iterations", 3);
        other.set("mode", "iterations").set("mask_stack", true);
        assertRemembered(other, new LevelSetSettings(), LEVEL_SET, disc(40, 36, 10), "start=box mask_stack");
    }

    @Test
    void deviationsWereCalledKInEarlierMacros() throws Exception {
        LevelSetSettings s = Settings.fromMacro(new LevelSetSettings(), "phi range=roi k=1.25");
        assertEquals(1.25, s.number("deviations"));
        assertTrue(s.toString().contains(" deviations=1.25 "), s.toString());
    }

    @ParameterizedTest
    @CsvSource({
        "start=roi stack=volume roi_slices=all range=roi deviations=1.5 phi",
        "start=spheres radius=2.5 sphere_file=[/a b/c.zip] range=auto overlay all_frames",
        "start=mask mask_image=[my mask] stack=current mode=iterations iterations=7 roi_manager",
        "start=box box_x=1-5 box_y=auto box_z=2-2 range=values target=-3.25 epsilon=0.5 phi",
        "start=box alpha=0.3 reinitialise_every=0 time_step=0.01 show_every=0 results_table mask_stack",
        "start=box roi_file=[/a b/d.zip] all_channels",
        "start=box pyramid_levels=2 upwind_order=2 overlay"
    })
    void settingsAreWrittenAsTheMacroThatRepeatsThem(String options) throws Exception {
        assertWritten(new LevelSetSettings(), options);
    }

    @Test
    void emptyStartLeavesNoFront() throws Exception {
        Map<String, Object> options = new HashMap<>();
        options.put("start", "mask");
        options.put("mask_image", new ImagePlus("zero", new ByteProcessor(40, 36)));
        options.put("range", "values");
        options.put("target", 150);
        options.put("epsilon", 50);
        Result result = Isoline.levelSet(disc(40, 36, 10), options);
        assertTrue(result.getSummary().endsWith("0 iterations, no front left"), result.getSummary());
        assertEquals(0, result.getTable().getValue("Converged", 0));
    }

    @Test
    void tolerancesAreForMacrosOnly() throws Exception {
        int found = 0;
        for (Parameter parameter : Operation.of(LevelSet.NAME).parameters()) {
            if (parameter.name().endsWith("_tolerance")) {
                assertWritten(new LevelSetSettings(), "start=box phi " + parameter.name() + "=0.25");
                found++;
            }
        }
        assertEquals(2, found);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "mask_stack start=roi mask_image=disc | mask_image is used with start=mask only, but start is roi",
                "mask_stack start=roi radius=3    | radius is used with start=spheres only, but start is roi",
                "mask_stack start=box roi_slices=all stack=volume | roi_slices is used with start=roi only",
                "mask_stack start=roi roi_slices=all | roi_slices has no effect without stack=volume",
                "mask_stack start=box follow      | follow has no effect without all_frames",
                "mask_stack start=box deviations=3 | deviations is used with range=roi only",
                "mask_stack start=box edge_sigma=1 | edge_sigma has no effect without an edge_weight above 0",
                "mask_stack start=box time_step=0.01 cfl=0.5 | cfl has no effect without time_step=auto",
                "mask_stack start=box mode=iterations rms_tolerance=1 | rms_tolerance has no effect without mode=converged",
                "mask_stack start=box regions=gaussian side=above | side is used with regions=off only",
                "start=box                        | No output is chosen. Choose at least one of mask_stack",
                "mask_stack                       | start=roi needs a selection with an area on \"disc\", but there is none",
                "mask_stack range=roi start=box   | range=roi needs a selection with an area",
                "mask_stack start=spheres radius=0 | radius must be a number above 0",
                "mask_stack start=spheres radius=2| start=spheres needs points",
                "mask_stack start=spheres radius=2 sphere_file=/no/such.zip | The file /no/such.zip of points cannot be read",
                "mask_stack start=box roi_file=   | roi_file has no value. Give one, or leave roi_file out.",
                "mask_stack start=spheres sphere_file=[ ] | sphere_file has no value. Give one, or leave sphere_file out.",
                "mask_stack start=mask            | mask_image must be the title of an open image",
                "mask_stack start=mask mask_image=[not there] | There is no open image \"not there\"",
                "mask_stack start=box box_x=5     | must be \"auto\" or first-last, such as 10-50, got \"5\"",
                "mask_stack start=box box_x=9-5   | must be \"auto\" or first-last",
                "mask_stack start=box box_x=0-40  | box_x must lie within the image, 0-39, got \"0-40\"",
                "mask_stack start=box box_z=0-1   | box_z must lie within the image, 1-1",
                "mask_stack start=box target=80   | target is used with range=values only, but range is auto",
                "mask_stack start=box range=values target=80 | needs epsilon, which is not given. Write epsilon=VALUE",
                "mask_stack start=box range=values epsilon=9 | needs target, which is not given. Write target=VALUE",
                "mask_stack start=box range=values target=80 epsilon=0 | epsilon must be greater than 0 and at most",
                "mask_stack start=box range=roi deviations=0 | deviations must be a number above 0",
                "mask_stack start=box alpha=1.5   | alpha must be from 0 to 1, or automatic, but it is 1.5",
                "mask_stack start=box alpha=high  | alpha must be \"auto\"",
                "mask_stack start=box iterations=0| iterations must be a whole number of 1 or more",
                "mask_stack start=box iterations=2.5 | iterations must be a whole number",
                "mask_stack start=box reinitialise_every=-1| reinitialise_every must be a whole number of at least 0",
                "mask_stack start=box show_every=0.5 | show_every must be a whole number of 0",
                "mask_stack start=box time_step=-1| time_step must be greater than 0, or automatic, but it is -1",
                "mask_stack start=box time_step=99| time_step must be at most",
                "mask_stack start=box stack=volume| is a single image. Choose \"slices\"",
                "mask_stack start=box stack=all   | stack must be one of slices, volume, current",
                "mask_stack start=here            | start must be one of roi, spheres, mask, box",
                "mask_stack start=box range=any   | range must be one of auto, values, roi",
                "mask_stack start=box mode=fast   | mode must be one of converged, iterations",
                "mask_stack=yes start=box         | mask_stack is a switch: write mask_stack alone",
                "mask_stack start=box device=cuda:99 | cuda:99",
                "mask_stack start=box epsilom=3   | There is no option \"epsilom\"",
                "roi_manager start=box            | Write roi_file=FILE.zip instead of roi_manager",
                "roi_file=/no/such/folder/a.zip start=box | roi_file cannot be written: there is no folder \"/no/such/folder\""
            })
    void invalidOptionsEndTheMacroWithOneSentence(String options, String sentence) {
        ImagePlus image = disc(40, 36, 10);
        Overlay own = new Overlay(new Roi(1, 2, 3, 4));
        image.setOverlay(own);
        assertRefused(image, options, sentence);
        assertSame(own, image.getOverlay());
        assertEquals(0, ResultsTable.getResultsTable().size());
        // The plugin still works afterwards.
        assertEquals(8, mask(image, "start=box").getBitDepth());
    }

    @Test
    void selectionsWithoutAnAreaAreToldWhatToDo() {
        ImagePlus image = disc(40, 36, 10);
        image.setRoi(new Line(2, 2, 20, 20));
        assertRefused(image, "mask_stack", "but there is a straight line. Draw one with the rectangle");
    }

    @Test
    void startsWithNothingInsideAreSaid() {
        ImagePlus image = disc(40, 36, 10);
        ImagePlus black = NewImage.createByteImage("black", 40, 36, 1, NewImage.FILL_BLACK);
        Outcome outcome = macro(
                null,
                // Both images must be open, and the disc the current one.
                "setBatchMode(true); newImage(\"black\", \"8-bit black\", 40, 36, 1);"
                        + "newImage(\"grey\", \"8-bit ramp\", 40, 36, 1);"
                        + call("mask_stack start=mask mask_image=black"));
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertOneSentence(outcome.log, "No pixel is inside the start (pixels above 0 of \"black\")");
        assertNull(black.getOverlay());
        assertEquals(8, mask(image, "start=box").getBitDepth());
    }

    @Test
    void masksOfAnotherSizeAreRefused() {
        Outcome outcome = macro(
                null,
                "setBatchMode(true); newImage(\"small\", \"8-bit white\", 40, 35, 1);"
                        + "newImage(\"grey\", \"8-bit ramp\", 40, 36, 1);"
                        + call("mask_stack start=mask mask_image=small"));
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertOneSentence(outcome.log, "The mask \"small\" has 40 x 35 pixels in 1 slice, but \"grey\" has 40 x 36");
    }

    @Test
    void escapeKeepsTheStateThatWasReachedAndEndsTheMacro() {
        // With only the curvature and time steps far below the limit the run would take hours.
        ImagePlus image = ball(64, 64, 64, 20, 1, 1, 1);
        Overlay own = new Overlay(new Roi(1, 2, 3, 4));
        image.setOverlay(own);
        String endless = "stack=volume start=box mode=iterations iterations=100000000 time_step=1e-5" + RANGE;
        pressEscapeAfter(1500, image);
        Outcome outcome = assertTimeoutPreemptively(
                Duration.ofSeconds(60),
                () -> macro(image, call(endless + " mask_stack phi overlay results_table") + "print(\"went on\");"));
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertFalse(outcome.log.contains("went on"), outcome.log);
        assertFalse(outcome.log.contains("\tat "), outcome.log);
        String name = "Level Set (" + image.getTitle() + "): ";
        assertTrue(outcome.log.contains(name + "warning: stopped by Escape after "), outcome.log);
        assertTrue(outcome.log.contains(name + "stopped; the outputs show"), outcome.log);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(1, table.size());
        double iterations = table.getValue("Iterations", 0);
        assertTrue(iterations > 0 && iterations < 1e8, "after " + iterations);
        assertEquals(0, table.getValue("Converged", 0));
        assertEquals(32 * 32 * 32, table.getValue("Volume", 0), 3000);
        assertSame(own.get(0), image.getOverlay().get(0));
        assertTrue(image.getOverlay().size() > 20);
        assertFalse(image.isLocked());
        assertFalse(IJ.escapePressed());
        assertEquals(8, mask(disc(40, 36, 10), "start=box").getBitDepth());
    }

    @Test
    void volumesThatHadNotBegunStayAtTheirStart() {
        ImagePlus ball = ball(40, 40, 20, 8, 1, 1, 1);
        ImagePlus film = new ImagePlus("film", ball.getStack());
        film.setDimensions(1, 10, 2);
        film.setOpenAsHyperStack(true);
        pressEscapeAfter(1000, film);
        Outcome outcome = assertTimeoutPreemptively(
                Duration.ofSeconds(60),
                () -> macro(
                        film,
                        call("stack=volume start=box all_frames mask_stack"
                                + " results_table mode=iterations"
                                + " iterations=100000000 time_step=1e-5"
                                + RANGE)));
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertTrue(outcome.log.contains("the start for 10 slices that the run did not reach"), outcome.log);
        ImagePlus mask = current();
        assertEquals(2, mask.getNFrames());
        assertEquals(1, ResultsTable.getResultsTable().size());
        for (int z = 1; z <= 10; z++) {
            byte[] second = (byte[]) mask.getStack().getPixels(mask.getStackIndex(1, z, 2));
            boolean boxed = z >= 3 && z <= 7;
            assertEquals(boxed ? -1 : 0, second[20 * 40 + 20], "slice " + z);
            assertEquals(0, second[5 * 40 + 5]);
        }
    }

    @Test
    void theRangeInMessagesHasFewDigits() throws Exception {
        ImagePlus image = disc(40, 36, 10);
        for (int i = 0; i < 40 * 36; i++) {
            image.getProcessor().set(i, i * 7919 % 251);
        }
        image.setRoi(new Roi(10, 10, 13, 11));
        Result result = Isoline.levelSet(image, "range=roi deviations=0.01 mask_stack");
        String said = result.getWarnings().toString();
        assertTrue(said.matches(".*grey values [0-9]+\\.[0-9]{1,3} \u00b1 [0-9]+\\.[0-9]{1,3}\\).*"), said);
    }

    @Test
    void fromJavaBothImagesAreInReach() throws Exception {
        ImagePlus image = disc(40, 36, 10);
        StackCommand plugin = new StackCommand();
        captured(() -> {
            ij.WindowManager.setTempCurrentImage(image);
            Thread thread = new Thread(
                    () -> {
                        ij.WindowManager.setTempCurrentImage(image);
                        ij.Macro.setOptions("start=box mask_stack phi ");
                        plugin.run("level_set");
                    },
                    "Run$_Level Set...");
            thread.start();
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return "";
        });
        assertEquals("Level set of disc", plugin.getResult().getTitle());
        assertEquals("Phi of disc", plugin.getPhi().getTitle());
        assertEquals(32, plugin.getPhi().getBitDepth());
    }

    @Test
    void escapeIsAReasonInABatch() {
        ImagePlus image = longStack(640, 200, 255);
        WindowManager.setTempCurrentImage(image);
        pressEscapeAfter(20, image);
        assertEquals(
                "Edge Strength Function (stack): cancelled",
                Batch.run("Edge Strength Function...", "threshold=90 mode=iterations iterations=10000"));
    }
}
