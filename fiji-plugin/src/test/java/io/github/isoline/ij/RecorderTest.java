package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.plugin.frame.Recorder;
import io.github.isoline.IsolineException;
import io.github.isoline.Operation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Tests the keys of all commands with ImageJ's macro recorder, and the labels with the help. */
class RecorderTest {
    /**
     * The recorder warns of a duplicate, in a dialog and before each run, where "key=" (or for a switch, a space and
     * its key) occurs anywhere in the text recorded so far.
     */
    @Test
    void noKeyIsTheEndOrTheBeginningOfAnother() throws Exception {
        List<String> commands = commands();
        assertTrue(commands.size() >= 5, commands.toString());
        for (String command : commands) {
            Settings settings = settings(command);
            List<String> switches = settings.switches();
            List<String> all = settings.keys();
            for (String key : all) {
                boolean isSwitch = switches.contains(key);
                String sought = isSwitch ? " " + key : key + "=";
                for (String other : all) {
                    String recorded = " " + other + (switches.contains(other) ? "" : "=");
                    boolean found = !other.equals(key) && recorded.contains(sought);
                    assertFalse(found, command + ": " + key + " is found in " + other);
                }
            }
        }
    }

    @Test
    void everyOperationOfTheLibraryHasACommand() throws Exception {
        Set<String> names = new HashSet<>();
        for (String command : commands()) {
            names.add(settings(command).operation.name());
        }
        assertEquals(Operation.names(), names);
    }

    @Test
    void helpNamesEveryFieldOnce() throws Exception {
        for (String command : commands()) {
            Settings settings = settings(command);
            String help = Help.text(settings.kind.replace(' ', '-'), settings);
            Set<String> labels = new HashSet<>();
            for (String key : settings.keys()) {
                Setting setting = settings.setting(key);
                if (setting.macroOnly) {
                    continue;
                }
                assertTrue(labels.add(setting.label), command + ": two fields " + setting.label);
                assertTrue(help.contains(setting.label), command + ": the help lacks " + setting.label);
            }
        }
    }

    @Test
    void dialogNamesMissingOutputsByTheirLabels() throws Exception {
        int named = 0;
        for (String command : commands()) {
            Settings settings = settings(command);
            settings.outputs().forEach(output -> settings.set(output, false));
            String problem = settings.has(Settings.ROI_FILE) ? settings.outputProblem() : null;
            String said = problem == null ? "" : MessageLabels.in(problem, settings, new HashSet<>(settings.keys()));
            for (String output : problem == null ? Collections.<String>emptyList() : settings.outputs()) {
                String label = settings.setting(output).label;
                assertTrue(said.matches(".*(of|,) " + label + "[, ].*"), command + ": " + output + ": " + said);
                named++;
            }
        }
        assertTrue(named > 15, "only " + named);
    }

    /** A number of pixel values that suits 8 bits is nothing in 16. */
    @Test
    void pixelValuesAreRememberedForOneKindOfPixels() throws Exception {
        Set<String> tried = new HashSet<>();
        for (String command : commands()) {
            Settings settings = settings(command);
            for (String key : settings.keys()) {
                Setting setting = settings.setting(key);
                String units = setting.unit + (setting.parameter == null ? "" : setting.parameter.unit());
                if (!setting.remembered || !units.contains("pixel value")) {
                    continue;
                }
                Object other = setting.initial instanceof Double ? (Object) 77.0 : "77";
                setting.savePrefs("isoline.test.", 8, other);
                assertEquals(other, setting.fromPrefs("isoline.test.", 8), command + ": " + key);
                assertEquals(setting.first, setting.fromPrefs("isoline.test.", 16), command + ": " + key);
                tried.add(key);
            }
        }
        assertTrue(tried.contains("edge_contrast") && tried.contains("gradient_threshold"), tried.toString());
    }

    @Test
    void pathsAndTitlesReplayAsTheyWere() throws Exception {
        Map<Settings, String> given = new LinkedHashMap<>();
        given.put(settings("isosurface"), IsosurfaceSettings.FILE);
        given.put(settings("level_set"), LevelSetSettings.MASK_IMAGE);
        for (Map.Entry<Settings, String> one : given.entrySet()) {
            Settings settings = one.getKey();
            String key = one.getValue();
            if (settings.has(Settings.START)) {
                settings.set(Settings.START, LevelSetSettings.MASK);
            }
            for (String value : new String[] {
                "C:\\tmp\\new.stl",
                "C:\\my data\\n.stl",
                "a \"title\".tif",
                "a[1].tif",
                "a [1] b.tif",
                "[1].tif",
                "[x] y"
            }) {
                settings.set(key, value);
                boolean before = Recorder.record;
                Recorder.record = true;
                Recorder.resetCommandOptions();
                String recorded;
                try {
                    settings.record("Test");
                    recorded = Recorder.getCommandOptions();
                } finally {
                    Recorder.setCommand(null);
                    Recorder.record = before;
                }
                String replayed = IJ.runMacro("return \"" + recorded + "\";");
                MacroOptions read =
                        new MacroOptions(replayed, settings.keys(), settings.switches(), settings.oldKeys());
                assertEquals(value, read.text(key, ""), recorded);
                String written = settings.toString();
                read = new MacroOptions(written, settings.keys(), settings.switches(), settings.oldKeys());
                assertEquals(value, read.text(key, ""), written);
            }
        }
    }

    /** One thing has one word in every command. */
    @Test
    void slicesByThemselvesHaveOneWord() throws Exception {
        for (String command : commands()) {
            String first = settings(command).setting(Settings.STACK).words[0];
            assertEquals(command.equals("isosurface") ? "volume" : "slices", first, command);
        }
    }

    private static Settings settings(String operation) throws IsolineException {
        return Isoline.OPERATIONS.get(operation).newSettings.create();
    }

    /** Returns the operations of all commands in the menu that have parameters. */
    private static List<String> commands() {
        Matcher line = Pattern.compile("\"(.+)\\.\\.\\.\", [\\w.]+\\.StackCommand\\(\"(.+)\"\\)")
                .matcher(Resource.text("/plugins.config"));
        List<String> operations = new ArrayList<>();
        while (line.find()) {
            operations.add(line.group(2));
            assertEquals(line.group(1), Isoline.OPERATIONS.get(line.group(2)).command);
        }
        return operations;
    }
}
