package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The options of a script: those of a macro, and objects in place of titles, of the ROI Manager and of the table. */
final class ScriptOptions {
    private static final String ROIS = "rois";

    private ScriptOptions() {}

    /**
     * Reads options into the parameters.
     *
     * @param options a text as in a macro, or a map; null for none
     * @param workspace receives the objects
     */
    static void read(Object options, Settings settings, ScriptWorkspace workspace) throws BadInput {
        settings.workspace = workspace;
        MacroOptions read = options instanceof Map
                ? fromMap((Map<?, ?>) options, settings, workspace)
                : new MacroOptions((String) options, settings.keys(), settings.switches(), settings.oldKeys());
        List<String> outputs = new ArrayList<>();
        for (String output : settings.outputs()) {
            if (settings.setting(output).isUsedBy(read, settings)) {
                outputs.add(output);
            }
        }
        if (!outputs.isEmpty() && outputs.stream().noneMatch(read::has) && !read.has(Settings.ROI_FILE)) {
            for (String output : Arrays.asList(outputs.get(0), Settings.ROI_MANAGER, Settings.RESULTS_TABLE)) {
                read.putIfAbsent(output, "");
            }
        }
        settings.read(read);
    }

    private static MacroOptions fromMap(Map<?, ?> options, Settings settings, ScriptWorkspace workspace)
            throws BadInput {
        Map<String, Object> plain = new LinkedHashMap<>();
        for (Map.Entry<?, ?> option : options.entrySet()) {
            String key = option.getKey().toString();
            Object value = option.getValue();
            if (value == null) {
                throw new BadInput(key + " has no value (null). Give one, or leave " + key + " out.");
            }
            if (key.equals(ROIS)) {
                addRois(value, settings, workspace, plain);
            } else if (value instanceof ImagePlus) {
                workspace.add((ImagePlus) value);
                plain.put(key, ((ImagePlus) value).getTitle());
            } else if (value instanceof ResultsTable) {
                workspace.use((ResultsTable) value);
                plain.put(key, true);
            } else {
                plain.put(key, value);
            }
        }
        return new MacroOptions(plain, settings.keys(), settings.switches(), settings.oldKeys());
    }

    private static void addRois(Object rois, Settings settings, ScriptWorkspace workspace, Map<String, Object> plain)
            throws BadInput {
        String start = settings.startOfRois();
        if (start == null) {
            throw new BadInput(
                    "rois are starts of level sets, region snakes and objects; " + settings.kind + " takes none.");
        }
        Collection<?> all = rois instanceof Collection
                ? (Collection<?>) rois
                : rois instanceof Object[] ? Arrays.asList((Object[]) rois) : Arrays.asList(rois);
        for (Object roi : all) {
            if (!(roi instanceof Roi)) {
                throw new BadInput("rois must be a Roi or a collection of them, got \"" + roi + "\".");
            }
            workspace.add((Roi) roi);
        }
        plain.putIfAbsent(Settings.START, start);
    }
}
