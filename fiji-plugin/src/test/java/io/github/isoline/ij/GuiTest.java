package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;

/** Tests edge strength and the other commands in ImageJ's window. */
class GuiTest extends WindowTest {
    @Test
    void dialogComputesAndIsRecorded() throws Exception {
        Map<String, String> seen = play("gui run");
        assertEquals("false", seen.get("ok with rho -5"));
        assertEquals("ESF of cell.png", seen.get("title"));
        assertEquals("\u00b5m", seen.get("unit"));
        String status = seen.get("status at the end");
        assertTrue(status.startsWith("Edge Strength Function: "), status);
        assertEquals("false", seen.get("bar at the end"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.startsWith("run(\"Edge Strength Function...\", \""), recorded);
        for (String option : new String[] {
            "device=auto", "rho=32", "mode=converged", "tolerance=1.0E-5", "foreground=above", "threshold=110"
        }) {
            assertTrue(recorded.contains(option), recorded);
        }
        // A macro understands the recorded options.
        String options = recorded.split("\"")[3];
        assertEquals(32, Settings.fromMacro(new EdgeStrengthSettings(), options).number("rho"));
    }

    @Test
    void dialogBeginsWithAThresholdThatFitsTheImage() throws Exception {
        Map<String, String> seen = play("edge strength");
        assertEquals("Isoline shape", seen.get("elements"));
        assertEquals("false", seen.get("overlay when all is shape"));
        assertEquals("false", seen.get("ok with auto"));
        double coins = Double.parseDouble(seen.get("coins' share"));
        assertTrue(coins > 0.2 && coins < 0.6, "shape: " + coins);
        assertEquals("1", seen.get("recorded runs"), "a dialog that was cancelled is none");
        assertUnderstood(seen.get("recorded"), new EdgeStrengthSettings());
        assertEquals("false", seen.get("ok without a threshold"));
        assertTrue(seen.get("offered").startsWith("Shape: what Image > Adjust > Threshold marks"), seen.get("offered"));
    }

    @Test
    void escapeCancelsWhileTheWindowsAnswer() throws Exception {
        Map<String, String> seen = play("gui cancel");
        assertAnswered(seen);
        assertEquals("1", seen.get("images"));
        assertEquals("cell.png", seen.get("current"));
        String status = seen.get("status during the run");
        assertTrue(status.matches("Isoline on \\S+: .+ \\(Esc: .+\\)"), status);
        assertEquals("true", seen.get("bar during the run"));
        assertEquals("Edge Strength Function (cell.png): cancelled", seen.get("status after it"));
        assertEquals("false", seen.get("bar after it"));
    }

    @Test
    void commandThatWaitsIsToldOfByTheOther() throws Exception {
        Map<String, String> seen = play("gui waiting");
        assertFalse(seen.get("first").contains("waits"), seen.get("first"));
        assertTrue(
                seen.get("both").matches("Isoline on cpu: .+, another command waits \\(Esc: cancel\\)"),
                seen.get("both"));
        assertEquals("true", seen.get("second waits"));
        assertEquals("false", seen.get("locked"));
        assertEquals(2, seen.get("made").split("ESF of ", -1).length, seen.get("made"));
        assertAnswered(seen);
    }

    @Test
    void devicesDialogIsRecorded(@TempDir(factory = UserHome.class) Path user) throws Exception {
        Map<String, String> seen = play("gui devices", "-Duser.home=" + user);
        assertEquals("Isoline Devices", seen.get("dialog"));
        assertEquals(MacroTest.CHOICE_OF_CPU, seen.get("recorded"));
    }

    /** A home with a short name, since the manual's picture of the devices shows it. */
    static final class UserHome implements TempDirFactory {
        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext test) throws IOException {
            return Files.createDirectories(Paths.get(System.getProperty("java.io.tmpdir"), "ada"));
        }
    }

    @Test
    void dialogOfThePictureShowsItsPreviewAlone() throws Exception {
        assertEquals("Isoline preview", play("gui edge drawing dialog").get("elements of the picture"));
    }

    @Test
    void dialogNoticesThatAnRgbImageWasConverted() throws Exception {
        Map<String, String> seen = play("gui rgb");
        assertFalse(seen.get("hint").contains("RGB"), seen.get("hint"));
    }

    @Test
    void macroInTheWindowEndsWithALineInTheLogAndNoDialog() throws Exception {
        Map<String, String> seen = play("gui macro");
        assertEquals("[aborted]", seen.get("returned"));
        assertEquals("first", seen.get("current"));
        assertEquals("0", seen.get("dialogs"));
        String log = seen.get("log");
        assertTrue(log.startsWith("Edge Strength Function (first): rho"), log);
        assertTrue(log.endsWith("(macro line 3)"), log);
    }

    @Test
    void callOnTheEventThreadDoesNotFreezeTheWindows() throws Exception {
        Map<String, String> seen = play("gui event thread");
        long held = Long.parseLong(seen.get("the call held the event thread for ms"));
        assertTrue(held < 2000, held + " ms");
        assertTrue(seen.get("info").contains("iterations=5000"), seen.get("info"));
    }

    @Test
    void helpIsInThePlugin() throws Exception {
        Map<String, String> seen = play("gui help");
        assertEquals("Edge Strength Function Help", seen.get("help"));
        assertEquals("help, then dialog", seen.get("order"));
    }

    @Test
    void missingLibraryIsOneDialogAndImageJGoesOn() throws Exception {
        Map<String, String> seen = play("gui error", "-Disoline.library.path=" + home.resolve("gone"));
        assertEquals("Isoline", seen.get("dialog"));
        assertEquals("0", seen.get("dialogs left"));
        assertEquals("cell.png", seen.get("current"));
    }
}
