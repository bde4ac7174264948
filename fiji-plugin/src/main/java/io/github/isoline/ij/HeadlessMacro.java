package io.github.isoline.ij;

import ij.CommandListener;
import ij.Executer;
import ij.IJ;
import ij.Macro;
import ij.Menus;
import ij.WindowManager;
import ij.macro.Debugger;
import ij.macro.Interpreter;
import ij.measure.ResultsTable;
import ij.plugin.Macro_Runner;
import java.awt.AWTEvent;
import java.awt.EventQueue;
import java.awt.HeadlessException;
import java.awt.Toolkit;
import java.awt.event.InvocationEvent;
import java.io.File;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Hashtable;
import java.util.List;

/**
 * Runs a macro without a display and detects failures. ImageJ reports most failures only in dialogs; without a display
 * these become exceptions, which it prints and otherwise ignores.
 */
final class HeadlessMacro extends Macro_Runner implements CommandListener, Debugger, IJ.ExceptionHandler {
    private static final String NO_DISPLAY =
            " cannot show its dialog: there is no display. Run the macro in ImageJ's window (without"
                    + " a screen under xvfb-run), or in Fiji.";

    private static final String UNKNOWN = "Unrecognized command";

    private static final String MENUS = ". It is misspelt, or one of those that ImageJ knows only in its window.";

    private static HeadlessMacro running;

    private final String name;
    private final PrintStream errors;
    private final Events events = new Events();
    private boolean failed;
    private Interpreter outer;

    /** The interpreter that ran last: if the macro runs others, it may belong to one of those. */
    private Interpreter interpreter;

    /** The current line; 0 before the first statement, and in scripts. */
    private int line;

    private String command;

    private HeadlessMacro(String name, PrintStream errors) {
        this.name = name;
        this.errors = errors;
    }

    /**
     * Runs a macro file for each of some arguments, or once without any, and prints a summary.
     *
     * @return true if it and all macros that it ran reached their end each time
     */
    static boolean runAll(File file, List<String> arguments) {
        List<String> failures = new ArrayList<>();
        boolean several = arguments.size() > 1;
        for (String argument : arguments.isEmpty() ? Collections.singletonList((String) null) : arguments) {
            String name = file.getName() + (several ? " (" + argument + ")" : "");
            if (!run(name, file, argument)) {
                failures.add(argument);
            }
            if (several) {
                forgetRun();
            }
        }
        String counts = RunLog.counts();
        if (counts != null || several) {
            System.out.println("Isoline: " + (counts == null ? "no command" : counts) + ", "
                    + RunLog.count(failures.size(), "failure"));
        }
        if (several) {
            failures.forEach(argument -> System.out.println("failed: " + argument));
        }
        return failures.isEmpty();
    }

    /** Closes the images of a run, and empties the table. */
    private static void forgetRun() {
        WindowManager.setTempCurrentImage(null);
        while (Interpreter.getBatchModeImageCount() > 0) {
            Interpreter.removeBatchModeImage(Interpreter.getLastBatchModeImage());
        }
        Interpreter.batchMode = false;
        ResultsTable.getResultsTable().reset();
    }

