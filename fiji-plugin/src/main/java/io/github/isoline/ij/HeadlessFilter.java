package io.github.isoline.ij;

import ij.IJ;
import ij.Macro;
import ij.plugin.PlugIn;
import ij.plugin.filter.ExtendedPlugInFilter;
import ij.plugin.filter.PlugInFilterRunner;
import java.awt.HeadlessException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/**
 * Runs a filter without a display, and reports the dialog that it cannot show. ImageJ ignores that failure: Gaussian
 * Blur would go on with its own default radius, whatever the macro says.
 */
public final class HeadlessFilter implements PlugIn {
    private static final String SEPARATOR = "\n";

    /**
     * Returns the entry of a command in ImageJ's table of commands: the same, or for a filter one that runs it by this
     * class.
     */
    static String guard(String command, String entry) {
        int bracket = entry.indexOf("(\"");
        String type = bracket < 0 ? entry : entry.substring(0, bracket);
        String argument = bracket < 0 ? "" : entry.substring(bracket + 2, entry.lastIndexOf('"'));
        try {
            if (ExtendedPlugInFilter.class.isAssignableFrom(Class.forName(type, false, IJ.getClassLoader()))) {
                String call = String.join(SEPARATOR, type, command, argument);
                return HeadlessFilter.class.getName() + "(\"" + call + "\")";
            }
        } catch (ClassNotFoundException | LinkageError e) {
            // ImageJ reports this when it runs the command.
        }
        return entry;
    }

    /** Runs the filter of an entry. */
    @Override
    public void run(String call) {
        String[] parts = call.split(SEPARATOR, -1);
        ClassLoader loader = IJ.getClassLoader();
        Object filter;
        try {
            filter = Class.forName(parts[0], true, loader)
                    .getDeclaredConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        Object guarded =
                Proxy.newProxyInstance(loader, new Class<?>[] {ExtendedPlugInFilter.class}, (proxy, method, args) -> {
                    try {
                        return method.invoke(filter, args);
                    } catch (InvocationTargetException e) {
                        if (e.getCause() instanceof HeadlessException) {
                            HeadlessMacro.takes((HeadlessException) e.getCause());
                            // This is the only exception that PlugInFilterRunner passes on.
                            throw new RuntimeException(Macro.MACRO_CANCELED);
                        }
                        throw e.getCause();
                    }
                });
        new PlugInFilterRunner(guarded, parts[1], parts[2]);
    }
}
