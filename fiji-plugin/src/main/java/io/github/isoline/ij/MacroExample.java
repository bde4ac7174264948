package io.github.isoline.ij;

import ij.plugin.PlugIn;
import ij.plugin.frame.Editor;
import java.awt.GraphicsEnvironment;

/** Plugins > Isoline > Macro examples: opens a macro of the jar in ImageJ's editor. */
public final class MacroExample implements PlugIn {
    @Override
    public void run(String file) {
        Host.guard("Macro example", () -> {
            String macro = text(file);
            if (GraphicsEnvironment.isHeadless()) {
                throw new BadInput("The editor for %s needs a display; start ImageJ with its window.", file);
            }
            new Editor().create(file, macro);
        });
    }

    /** Returns a macro of the jar. */
    static String text(String file) {
        return Resource.text("macros/" + file);
    }
}
