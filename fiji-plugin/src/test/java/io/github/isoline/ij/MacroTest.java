package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.Prefs;
import ij.WindowManager;
import ij.gui.NewImage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the macro options of edge strength and its failures. */
class MacroTest extends HeadlessTest implements CommandContract {
    /** The line that the recorder writes for the dialog of the devices: {@link GuiTest} sees it written. */
    static final String CHOICE_OF_CPU = "run(\"Devices...\", \"device=cpu\");";

    @Override
    public String command() {
        return COMMAND;
    }

    @Override
    public String quick() {
        return "mode=iterations iterations=3 threshold=100";
    }

    @Test
    void resultIsTheCurrentImageOfTheMacro() {
        Outcome outcome = macro(
                open("horse.png"),
                call("device=cpu rho=16 mode=iterations iterations=5 foreground=below threshold=127")
                        + "getMinAndMax(low, high);"
                        + "return getTitle + \"|\" + bitDepth + \"|\" + low + \"|\" + high;");
        assertEquals("ESF of horse.png|32|0|1", outcome.returned, outcome.log);
        assertTrue(outcome.log.contains("Edge Strength Function (horse.png): cpu"), outcome.log);
    }

    @Test
    void variablesBracketsAndOrderAreUnderstood() {
        ImagePlus horse = open("horse.png");
        macro(
                horse,
                "r = 16; what = \"below\";"
                        + call("threshold=[127] mode=iterations iterations=5 foreground=&what rho=&r"));
        float[] got = (float[]) WindowManager.getCurrentImage().getProcessor().getPixels();
        ImagePlus wanted = run(horse, "rho=16 mode=iterations iterations=5 foreground=below threshold=127");
        assertArrayEquals((float[]) wanted.getProcessor().getPixels(), got);
    }

    @Test
    void rememberedDialogValuesDoNotChangeMacros() throws Exception {
        EdgeStrengthSettings other = new EdgeStrengthSettings();
        other.set("rho", 3).set("iterations", 7).set("foreground", "below");
        assertRemembered(other, new EdgeStrengthSettings(), COMMAND, open("horse.png"), "threshold=100");
    }

    @Test
    void settingsAreWrittenAsTheMacroThatRepeatsThem() throws Exception {
        EdgeStrengthSettings s = Settings.fromMacro(
                new EdgeStrengthSettings(),
                "rho=0.1 mode=iterations iterations=3 stack=volume start=image device=cpu"
                        + " threshold=-3.25 time_step=0.05");
        assertEquals(
                s.toString(),
                Settings.fromMacro(new EdgeStrengthSettings(), s.toString()).toString());
        assertTrue(s.toString().contains("threshold=-3.25"), s.toString());
    }

