package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests level sets in ImageJ's window: the dialog, its shading, the running front, Escape, outputs. */
class LevelSetWindowTest extends WindowTest {
    @Test
    void shadingFollowsTheSlidersAndLeavesTheUsersOverlayAsItWas() throws Exception {
        Map<String, String> seen = play("level set preview");
        assertTrue(seen.get("without selection").contains("Draw one with"), seen.toString());
        assertEquals("false", seen.get("ok without selection"));
        assertEquals("null", seen.get("elements when it is gone"));
        assertEquals("none", seen.get("preview with alpha 7 and radius 0"));
        assertEquals("null Isoline range Isoline start", seen.get("elements"));
        double target = Double.parseDouble(seen.get("target auto"));
        assertTrue(target > 180 && target < 230, "T " + target);
        double share = Double.parseDouble(seen.get("auto share"));
        assertTrue(share > 15 && share < 45, "the cell takes 40 % of the image, got " + share);
        assertTrue(Double.parseDouble(seen.get("other share")) > 0, seen.toString());
        assertEquals("values", seen.get("range"));
        // The limits that were found stay when a value is typed, and no longer with another source of the range.
        assertEquals("above", seen.get("side of the values"));
        assertEquals("auto", seen.get("side"));
        assertEquals(
                Double.parseDouble(seen.get("mean of the selection")),
                Double.parseDouble(seen.get("target of the selection")),
                0.01);
        assertTrue(seen.get("complaint").startsWith("Detail must be from 0 to 1"));
        assertEquals("true 1", seen.get("overlay after cancel"));
        assertEquals("1", seen.get("images"));
        assertEquals("false", seen.get("changed"));
    }

    @Test
    void allOutputsAndWhatTheRecorderSays() throws Exception {
        Map<String, String> seen = play("level set outputs");
        assertEquals("Level set of cell.png", seen.get("title"));
        assertEquals("volume", seen.get("remembered"), "an image that has no stack");
        assertEquals("\u00b5m", seen.get("unit"));
        assertTrue(
                seen.get("table")
                        .endsWith("Label,Slice,Area,Perim.,X,Y,Mean,IntDen,RawIntDen,Touches image,"
                                + "Mean outside,Iterations,Converged,Outcome,Seconds,Device,Unit"),
                seen.get("table"));
        double pixels = Double.parseDouble(seen.get("pixels"));
        // The cell is a disc of about 128 pixels in diameter.
        assertEquals(1, pixels / (Math.PI * 64 * 64), 0.1);
        assertEquals(pixels * 0.107 * 0.107, Double.parseDouble(seen.get("area")), 1e-6);
        assertEquals("1.0", seen.get("converged"));
        assertTrue(Integer.parseInt(seen.get("different fronts")) > 3, seen.toString());
        assertEquals("null level-set true", seen.get("overlay"));
        assertEquals("2 level-set", seen.get("managed"));
        assertEquals("true", seen.get("same mask"));
        assertEquals(
                Double.parseDouble(seen.get("iterations")),
                Double.parseDouble(seen.get("iterations without pictures")));
        String recorded = seen.get("recorded");
        assertTrue(recorded.startsWith("run(\"Level Set...\", \"device=auto "), recorded);
        for (String option : new String[] {
            "start=roi",
            "range=values",
            "target=200",
            "epsilon=90",
            "alpha=0.02",
            "show_every=5",
            " mask_stack phi overlay roi_manager results_table"
        }) {
            assertTrue(recorded.contains(option), recorded);
        }
        assertUnderstood(recorded, new LevelSetSettings());
    }

    @Test
    void spheresOfTheManagerGrowInAVolume() throws Exception {
        Map<String, String> seen = play("level set volume");
        assertTrue(seen.get("hint").contains("One volume of 10 slices"), seen.get("hint"));
        assertTrue(Integer.parseInt(seen.get("different fronts")) > 3, seen.toString());
        assertEquals("true", seen.get("managed"));
        assertEquals("0", seen.get("wrong positions"));
        assertEquals("true", seen.get("first is a point"));
        assertTrue(seen.get("objects").matches("[1-9][0-9]* true"), seen.get("objects"));
        assertEquals("5 5", seen.get("slice of the labels"));
        assertTrue(seen.get("table").contains("Label,Volume,Surface,X,Y,Z,Mean,"));
    }

    @Test
    void escapeKeepsWhatWasReachedWhileTheWindowsAnswer() throws Exception {
        Map<String, String> seen = play("level set escape");
        assertAnswered(seen);
        assertEquals("true 1", seen.get("overlay"));
        assertEquals("true", seen.get("inside"));
        assertEquals("1", seen.get("managed"), "the ROI Manager was closed during the run");
        assertEquals("true", seen.get("iterations"));
        assertTrue(seen.get("log").matches("Level Set \\(.*\\): warning: stopped by Escape after .*"), seen.get("log"));
    }

    @Test
    void slidersHaveStepsThatFitThePixels() throws Exception {
        Map<String, String> seen = play("level set floats");
        assertEquals("auto", seen.get("untouched range"));
        double target = Double.parseDouble(seen.get("target"));
        assertTrue(target > 1.8e-3 && target < 2.3e-3, "T " + target);
        double epsilon = Double.parseDouble(seen.get("epsilon"));
        assertTrue(epsilon > 1e-5 && epsilon < 1e-3, "epsilon " + epsilon);
        assertTrue(Integer.parseInt(seen.get("steps")) > 200, seen.get("steps"));
        double moved = Double.parseDouble(seen.get("moved"));
        assertTrue(moved > target && moved < 1.2 * target, moved + " from " + target);
        assertEquals("true", seen.get("inside"));
    }

    @Test
    void masksAreOfferedByTheirSize() throws Exception {
        Map<String, String> seen = play("level set masks");
        assertEquals("1 my start", seen.get("masks"));
        assertEquals("true", seen.get("inside"));
        assertEquals("3", seen.get("images"));
    }
}