    /**
     * Runs a macro file, with each failure as a line on System.err.
     *
     * @param name begins these lines
     * @param argument may be null
     * @return true if it and all macros that it ran reached their end
     */
    private static boolean run(String name, File file, String argument) {
        HeadlessMacro macro = new HeadlessMacro(name, System.err);
        PrintStream before = System.out;
        running = macro;
        System.setOut(macro.new Output(before));
        Executer.addCommandListener(macro);
        IJ.setExceptionHandler(macro);
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> macro.handle(e));
        Toolkit.getDefaultToolkit().getSystemEventQueue().push(macro.events);
        try {
            macro.runMacroFile(file.getAbsolutePath(), argument);
        } finally {
            macro.events.end();
            System.setOut(before);
            Executer.removeCommandListener(macro);
            running = null;
        }
        return !macro.failed;
    }

    /** Reports the dialogs that ImageJ makes on the thread of events, where it ignores that there is no display. */
    private static final class Events extends EventQueue {
        @Override
        protected synchronized void dispatchEvent(AWTEvent event) {
            super.dispatchEvent(event);
            Throwable thrown = event instanceof InvocationEvent ? ((InvocationEvent) event).getThrowable() : null;
            if (thrown instanceof HeadlessException) {
                running.handle(thrown);
            }
        }

        /** Waits for the end of an event that the macro may have waited for. */
        synchronized void settle() {}

        /** Waits for the events that there are, and ends. */
        void end() {
            try {
                invokeAndWait(() -> {});
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (InvocationTargetException e) {
                throw new IllegalStateException(e);
            }
            pop();
        }
    }

    /** Records a failure of a command; returns false if no macro runs that would report it. */
    static boolean takes(String message) {
        HeadlessMacro macro = running;
        if (macro != null) {
            macro.fail(message);
        }
        return macro != null;
    }

    /** Records the attempt of a filter to show its dialog. */
    static void takes(HeadlessException e) {
        running.handle(e);
    }

    /** Runs the macro of {@link #run}, which a Macro_Runner has read from its file. */
    @Override
    public String runMacro(String read, String argument) {
        // ImageJ takes the bytes of the file for ISO 8859-1, but its editor saves UTF-8.
        String utf8 = new String(read.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        String macro = utf8.indexOf('\uFFFD') < 0 ? utf8 : read;
        outer = new Interpreter();
        outer.setDebugger(this);
        interpreter = outer;
        try {
            String returned = outer.run(macro, argument);
            if (outer.getErrorMessage() != null || "[aborted]".equals(returned)) {
                failIfSilent();
            }
            return returned;
        } catch (RuntimeException | OutOfMemoryError e) {
            if (!Macro.MACRO_CANCELED.equals(e.getMessage())) {
                handle(e);
            } else if (!isExit(e)) {
                failIfSilent();
            }
        }
        return null;
    }

    /** Returns true if the macro's own exit() ended it. */
    private static boolean isExit(Throwable e) {
        StackTraceElement[] trace = e.getStackTrace();
        return trace.length > 0
                && "ij.macro.Functions".equals(trace[0].getClassName())
                && "exit".equals(trace[0].getMethodName());
    }

    /** Notes the line; ImageJ calls this before each statement of the outer macro. */
    @Override
    public int debug(Interpreter statement, int mode) {
        events.settle();
        interpreter = statement;
        line = statement.getLineNumber();
        command = null;
        return 0;
    }

    /** Notes the command; ImageJ calls this before each command of any macro. */
    @Override
    public String commandExecuting(String next) {
        Interpreter caller = Interpreter.getInstance();
        command = next;
        @SuppressWarnings("unchecked") // ImageJ is older than generics
        Hashtable<String, String> table = Menus.getCommands();
        table.computeIfPresent(next, HeadlessFilter::guard);
        if (caller != null) {
            interpreter = caller;
            line = caller.getLineNumber();
        }
        return next;
    }

    /** Handles an exception that left a macro, or a thread that a command has started. */
    @Override
    public void handle(Throwable e) {
        if (e instanceof OutOfMemoryError) {
            fail(subject() + " failed: " + Host.reason((Error) e));
        } else if (e instanceof HeadlessException) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace, true));
            failForDisplay(trace.toString());
        } else if (!Macro.MACRO_CANCELED.equals(e.getMessage())) {
            fail(subject() + " failed: " + e);
            e.printStackTrace(errors);
        }
    }

    /** Records an exception that left a command, with its trace. */
    private void failIn(String trace) {
        if (trace.startsWith(HeadlessException.class.getName())) {
            failForDisplay(trace);
        } else {
            fail(subject() + " failed: " + trace.split("\n")[0].trim());
            errors.print(trace);
        }
    }

    /** Records the attempt to show a dialog, which may be ImageJ's report of an error in a macro. */
    private void failForDisplay(String trace) {
        String said = subject() + NO_DISPLAY;
        if (trace.contains(Interpreter.class.getName() + ".showError")) {
            String known = interpreter.getErrorMessage();
            said = known == null ? "A macro that it runs has an error" : known;
            said += said.startsWith(UNKNOWN) ? MENUS : "";
        }
        fail(said);
    }

    private void failIfSilent() {
        if (!failed) {
            fail(subject() + " was aborted");
        }
    }

    private String subject() {
        return command == null ? "The macro" : "\"" + command + "\"";
    }

    /** Prints the reason and ends the running macro. */
    private void fail(String message) {
        failed = true;
        String place =
                interpreter == outer ? " (macro line " + line + ")" : " (line " + line + " of a macro that it runs)";
        boolean placed = line == 0 || message.contains("(macro line ");
        errors.println(name + ": " + message.trim().replaceAll("\\s*\n\\s*", " ") + (placed ? "" : place));
        Interpreter now = Interpreter.getInstance();
        if (now != null) {
            // ImageJ would otherwise show a dialog.
            now.setIgnoreErrors(true);
            now.abort(message);
        }
    }

    /** Receives the messages, errors and exceptions that ImageJ prints instead of showing windows. */
    private final class Output extends PrintStream {
        private final PrintStream before;

        Output(PrintStream before) {
            super(before, true);
            this.before = before;
        }

        @Override
        public void println(String text) {
            StackTraceElement[] callers = new Throwable().getStackTrace();
            boolean error = isCalledBy(callers, "ij.IJ", "error") && !IJ.redirectingErrorMessages();
            if (error || isCalledBy(callers, "ij.macro.Functions", "exit")) {
                fail(text);
            } else if (isCalledBy(callers, "ij.Executer", "run")) {
                failIn(text);
            } else {
                before.println(text);
            }
        }

        /** Returns true for a method that called println() through methods of IJ only. */
        private boolean isCalledBy(StackTraceElement[] callers, String type, String method) {
            // The first one is println() itself.
            for (int i = 1; i < callers.length; i++) {
                boolean own = IJ.class.getName().equals(callers[i].getClassName());
                if (type.equals(callers[i].getClassName()) && method.equals(callers[i].getMethodName())) {
                    return true;
                }
                if (!own) {
                    return false;
                }
            }
            return false;
        }
    }
}
