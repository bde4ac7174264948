package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the macro options of edge drawing and its failures. */
class EdgeDrawingMacroTest extends EdgeDrawingTest implements CommandContract {
    @Override
    public String command() {
        return EDGES;
    }

    @Override
    public String quick() {
        return "edge_map gradient_threshold=30";
    }

    @Test
    void outputsComeInAnyCombination() {
        String[] outputs = {"edge_map", "overlay", "results_table"};
        for (int chosen = 1; chosen < 1 << outputs.length; chosen++) {
            ImagePlus image = open("coins.png");
            ResultsTable.getResultsTable().reset();
            StringBuilder options = new StringBuilder("min_length=30");
            for (int i = 0; i < outputs.length; i++) {
                options.append((chosen >> i & 1) == 1 ? " " + outputs[i] : "");
            }
            Outcome outcome = macro(image, call(options.toString()) + "return getTitle;");
            boolean map = (chosen & 1) == 1;
            assertEquals(map ? "Edges of coins.png" : "coins.png", outcome.returned, outcome.log);
            int overlaid = image.getOverlay() == null ? 0 : image.getOverlay().size();
            int rows = ResultsTable.getResultsTable().size();
            assertEquals((chosen & 2) != 0, overlaid > 0);
            assertEquals((chosen & 4) != 0, rows > 0);
            assertTrue(outcome.log.contains("Edge Drawing (" + image.getTitle() + "): cpu"), outcome.log);
            assertFalse(image.isLocked());
        }
    }

    @Test
    void resultsAreThereForTheMacro() {
        Outcome outcome = macro(
                open("coins.png"),
                call("min_length=15 results_table overlay")
                        + "return \"\" + nResults + \"|\" + getResult(\"Segment\", 0)"
                        + " + \"|\" + (getResult(\"Length\", 0) >= 14)"
                        + " + \"|\" + Overlay.size;");
        String[] seen = outcome.returned.split("\\|");
        assertTrue(Integer.parseInt(seen[0]) > 5, outcome.returned);
        assertEquals("1", seen[1]);
        assertEquals("1", seen[2]);
        assertEquals(seen[0], seen[3]);
    }

    @Test
    void secondImageGoesBelowTheFirstInTheTable() {
        macro(open("coins.png"), call("min_length=40 results_table"));
        int first = ResultsTable.getResultsTable().size();
        macro(open("camera.png"), call("min_length=40 results_table"));
        ResultsTable table = ResultsTable.getResultsTable();
        assertTrue(table.size() > first);
        assertEquals("coins.png", table.getLabel(first - 1));
        assertEquals("camera.png", table.getLabel(first));
        assertEquals(1, table.getValue("Segment", first));
    }

    @Test
    void tableIsClearedWithoutADisplay() {
        Outcome outcome = macro(
                open("coins.png"),
                call("min_length=15 results_table")
                        + "n = nResults; run(\"Clear Results\");"
                        + call("min_length=15 results_table")
                        + "return \"\" + n + \"|\" + nResults;");
        String[] seen = outcome.returned.split("\\|");
        assertTrue(Integer.parseInt(seen[0]) > 0, outcome.log);
        assertEquals(seen[0], seen[1], outcome.log);
    }

    @Test
    void rememberedDialogValuesDoNotChangeMacros() throws Exception {
        ImagePlus image = open("coins.png");
        byte[] before = (byte[]) edges(image, "").getProcessor().getPixels();
        EdgeDrawingSettings other = new EdgeDrawingSettings();
        other.set("profile", "reference").set("gradient_threshold", "99").set("min_length", 77);
        other.set("follow_turns", true).set("roi_manager", true).set("edge_map", true);
        other.savePrefs(8);
        other.set(Settings.DEVICE, DefaultDevice.get());
        EdgeDrawingSettings remembered = new EdgeDrawingSettings();
        remembered.readPrefs(8);
        assertEquals(other.toString(), remembered.toString());
        assertArrayEquals(before, (byte[]) edges(image, "").getProcessor().getPixels());
        // A threshold for 8 bits does not apply to 16 bits.
        EdgeDrawingSettings deeper = new EdgeDrawingSettings();
        deeper.readPrefs(16);
        assertEquals("auto", deeper.text("gradient_threshold"));
        assertEquals(0, deeper.number("anchor_threshold"));
        assertEquals(other.number("min_length"), deeper.number("min_length"));
        new EdgeDrawingSettings().savePrefs(8);
    }

