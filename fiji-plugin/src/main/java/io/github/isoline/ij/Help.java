package io.github.isoline.ij;

import ij.gui.GenericDialog;
import ij.gui.HTMLDialog;
import java.awt.Button;
import java.awt.Window;
import javax.swing.Timer;

/** The help pages: they are in the jar, so that they are available without a network. */
final class Help {
    private static final String END = "</html>";
    private static final int AGAIN_MS = 300;

    private Help() {}

    /** Returns the HTML page help-NAME.html with how to cite, in the form that GenericDialog.addHelp displays. */
    static String text(String name) {
        return Resource.text("help-" + name + ".html").replace(END, Citation.html(name.replace('-', ' ')) + END);
    }

    /** Returns the page with a row for each field that it does not name, made from the parameter's own help. */
    static String text(String name, Settings settings) {
        String page = text(name);
        StringBuilder rows = new StringBuilder();
        for (String key : settings.keys()) {
            Setting setting = settings.setting(key);
            String label = "<b>" + setting.label + "</b>";
            if (!setting.macroOnly && !setting.help.isEmpty() && !page.contains(label)) {
                String help = setting.help.replace("&", "&amp;").replace("<", "&lt;");
                rows.append(String.format("<tr><td>%s</td><td>%s</td></tr>\n", label, help));
            }
        }
        return page.replace("</table>", rows + "</table>");
    }

    /**
     * Lets the help of a dialog come to the front: some window managers open it behind a dialog that does not block, or
     * raise the dialog once more after the click on it.
     */
    static void opensInFrontOf(GenericDialog dialog) {
        for (Button button : dialog.getButtons()) {
            if (button != null && button.getLabel().trim().equals("Help")) {
                // ImageJ's own listener, which opens the help, is called first.
                button.addActionListener(pressed -> toFront());
                Timer again = new Timer(AGAIN_MS, elapsed -> toFront());
                again.setRepeats(false);
                button.addActionListener(pressed -> again.restart());
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
