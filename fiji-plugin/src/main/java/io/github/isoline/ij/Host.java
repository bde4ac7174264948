package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.Macro;
import ij.WindowManager;
import ij.macro.Interpreter;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.awt.EventQueue;
import java.awt.GraphicsEnvironment;

/** How a command speaks with the ImageJ around it: with a person, a macro, or nobody. */
final class Host {
    private static final String TITLE = "Isoline";

    private Host() {}

    /** How log lines about an image begin: of many images each line must say whose it is. */
    static String name(String command, ImagePlus image) {
        return image == null ? command : command + " (" + image.getTitle() + ")";
    }

    /** True if there is nobody to show a dialog to: a macro runs, or there is no ImageJ window. */
    static boolean isUnattended() {
        return isMacroThread() || GraphicsEnvironment.isHeadless() || IJ.getInstance() == null;
    }

    /** Reports a failure: one dialog to a person, one line in the log to a macro, which ends. */
    static void fail(String command, String message) {
        IJ.showProgress(1.0);
        IJ.showStatus("");
        if (isUnattended()) {
            abortMacro(command + ": " + message);
        } else {
            IJ.error(TITLE, wrap(command + "\n \n" + message));
        }
    }

    /** The user pressed Escape: no failure, but a macro must not go on without the result. */
    static void cancelled(String command) {
        IJ.showProgress(1.0);
        IJ.resetEscape();
        if (isUnattended()) {
            abortMacro(command + ": cancelled");
        }
        IJ.showStatus(command + ": cancelled");
    }

    /** The user pressed Escape, and got what there was: a macro ends all the same. */
    static void stopped(String command) {
        IJ.resetEscape();
        if (isUnattended()) {
            abortMacro(command + ": stopped; the outputs show the state that was reached");
        }
    }

    /** ImageJ gives this name to a thread on which IJ.run() works, and knows macros by it. */
    private static boolean isMacroThread() {
        return Thread.currentThread().getName().startsWith("Run$_");
    }

    private static void abortMacro(String message) {
        Interpreter macro = isMacroThread() ? Interpreter.getInstance() : null;
        String line = macro == null ? "" : " (macro line " + macro.getLineNumber() + ")";
        if (!HeadlessMacro.takes(message + line)) {
            IJ.log(message + line);
            if (macro != null) {
                // IJ.error() is the only way to the interpreter that runs us. Left to itself it
                // would open a dialog, which without a display ends in a stack trace.
                macro.setIgnoreErrors(true);
                IJ.error(TITLE, message);
            }
        }
        Macro.abort();
    }

    /**
     * Runs a command with every failure turned into {@link #fail}. A call on the event thread,
     * which would freeze all windows, goes on in a thread of its own.
     */
    static void guard(String command, Command body) {
        if (EventQueue.isDispatchThread()) {
            startThread(command, body);
            return;
        }
        String failure;
        try {
            body.run();
            return;
        } catch (BadInput e) {
            failure = e.getMessage();
        } catch (IsolineException e) {
            if (e.isCancelled()) {
                cancelled(command);
                return;
            }
            failure = e.getMessage();
        } catch (NoClassDefFoundError e) {
            // Without JNA the loader itself cannot be linked and so cannot say it.
            failure =
                    String.valueOf(e.getMessage()).contains("com/sun/jna")
                            ? NativeLoader.MISSING_JNA
                            : "The Isoline plugin is incomplete, install it anew: "
                                    + e.getMessage();
        } catch (OutOfMemoryError e) {
            failure =
                    "Not enough memory in Java for the result. Close images, or raise the limit in"
                            + " Edit > Options > Memory & Threads (now "
                            + (Runtime.getRuntime().maxMemory() >> 20)
                            + " MB) and restart ImageJ.";
        }
        fail(command, failure);
    }

    private static void startThread(String command, Command body) {
        String options = Macro.getOptions();
        ImagePlus image = WindowManager.getCurrentImage();
        Runnable work =
                () -> {
                    try {
                        guard(command, body);
                    } finally {
                        WindowManager.setTempCurrentImage(null);
                    }
                };
        // Options and the current image belong to a thread, and the name says that a macro runs.
        Thread thread = new Thread(work, options == null ? command : "Run$_" + command);
        Macro.setOptions(thread, options);
        if (image != null) {
            WindowManager.setTempCurrentImage(thread, image);
        }
        thread.start();
    }

    /** Breaks long lines, which ImageJ's message dialogs do not do by themselves. */
    static String wrap(String text) {
        final int width = 80;
        StringBuilder out = new StringBuilder();
        for (String line : text.split("\n", -1)) {
            int column = 0;
            if (out.length() > 0) {
                out.append('\n');
            }
            for (String word : line.split("(?<= )")) {
                if (column > 0 && column + word.length() > width) {
                    out.append('\n');
                    column = 0;
                }
                out.append(word);
                column += word.length();
            }
        }
        return out.toString();
    }

    /** The body of a command. */
    @FunctionalInterface
    interface Command {
        void run() throws BadInput, IsolineException;
    }
}