    @Test
    void settingsAreWrittenAsTheMacroThatRepeatsThem() throws Exception {
        EdgeDrawingSettings s = Settings.fromMacro(
                new EdgeDrawingSettings(),
                "profile=reference sigma=2.5 validation=false_alarms gradient_operator=scharr gradient_threshold=12.5"
                        + " anchor_threshold=0.25 scan_interval=3 min_length=0"
                        + " range_min=-1 range_max=2.5 stack=current edge_map roi_manager"
                        + " overlay results_table roi_shape=polyline tolerance=0.75"
                        + " most_rois=123 roi_file=[/a b/c.zip] device=cpu");
        assertEquals(
                s.toString(),
                Settings.fromMacro(new EdgeDrawingSettings(), s.toString()).toString());
        String turns = "profile=paper follow_turns edge_map";
        assertTrue(
                Settings.fromMacro(new EdgeDrawingSettings(), turns).toString().contains(" follow_turns "));
        assertTrue(s.toString().contains("sigma=2.5 "), s.toString());
        assertTrue(s.toString().contains("validation=false_alarms "), s.toString());
        assertTrue(s.toString().contains("gradient_threshold=12.5"), s.toString());
        assertTrue(s.toString().contains(" min_length=0 "), s.toString());
        assertTrue(s.toString().contains("roi_file=[/a b/c.zip]"), s.toString());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "edge_map follow_turns           | follow_turns is used with profile=paper only, but profile is reference",
                "overlay tolerance=2             | tolerance has no effect without roi_shape=polyline. Write that, too, or leave",
                "edge_map roi_shape=polyline     | roi_shape has no effect without overlay, roi_manager or roi_file",
                "edge_map most_rois=5            | most_rois has no effect without overlay or roi_manager",
                "min_length=20                   | No output is chosen. Choose at least one of edge_map",
                "edge_map gradient_threshold=-1  | gradient_threshold must be at least 0 (pixel values), or automatic, but it is -1",
                "edge_map gradient_threshold=low | gradient_threshold must be \"auto\" or a number, got \"low\"",
                "edge_map gradient_threshold=NaN | gradient_threshold must be",
                "edge_map anchor_threshold=-2    | anchor_threshold must be at least 0 (pixel values), but it is -2",
                "edge_map scan_interval=0        | scan_interval must be a whole number of at least 1 (pixels), but it is 0",
                "edge_map scan_interval=1.5      | scan_interval must be a whole number of at least 1",
                "edge_map sigma=11               | sigma must be from 0 to 10 (pixels), but it is 11",
                "edge_map min_length=-1          | min_length must be a whole number of at least 0 (pixels), but it is -1",
                "edge_map min_length=1e12        | min_length must be a whole number",
                "edge_map profile=fast           | profile must be one of reference, paper",
                "edge_map validation=canny         | validation must be one of none, false_alarms",
                "edge_map gradient_operator=canny | gradient_operator must be one of sobel, prewitt, scharr",
                "edge_map stack=volume           | stack must be one of slices, current",
                "edge_map range_min=2 range_max=1| range_min must be less than range_max",
                "edge_map range_min=0 range_max=9| are for 32-bit images",
                "overlay roi_shape=spline        | roi_shape must be one of freeline, polyline",
                "overlay roi_shape=polyline tolerance=-1 | tolerance must be a number of 0 or more",
                "overlay most_rois=0             | most_rois must be a whole number of 1 or more",
                "edge_map=yes                    | edge_map is a switch: write edge_map alone",
                "edge_map device=cuda:99         | cuda:99",
                "edge_map minlength=3            | There is no option \"minlength\"",
                "edges                           | not of the form key=value",
                "roi_manager                     | Write roi_file=FILE.zip instead of roi_manager",
                "roi_file=/no/such/folder/a.zip  | roi_file cannot be written: there is no folder \"/no/such/folder\"",
                "overlay find=circles                    | find must be one of segments, lines, ellipses, got \"circles\"",
                "overlay line_gap=3                      | line_gap is used with find=lines only, but find is segments",
                "overlay all_lines                       | all_lines is used with find=lines only",
                "overlay find=lines roi_shape=polyline   | roi_shape is used with find=segments only, but find is lines",
                "overlay find=lines shortest_line=1      | shortest_line must be a whole number of at least 2 (pixels)",
                "overlay find=lines line_deviation=0     | line_deviation must be greater than 0 (pixels), but it is 0",
                "overlay find=lines line_gap=-1          | line_gap must be at least 0 (pixels), but it is -1",
                "overlay find=lines line_min_length=20   | There is no option \"line_min_length\"",
                "overlay smallest_radius=3 | smallest_radius is used with find=ellipses only, but find is segments",
                "overlay find=lines all_ellipses | all_ellipses is used with find=ellipses only",
                "overlay find=ellipses line_gap=3 | line_gap is used with find=lines only, but find is ellipses",
                "overlay find=ellipses smallest_radius=0 | smallest_radius must be at least 1 (pixels), but it is 0",
                "overlay find=ellipses least_coverage=0 | least_coverage must be from 0.1 to 1, but it is 0",
                "overlay find=ellipses ellipse_deviation=0   | ellipse_deviation must be greater than 0 (pixels), but it is 0",
                "overlay find=ellipses ellipse_shapes=ovals  | ellipse_shapes must be one of all, circles, got \"ovals\""
            })
    void invalidOptionsEndTheMacroWithOneSentence(String options, String sentence) {
        ImagePlus image = open("microaneurysms.png");
        Overlay own = new Overlay(new Roi(1, 2, 3, 4));
        image.setOverlay(own);
        assertRefused(image, options, sentence);
        assertSame(own, image.getOverlay());
        assertEquals(0, ResultsTable.getResultsTable().size());
        // The plugin still works afterwards.
        assertEquals(8, edges(image, "").getBitDepth());
    }

    @ParameterizedTest
    @ValueSource(strings = {"segments", "lines", "ellipses"})
    void flatImageHasNone(String found) {
        ImagePlus flat = new ImagePlus("flat", new ByteProcessor(64, 64));
        Outcome outcome = macro(flat, call("find=" + found + " results_table"));
        assertTrue(outcome.log.contains("no " + found + ", so no new rows in the table"), outcome.log);
        assertEquals(0, ResultsTable.getResultsTable().size());
    }

    @Test
    void escapeCancelsAndLeavesNothingBehind() {
        ImagePlus film = longStack(1024, 2000, 255);
        Overlay own = new Overlay(new Roi(1, 2, 3, 4));
        film.setOverlay(own);
        pressEscapeAfter(1500, film);
        assertCancelled(film, "min_length=2000 overlay results_table");
        assertSame(own, film.getOverlay());
        assertEquals(0, ResultsTable.getResultsTable().size());
        assertEquals(8, edges(open("coins.png"), "").getBitDepth());
    }

    @Test
    void moreSegmentsThanWantedAreSaidAndTheLongestKept() {
        ImagePlus image = open("camera.png");
        Roi[] all = overlay(image, "min_length=5");
        assertTrue(all.length > 300, "only " + all.length);
        double[] lengths = new double[all.length];
        for (int i = 0; i < all.length; i++) {
            lengths[i] = all[i].getFloatPolygon().npoints;
        }
        java.util.Arrays.sort(lengths);
        ImagePlus again = open("camera.png");
        Outcome outcome = macro(again, call("min_length=5 overlay results_table most_rois=37"));
        Roi[] few = again.getOverlay().toArray();
        assertEquals(37, few.length);
        int sorted = all.length - 37;
        double[] kept = new double[few.length];
        int last = 0;
        for (int i = 0; i < few.length; i++) {
            kept[i] = few[i].getFloatPolygon().npoints;
            // The segments are still in order, and have their names among all.
            int number = Integer.parseInt(few[i].getName().substring("seg-".length()));
            assertTrue(number > last);
            last = number;
            assertEquals(all[number - 1].getFloatPolygon().npoints, kept[i]);
        }
        java.util.Arrays.sort(kept);
        assertArrayEquals(java.util.Arrays.copyOfRange(lengths, sorted, all.length), kept);
        assertTrue(outcome.log.contains("of " + all.length + " segments only the longest 37"));
        assertTrue(outcome.log.contains("most_rois"), outcome.log);
        assertEquals(all.length, ResultsTable.getResultsTable().size());
    }

    @Test
    void fromJavaWithoutMacroOrWindowAnOutputMustBeNamed() {
        ImagePlus horse = open("horse.png");
        Outcome outcome = captured(() -> {
            StackCommand plugin = (StackCommand) IJ.runPlugIn(horse, StackCommand.class.getName(), "edge_drawing");
            assertNull(plugin.getResult());
            return "";
        });
        assertOneSentence(outcome.log, "No output is chosen");
    }
}
