package io.github.isoline.ij;

import ij.IJ;
import ij.Menus;
import java.awt.GraphicsEnvironment;
import java.awt.HeadlessException;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs a macro in a plain ImageJ without any display, which ij.jar alone cannot do: it knows its commands only once it
 * has built its menus.
 *
 * <pre>
 * java -cp ij.jar:jna.jar:Isoline_.jar io.github.isoline.ij.HeadlessImageJ [--quiet] macro.ijm [argument...]
 * </pre>
 *
 * <p>With several arguments the macro runs for one after the other, each time without images and rows of the run
 * before; a failure ends the run for its argument alone. The last lines are a summary. With --quiet only warnings,
 * failures and what the macro prints are written before it.
 *
 * <p>The exit status is 0 if the macro reached its end or exit(). It is 1 if anything failed: the macro cannot be
 * interpreted, calls exit("message") or has "[aborted]" as its return value, or a command reports an error, throws an
 * exception or tries to show a dialog, for any of the arguments. The failure is written to the standard error output,
 * with the line of the macro. It is 2 for wrong arguments. Fiji has a headless mode of its own and does not need this
 * class.
 */
public final class HeadlessImageJ {
    /** Matches a line of plugins.config or of IJ_Props.txt: "Command",class or "Command", class("argument"). */
    private static final Pattern COMMAND = Pattern.compile("\"([^\"]+)\"\\s*,\\s*(\\S.*)");

    /** Matches a shortcut key that IJ_Props.txt appends to a command's name. */
    private static final Pattern SHORTCUT = Pattern.compile("\\[[^\\]]*\\]$");

    private HeadlessImageJ() {}

    /** Runs the program. */
    public static void main(String[] args) throws IOException {
        List<String> left = new ArrayList<>(Arrays.asList(args));
        if (left.remove("--quiet")) {
            System.setProperty(RunLog.QUIET, "true");
        }
        if (left.isEmpty() || !new File(left.get(0)).isFile()) {
            if (!left.isEmpty()) {
                System.err.println("HeadlessImageJ: there is no macro file " + left.get(0));
            }
            System.err.println("usage: HeadlessImageJ [--quiet] MACRO.ijm [ARGUMENT...]");
            System.exit(2);
        }
        System.setProperty("java.awt.headless", "true");
        registerCommands();
        boolean done = HeadlessMacro.runAll(new File(left.get(0)), left.subList(1, left.size()));
        // The exit ends threads that ImageJ or the library may keep.
        System.exit(done ? 0 : 1);
    }

    /**
     * Makes run("Command...") work without menus: fills ImageJ's table of commands from IJ_Props.txt and from every
     * plugins.config on the class path.
     */
    public static void registerCommands() throws IOException {
        if (!GraphicsEnvironment.isHeadless()) {
            return; // ImageJ builds its menus itself.
        }
        if (Menus.getCommands() == null) {
            try {
                IJ.run("");
            } catch (HeadlessException expected) {
                // ImageJ failed at its first menu, but has created the table.
            }
        }
        @SuppressWarnings("unchecked") // ImageJ is older than generics
        Hashtable<String, String> table = Menus.getCommands();
        table.putAll(builtIn());
        ClassLoader loader = HeadlessImageJ.class.getClassLoader();
        for (URL config : Collections.list(loader.getResources("plugins.config"))) {
            try (BufferedReader in =
                    new BufferedReader(new InputStreamReader(config.openStream(), StandardCharsets.UTF_8))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    if (!line.trim().startsWith("#")) {
                        register(table, line.trim());
                    }
                }
            }
        }
    }

    private static Map<String, String> builtIn() throws IOException {
        Map<String, String> table = new TreeMap<>();
        Properties properties = new Properties();
        try (InputStream in = IJ.class.getResourceAsStream("/IJ_Props.txt")) {
            properties.load(in);
        }
        for (Object value : properties.values()) {
            register(table, value.toString());
        }
        // These commands are added to the menus by ImageJ's own code; only those without a dialog are listed.
        for (String type : new String[] {"8-bit", "16-bit", "32-bit", "RGB Color"}) {
            table.put(type, "ij.plugin.Converter(\"" + type + "\")");
        }
        String[][] others = {
            {"Clear", "filter.Filler(\"clear\")"},
            {"Clear Outside", "filter.Filler(\"outside\")"},
            {"Clear Results", "filter.Analyzer(\"clear\")"},
            {"Close", "Commands(\"close\")"},
            {"Close All", "Commands(\"close-all\")"},
            {"Crop", "Resizer(\"crop\")"},
            {"Draw", "filter.Filler(\"draw\")"},
            {"Fill", "filter.Filler(\"fill\")"},
            {"Find Edges", "filter.Filters(\"edge\")"},
            {"Invert", "filter.Filters(\"invert\")"},
            {"Measure", "filter.Analyzer"},
            {"Revert", "Commands(\"revert\")"},
            {"Sharpen", "filter.Filters(\"sharpen\")"},
            {"Smooth", "filter.Filters(\"smooth\")"},
        };
        for (String[] command : others) {
            table.put(command[0], "ij.plugin." + command[1]);
        }
        return table;
    }

    private static void register(Map<String, String> table, String line) {
        Matcher matcher = COMMAND.matcher(line);
        if (matcher.find()) {
            String name = SHORTCUT.matcher(matcher.group(1)).replaceAll("");
            table.put(name, matcher.group(2));
        }
    }
}
