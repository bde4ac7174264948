package io.github.isoline.ij;

import ij.gui.GenericDialog;
import ij.gui.HTMLDialog;
import java.awt.Button;
import java.awt.Window;

/** The help pages: they are in the jar, so that they are available without a network. */
final class Help {
    private static final String END = "</html>";

    private Help() {}

    /** Returns the HTML page help-NAME.html with how to cite, in the form that GenericDialog.addHelp displays. */
    static String text(String name) {
        return Resource.text("help-" + name + ".html").replace(END, Citation.html(name.replace('-', ' ')) + END);
    }

    /**
     * Lets the help of a dialog come to the front: some window managers open it behind a dialog that does not block.
     */
    static void opensInFrontOf(GenericDialog dialog) {
        for (Button button : dialog.getButtons()) {
            if (button != null && button.getLabel().trim().equals("Help")) {
                // ImageJ's own listener, which opens the help, is called first.
                button.addActionListener(pressed -> toFront());
            }
        }
    }

    private static void toFront() {
        for (Window window : Window.getWindows()) {
            if (window instanceof HTMLDialog && window.isShowing()) {
                window.toFront();
            }
        }
    }
}
