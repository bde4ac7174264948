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
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;

/** The way a command reports to ImageJ: to a user, to a macro, or without either. */
final class Host {
    private static final String TITLE = "Isoline";

    /** The failures of the commands that {@link #failureOf} runs on this thread; null outside. */
    private static final ThreadLocal<List<String>> FAILURES = new ThreadLocal<>();

    private Host() {}

    /** Returns the start of log lines about an image, so that lines of several images can be told apart. */
    static String name(String command, ImagePlus image) {
        return image == null ? command : command + " (" + image.getTitle() + ")";
    }

    /** Returns true if no user can see a dialog: a macro runs, or there is no ImageJ window. */
    static boolean isUnattended() {
        return isMacroThread() || GraphicsEnvironment.isHeadless() || IJ.getInstance() == null;
    }

    /** Runs commands without the end of the macro at a failure, and returns their first failure, or "". */
    static String failureOf(Runnable commands) {
        List<String> failures = new ArrayList<>();
        FAILURES.set(failures);
        try {
            commands.run();
        } finally {
            FAILURES.remove();
        }
        return failures.isEmpty() ? "" : failures.get(0);
    }

    /** Reports a failure: by a dialog to a user; by one line in the log to a macro, which ends. */
    static void fail(String command, String message) {
        IJ.showProgress(1.0);
        IJ.showStatus("");
        if (isUnattended()) {
            abortMacro(command + ": " + message);
        } else {
            IJ.error(TITLE, wrap(command + "\n \n" + message));
        }
    }

    /** Reports a cancel by Escape: it is no failure, but a macro must not continue without the result. */
    static void cancelled(String command) {
        IJ.showProgress(1.0);
        IJ.resetEscape();
        if (isUnattended()) {
            abortMacro(command + ": cancelled");
        }
        IJ.showStatus(command + ": cancelled");
    }

    /** Reports a run that Escape ended with a partial result: a macro ends as well. */
    static void stopped(String command) {
        IJ.resetEscape();
        if (isUnattended()) {
            abortMacro(command + ": stopped; the outputs show the state that was reached");
        }
    }

    /** Returns true on a thread on which IJ.run() works: ImageJ recognises macros by its name. */
    private static boolean isMacroThread() {
        return Thread.currentThread().getName().startsWith("Run$_");
    }

    private static void abortMacro(String message) {
        List<String> failures = FAILURES.get();
        if (failures != null) {
            failures.add(message);
            return;
        }
        Interpreter macro = isMacroThread() ? Interpreter.getInstance() : null;
        String line = macro == null ? "" : " (macro line " + macro.getLineNumber() + ")";
        if (!HeadlessMacro.takes(message + line)) {
            IJ.log(message + line);
            if (macro != null) {
                // IJ.error() is the only access to the running interpreter. By default it would
                // open a dialog, which without a display ends in a stack trace.
                macro.setIgnoreErrors(true);
                IJ.error(TITLE, message);
            }
        }
        Macro.abort();
    }

    /**
     * Runs a command and turns every failure into {@link #fail}. A call on the event thread, which would freeze all
     * windows, continues in a new thread.
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
        } catch (IsolineException e) {
            if (e.isCancelled()) {
                cancelled(command);
                return;
            }
            failure = e.getMessage();
        } catch (NoClassDefFoundError | OutOfMemoryError e) {
            failure = reason(e);
        }
        fail(command, failure);
    }

    /** Returns what to do about a class that is missing, or about too little memory. */
    static String reason(Error e) {
        if (e instanceof OutOfMemoryError) {
            return "Not enough memory in Java. Close images, or raise the limit in"
                    + " Edit > Options > Memory & Threads (now "
                    + (Runtime.getRuntime().maxMemory() >> 20)
                    + " MB) and restart ImageJ.";
        }
        // Without JNA the loader itself cannot be linked and so cannot report it.
        return String.valueOf(e.getMessage()).contains("com/sun/jna")
                ? NativeLoader.MISSING_JNA
                : "The Isoline plugin is incomplete, install it anew: " + e.getMessage();
    }

    private static void startThread(String command, Command body) {
        String options = Macro.getOptions();
        ImagePlus image = WindowManager.getCurrentImage();
        Runnable work = () -> {
            try {
                guard(command, body);
            } finally {
                WindowManager.setTempCurrentImage(null);
            }
        };
        // Options and the current image belong to a thread, and its name marks it as a macro's.
        Thread thread = new Thread(work, options == null ? command : "Run$_" + command);
        Macro.setOptions(thread, options);
        if (image != null) {
            WindowManager.setTempCurrentImage(thread, image);
        }
        thread.start();
    }

    /** Runs work on the event thread and waits for it. Must not be called on that thread. */
    static void onEventThread(Runnable work) {
        try {
            EventQueue.invokeAndWait(work);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    /** Breaks long lines, since ImageJ's message dialogs do not. */
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
        void run() throws IsolineException;
    }
}
