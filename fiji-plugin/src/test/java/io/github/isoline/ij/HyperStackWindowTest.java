package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Tests channels and frames in the dialogs, and in the recorded options. */
class HyperStackWindowTest extends WindowTest {
    @Test
    void everyDialogOffersTheAxesAndRecordsThem() throws Exception {
        Set<String> commands =
                Arrays.stream(HyperStackScenes.COMMANDS).map(each -> each[0]).collect(Collectors.toSet());
        commands.add("Devices");
        assertEquals(new HashSet<>(SampleImagesTest.commands()), commands);
        Map<String, String> seen = play("hyperstack");
        for (String[] each : HyperStackScenes.COMMANDS) {
            String command = each[0];
            if (!command.equals("Isolines") && !command.equals("Isosurface")) {
                assertEquals("1 3 4", seen.get(command + " made"), command);
                assertEquals("1 2 3", seen.get(command + " shows"), command);
            }
            String recorded = seen.get(command + " recorded");
            assertTrue(recorded.contains(" all_frames"), recorded);
            assertFalse(recorded.contains("all_channels"), recorded);
        }
        assertEquals("12 planes of channels [2]", seen.get("curves"));
        assertEquals("channel 2 frame 1 2 frame 2 2 frame 3 2 frame 4", seen.get("surfaces"));
        // A macro understands the recorded options.
        String options = seen.get("Edge Strength Function recorded").split("\"")[3];
        EdgeStrengthSettings settings = Settings.fromMacro(new EdgeStrengthSettings(), options);
        assertTrue(settings.is("all_frames") && !settings.is("all_channels"));
    }

    @Test
    void slidersOfNewStacksStandWhereTheyShow() throws Exception {
        Map<String, String> seen = play("stack");
        for (String title : new String[] {"ESF of", "Level set of", "Phi of"}) {
            assertEquals("4", seen.get(title + " shows"), title);
            assertEquals("4", seen.get(title + " sliders"), title);
        }
    }
}
