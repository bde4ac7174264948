package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.macro.Interpreter;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.CsvSource;

/** Plugins > Isoline > Sample images: each command of plugins.config. */
class SampleImagesTest extends HeadlessTest {
    /** Returns the commands of a submenu, each with its argument. */
    static List<String[]> entries(String submenu) {
        Matcher line = Pattern.compile("(?m)^Plugins>Isoline>" + submenu + ", \"([^\"]+)\", [\\w.]+\\(\"([^\"]+)\"\\)$")
                .matcher(Resource.text("/plugins.config"));
        List<String[]> entries = new ArrayList<>();
        while (line.find()) {
            entries.add(new String[] {line.group(1), line.group(2)});
        }
        return entries;
    }

    /** Returns the commands of the menu itself, without their dots. */
    static List<String> commands() {
        Matcher line = Pattern.compile("(?m)^Plugins>Isoline, \"([^\"]+)\\.\\.\\.\", ")
                .matcher(Resource.text("/plugins.config"));
        List<String> commands = new ArrayList<>();
        while (line.find()) {
            commands.add(line.group(1));
        }
        return commands;
    }

    /**
     * Returns the commands without a row in a parameterized test.
     *
     * @param method the test, whose rows begin with a command and its dots
     */
    static Set<String> commandsWithoutRow(Class<?> test, String method) {
        Set<String> missing = new TreeSet<>(commands());
        for (Method each : test.getDeclaredMethods()) {
            if (each.getName().equals(method)) {
                for (String row : each.getAnnotation(CsvSource.class).value()) {
                    missing.remove(row.substring(0, row.indexOf("...")));
                }
            }
        }
        return missing;
    }

    @Test
    void eachOpensTheImageAndSaysWhereItComesFrom() {
        List<String[]> entries = entries("Sample images");
        assertEquals(9, entries.size());
        for (String[] entry : entries) {
            String shown = IJ.runMacro("setBatchMode(true); run(\"" + entry[0] + "\"); return getImageInfo();");
            ImagePlus sample = Interpreter.getLastBatchModeImage();
            ImagePlus file = open(entry[1]);
            assertEquals(entry[1], sample.getTitle());
            assertEquals(8, sample.getBitDepth(), entry[1]);
            assertEquals(file.getStackSize(), sample.getStackSize(), entry[1]);
            for (int slice = 1; slice <= file.getStackSize(); slice++) {
                assertArrayEquals(
                        (byte[]) file.getStack().getPixels(slice),
                        (byte[]) sample.getStack().getPixels(slice),
                        entry[1]);
            }
            String info = sample.getInfoProperty();
            assertTrue(info.matches("(?s)" + entry[1] + ": .{20,}\nSource: .{10,}\nLicence: .{3,}"), info);
            assertTrue(shown.contains("Licence: "), shown);
            forgetImages();
        }
    }

    /** The rows of an earlier command would be the example's first ones. */
    @Test
    void examplesThatReadTheTableClearItBefore() {
        int tables = 0;
        for (String[] example : entries("Macro examples")) {
            String text = MacroExample.text(example[1]);
            if (text.matches("(?s).*(nResults|getResult|\"Results\").*")) {
                int clears = text.indexOf("run(\"Clear Results\");");
                String use = text.contains("results_table") ? "results_table" : "setResult(";
                assertTrue(clears > 0 && clears < text.indexOf(use), example[1]);
                tables++;
            }
        }
        assertEquals(7, tables);
    }

    @Test
    void scalesAreThoseOfTheImages() throws Exception {
        ImagePlus cell = SampleImage.open("cell.png");
        assertEquals(0.107, cell.getCalibration().pixelWidth);
        assertEquals("\u00b5m", cell.getCalibration().getUnit());
        ImagePlus brain = SampleImage.open("brain.tif");
        assertEquals(2, brain.getCalibration().pixelDepth);
        assertEquals("mm", brain.getCalibration().getUnit());
        assertTrue(brain.getInfoProperty().contains("above copyright notice appear in all copies"));
    }
}
