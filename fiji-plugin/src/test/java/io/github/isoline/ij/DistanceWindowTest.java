package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the signed distance in ImageJ's window: its dialog and its preview. */
class DistanceWindowTest extends WindowTest {
    @Test
    void dialogProposesAThresholdPreviewsAndIsRecorded() throws Exception {
        Map<String, String> seen = play("distance dialog");
        assertTrue(seen.get("hint").startsWith("Inside: bright pixels, value > "), seen.toString());
        assertTrue(seen.get("hint").contains("Distances in \u00b5m, pixels of 0.107 x 0.107"));
        assertEquals("2", seen.get("overlay during preview"));
        assertEquals("1", seen.get("overlay without one"));
        assertEquals("false", seen.get("ok with auto"));
        assertEquals("false", seen.get("ok with a word"));
        assertTrue(seen.get("complaint").startsWith("Threshold must be \"auto\" or a number"));
        assertEquals("Signed distance (\u00b5m) of cell.png", seen.get("title"));
        assertEquals("1", seen.get("result's overlay"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.startsWith("run(\"Signed Distance...\", \"device=auto "), recorded);
        String options = recorded.split("\"")[3];
        // A macro understands the recorded options.
        assertEquals(options, DistanceSettings.fromMacro(options).toString());
        assertTrue(options.contains("inside=bright threshold=110 region=signed"), options);
    }

    @Test
    void blackIsInsideInAMaskOfImageJ() throws Exception {
        Map<String, String> seen = play("distance mask");
        assertEquals("true", seen.get("inverting"));
        assertTrue(seen.get("hint").startsWith("Inside: dark pixels"), seen.get("hint"));
        assertEquals("0", seen.get("wrong pixels"));
    }

    @Test
    void selectionMayBeDrawnWhileTheDialogIsOpen() throws Exception {
        Map<String, String> seen = play("distance selection");
        assertEquals("false", seen.get("ok without selection"));
        assertEquals("300", seen.get("selection"));
        assertEquals("1", seen.get("images"));
    }

    @Test
    void hyperstackOffersItsAxes() throws Exception {
        Map<String, String> seen = play("distance hyperstack");
        assertEquals("1 3 4", seen.get("sizes"));
        assertEquals("1 2 3", seen.get("shown"));
        assertEquals("true", seen.get("hyperstack"));
        assertEquals("0.3", seen.get("depth"));
        assertEquals("0", seen.get("wrong pixels"));
    }

    @Test
    void helpIsInThePlugin() throws Exception {
        assertEquals("Signed Distance Help", play("distance help").get("help"));
    }
}
