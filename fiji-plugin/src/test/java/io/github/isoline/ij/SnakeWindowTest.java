package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests region snakes in ImageJ's window: the dialogs, the moving polygons, Escape, outputs. */
class SnakeWindowTest extends WindowTest {
    @Test
    void startFollowsTheSelectionAndTheHintTheNoise() throws Exception {
        Map<String, String> seen = play("snake preview");
        assertEquals("null Isoline start", seen.get("elements"));
        assertTrue(seen.get("without threshold").contains("shows no threshold"), seen.get("without threshold"));
        assertEquals("5", seen.get("hints"));
        assertEquals("false", seen.get("ok without selection"));
        assertEquals("null", seen.get("elements without selection"));
        assertTrue(seen.get("complaint").startsWith("Looks must be from 1"));
        assertEquals("true 1", seen.get("overlay after cancel"));
        assertEquals("1", seen.get("images"));
        assertEquals("false", seen.get("changed"));
    }

    @Test
    void allOutputsAndWhatTheRecorderSays() throws Exception {
        Map<String, String> seen = play("snake outputs");
        assertEquals("Labels of cell.png", seen.get("title"));
        assertEquals("\u00b5m", seen.get("unit"));
        assertEquals("16", seen.get("bits"));
        assertTrue(
                seen.get("table")
                        .endsWith("Label,Target,Name,Slice,Area,Mean,IntDen,RawIntDen,X,Y,Perim.,Major,Minor,"
                                + "Angle,Circ.,Feret,FeretAngle,MinFeret,AR,Round,Solidity,"
                                + "SD inside,Mean outside,SD outside,Criterion,Nodes,Iterations,"
                                + "Overlaps,Touches image,Touches window,Status,Unit"),
                seen.get("table"));
        // The cell is a disc of about 128 pixels in diameter.
        assertEquals(1, Double.parseDouble(seen.get("pixels")) / (Math.PI * 64 * 64), 0.1);
        assertEquals("converged", seen.get("status"));
        assertEquals("true false", seen.get("fields in the fold"));
        assertTrue(seen.get("folded").endsWith("Advanced: Largest step 8/"), seen.get("folded"));
        assertEquals("null snake true", seen.get("overlay"));
        assertEquals("1 snake", seen.get("managed"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.startsWith("run(\"Region Snake...\", \"device=auto "), recorded);
        for (String option : new String[] {
            "start=roi",
            "noise=gaussian",
            "background=auto",
            "largest_step=8",
            "node_spacing=10",
            " label_image overlay roi_manager results_table"
        }) {
            assertTrue(recorded.contains(option), recorded);
        }
        assertUnderstood(recorded, new SnakeSettings());
    }

    @Test
    void nucleiOfTheManagerKeepTheirNames() throws Exception {
        Map<String, String> seen = play("snake manager");
        assertEquals("true", seen.get("starts"));
        assertEquals("true", seen.get("outlines"));
        assertEquals("true", seen.get("name kept"));
        assertEquals("true", seen.get("same starts"));
    }

    @Test
    void escapeKeepsWhatWasReachedWhileTheWindowsAnswer() throws Exception {
        Map<String, String> seen = play("snake escape");
        assertAnswered(seen);
        assertEquals("true 1", seen.get("overlay"));
        assertEquals("true", seen.get("inside"));
        assertEquals("stopped", seen.get("status"));
        assertTrue(seen.get("log").matches("Region Snake \\(.*\\): warning: stopped by Escape.*"), seen.get("log"));
    }
}