    @Test
    void dialogAsksForARhoThatTheLibraryTakes() throws Exception {
        EdgeStrengthSettings s = new EdgeStrengthSettings();
        s.set("rho", 1e-18);
        assertEquals(null, s.problem());
        assertEquals(32, run(open("horse.png"), "threshold=100 rho=1e-18").getBitDepth());
        for (double bad : new double[] {9e-19, 0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
            s.set("rho", bad);
            boolean finite = !Double.isNaN(bad) && !Double.isInfinite(bad);
            assertTrue(
                    s.problem()
                            .startsWith("rho must be "
                                    + (finite ? "at least 1e-18" : "a finite number")
                                    + " (pixels), but it is "),
                    s.problem());
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "threshold=100 rho=-1                   | rho",
                "threshold=100 rho=0                    | rho",
                "threshold=100 rho=9e-19                | rho must be at least 1e-18",
                "rho=NaN                  | rho must be a number",
                "rho=wide                 | rho must be a number, got \"wide\"",
                "mode=iterations iterations=2.5 | iterations must be a whole number",
                "mode=iterations iterations=-3 | iterations must be a whole number from 0 to 10000000, but it is -3",
                "mode=fast                | mode must be one of converged, iterations",
                "threshold=100 iterations=5 | iterations is used with mode=iterations only, but mode is converged.",
                "threshold=100 mode=iterations tolerance=1e-3 | tolerance is used with mode=converged only",
                "foreground=white         | foreground must be one of above, below, thresholded",
                "foreground=thresholded   | shows no threshold. Set one with Image > Adjust > Threshold",
                "foreground=thresholded threshold=3 | threshold is used with foreground=above",
                "foreground=thresholded mode=iterations start=image | start=image is used with foreground=above",
                "threshold=auto           | has more than two values, so there is no automatic",
                "rho=16                   | has more than two values, so there is no automatic",
                "threshold=high           | threshold must be \"auto\" or a number, got \"high\"",
                "mode=iterations start=noise | start must be one of mask, image",
                "stack=volume             | is a single image",
                "threshold=100 mode=iterations time_step=0.3 | 0.24",
                "threshold=100 mode=iterations time_step=-1 | time",
                "threshold=100 tolerance=-1 | tolerance",
                "threshold=100 device=cuda:99           | cuda:99",
                "threshold=100 device=gpu               | gpu",
                "tollerance=1             | There is no option \"tollerance\". The options are device,",
                "rho                      | not of the form key=value",
                "threshold=1,5            | got \"1,5\". Write a decimal point instead of the comma.",
                "threshold=100 rho=1,5    | got \"1,5\". Write a decimal point instead of the comma.",
                "threshold=1 mode=iterations time_step=0,1 | got \"0,1\". Write a decimal point instead of the comma.",
                "rho = 3                  | Write rho=VALUE without blanks.",
                "rho=1 rho=2              | rho is given twice, as \"1\" and \"2\". Give it once.",
                "RHO=1 threshold=3 rho=[1] | rho is given twice, as \"1\" and \"1\". Give it once.",
                "foreground=is above      | If it belongs to foreground, put the value in brackets: foreground=[is above].",
                "foreground=[is] above    | \"above\" is not of the form key=value. The options are",
                "device=[cpu              | no closing ["
            })
    void invalidOptionsEndTheMacroWithOneSentence(String options, String sentence) {
        ImagePlus image = open("microaneurysms.png");
        assertRefused(image, options, sentence);
        // The plugin still works afterwards.
        assertEquals(
                32, run(image, "mode=iterations iterations=1 threshold=100").getBitDepth());
    }

    @Test
    void framesAreNotTakenForSlices() {
        ImagePlus film = NewImage.createByteImage("film", 8, 8, 5, NewImage.FILL_BLACK);
        film.setDimensions(1, 1, 5);
        assertRefused(film, "stack=volume", "5 frame(s), which are never mixed into a volume");
    }

    @Test
    void escapeCancelsAndLeavesNothingBehind() {
        ImagePlus image = open("camera.png");
        byte[] before = ((byte[]) image.getProcessor().getPixels()).clone();
        pressEscapeAfter(1000, image);
        assertCancelled(image, "mode=iterations iterations=10000000 threshold=100");
        assertArrayEquals(before, (byte[]) image.getProcessor().getPixels());
        assertEquals(
                32, run(image, "mode=iterations iterations=1 threshold=100").getBitDepth());
    }

    @Test
    void devicesAreListedAndChosen() {
        Outcome outcome = macro(null, CHOICE_OF_CPU + "return call(\"io.github.isoline.ij.DevicesPlugin.list\");");
        assertTrue(outcome.returned.contains("\ncpu"), outcome.returned);
        assertTrue(outcome.returned.contains("usable"), outcome.returned);
        assertTrue(outcome.log.contains("JNA 5."), outcome.log);
        assertEquals("cpu", DefaultDevice.get());
        Outcome wrong = macro(null, "run(\"Devices...\", \"device=cuda:99\");");
        assertEquals(ABORTED, wrong.returned);
        assertOneSentence(wrong.log, "\"cuda:99\" cannot be used here. Usable: auto, cpu");
        assertEquals("cpu", DefaultDevice.get());
        DefaultDevice.set("auto");
        Prefs.set("isoline.device", null);
    }

    private static String call(String options) {
        return "run(\"" + COMMAND + "\", \"" + options + "\");";
    }
}
