package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests edge drawing in ImageJ's window: the dialog, its preview, and the outputs of segments. */
class EdgeDrawingWindowTest extends WindowTest {
    @Test
    void previewLeavesTheUsersOverlayAsItWas() throws Exception {
        Map<String, String> seen = play("edge drawing preview");
        assertEquals("2 Isoline preview", seen.get("overlay during preview"));
        assertTrue(seen.get("hint").contains("Gradient threshold auto: 30"), seen.get("hint"));
        assertTrue(seen.get("complaint").startsWith("Gradient threshold must be"));
        assertEquals("true", seen.get("fewer segments"));
        assertEquals("true 2", seen.get("overlay after cancel"));
        assertEquals("true", seen.get("first is mine"));
        assertEquals("false", seen.get("hidden"));
        assertEquals("false", seen.get("changed"));
        assertEquals("1", seen.get("images"));
        assertEquals("1 false", seen.get("overlay that was hidden"));
        assertEquals("true", seen.get("still hidden"));
    }

    @Test
    void allOutputsAndWhatTheRecorderSays() throws Exception {
        Map<String, String> seen = play("edge drawing outputs");
        assertEquals("Edges of cell.png", seen.get("title"));
        assertEquals("\u00b5m", seen.get("unit"));
        assertEquals("true", seen.get("same everywhere"));
        assertEquals("1 true", seen.get("overlay"));
        assertEquals("1", seen.get("edge map's overlay"));
        assertEquals("seg-0004", seen.get("name"));
        String table = seen.get("table");
        assertTrue(table.endsWith("Label,Segment,Slice,X,Y,Angle,Length,Points,Mean gradient,Closed,Unit"), table);
        assertEquals("true", seen.get("selected length"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.startsWith("run(\"Edge Drawing...\", \"device=auto "), recorded);
        for (String option : new String[] {
            "profile=reference",
            "gradient_threshold=30",
            "min_length=10",
            " edge_map roi_manager overlay results_table ",
            "roi_shape=freeline"
        }) {
            assertTrue(recorded.contains(option), recorded);
        }
        assertUnderstood(recorded, new EdgeDrawingSettings());
    }

    @Test
    void linesHaveFieldsAPreviewAndOutputs() throws Exception {
        Map<String, String> seen = play("edge drawing lines");
        assertEquals("", seen.get("fields of segments"));
        assertEquals("shortest_line line_deviation line_gap all_lines", seen.get("fields of lines"));
        assertEquals("1", seen.get("overlay during preview"));
        assertTrue(seen.get("complaint").startsWith("Shortest line must be"), seen.get("complaint"));
        assertEquals("true", seen.get("same everywhere"));
        assertEquals("true", seen.get("selected"));
        assertEquals("true", seen.get("measured"));
        String table = seen.get("table");
        assertTrue(table.endsWith("Label,Line,Slice,X1,Y1,X2,Y2,Angle,Length,Points,RMS,Log NFA,Unit"), table);
        String recorded = seen.get("recorded");
        assertTrue(recorded.contains(" find=lines shortest_line=18 line_deviation=1 line_gap=6 "), recorded);
        assertUnderstood(recorded, new EdgeDrawingSettings());
    }

    @Test
    void previewFollowsTheSlice() throws Exception {
        Map<String, String> seen = play("edge drawing stack");
        assertTrue(seen.get("scope").startsWith("Looks at all 3 slices, each by itself"));
        assertEquals("true true", seen.get("segments"));
        assertEquals("3", seen.get("position"));
        assertEquals("2", seen.get("images"));
    }

    @Test
    void segmentsOfAHyperstackTurnToTheirPlane() throws Exception {
        Map<String, String> seen = play("edge drawing hyperstack");
        assertEquals("2 3 2", seen.get("edges"));
        assertEquals("true", seen.get("edges open as hyperstack"));
        assertEquals("0", seen.get("wrong positions"));
        assertEquals("12", seen.get("planes"));
    }

    @Test
    void secondDialogForAnImageIsRefused() throws Exception {
        Map<String, String> seen = play("edge drawing twice");
        assertEquals("Isoline", seen.get("second"));
        assertEquals("true", seen.get("segments"));
        assertEquals("0", seen.get("previews left"));
    }

    @Test
    void closingTheImageClosesTheDialog() throws Exception {
        Map<String, String> seen = play("edge drawing closed image");
        assertEquals("0", seen.get("images"));
        assertEquals("0", seen.get("dialogs"));
    }

    @Test
    void rowsDoNotComeBelowThoseOfAnotherCommand() throws Exception {
        Map<String, String> seen = play("edge drawing tables");
        assertEquals("1 Area", seen.get("measured"));
        assertEquals("true", seen.get("own rows"));
        assertEquals("true", seen.get("twice as many"));
        assertTrue(
                seen.get("log")
                        .startsWith("Edge Drawing (cell.png): warning: the Results table has rows of another "
                                + "kind, so those of this run are in the table \"Edge Drawing results\"."),
                seen.get("log"));
    }

    @Test
    void batchModeHasAHiddenManager() throws Exception {
        Map<String, String> seen = play("edge drawing batch");
        assertTrue(seen.get("batch").endsWith("|Edges of cell.png|2"), seen.get("batch"));
        assertEquals("false", seen.get("window after batch"));
        assertEquals("true", seen.get("window after macro"));
        assertEquals("true", seen.get("same"));
    }

    @Test
    void veryManySegmentsFreezeNoWindow() throws Exception {
        Map<String, String> seen = play("edge drawing many");
        int rows = Integer.parseInt(seen.get("rows"));
        assertTrue(rows > 100_000, "only " + rows);
        assertEquals("10000", seen.get("rois"));
        assertTrue(seen.get("log").contains("of " + rows + " segments only the longest 10000"));
        for (String where : new String[] {"preview", "run"}) {
            long worst = Long.parseLong(seen.get("worst wait of the event thread in " + where));
            assertTrue(worst < 5000, where + " held the windows for " + worst + " ms");
        }
    }
}
