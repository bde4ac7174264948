package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.plugin.PlugIn;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the exit status and the output of HeadlessImageJ, which a cluster's scheduler reads. */
class HeadlessImageJTest {
    private static final String RAMP = "newImage(\"ramp\", \"8-bit ramp\", 32, 32, 1);";

    @TempDir
    Path folder;

    /** The failing line is the second one. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "run('Gausian Blur...', 'sigma=2');            | Unrecognized command: \"Gausian Blur...\". It is",
                "close(); run('Gaussian Blur...', 'sigma=2');  | There are no images open",
                "close(); getDimensions(w, h, c, z, t);        | There are no images open",
                "run('Make Montage...');                       | Stack required",
                "run('Analyze Particles...', 'size=0');        | \"Analyze Particles...\". It is misspelt, or one of",
                "run('Size...', 'width=7');                    | \"Size...\" cannot show its dialog: there is no display",
                "run('Gaussian Blur...', 'sigma=2');           | \"Gaussian Blur...\" cannot show its dialog",
                "newImage('s', '8-bit black', 9, 9, 3); run('Dilate');  | \"Dilate\" cannot show its dialog",
                "n = getNumber('how many', 3);                 | The macro cannot show its dialog",
                "folder = getDirectory('where');               | The macro cannot show its dialog",
                "file = File.openDialog('which');              | The macro cannot show its dialog",
                "newImage('s', '8-bit ramp', 9, 9, 3); run('Convert to Mask');  | cannot show its dialog",
                "x = (3 + ;                                    | Number or numeric function expected",
                "x = unknown + 1;                              | Undefined variable",
                "x = newArray(2); x = x[5];                    | Index (5) out of 0-1 range",
                "exit('not today');                            | not today",
                "open('/nowhere/x.tif');                       | File not found: /nowhere/x.tif",
                "saveAs('Tiff', '/nowhere/x.tif');             | /nowhere/x.tif",
                "setBatchMode(false); run('Edge Drawing...', 'foo=3');   | There is no option \"foo\"",
            })
    void failureIsSaidWithItsLineAndEndsTheMacro(String code, String sentence) throws Exception {
        HeadlessProcess.Outcome outcome = run(RAMP + "\n" + code.replace('\'', '"') + "\nprint(\"went on\");\n");
        assertEquals(1, outcome.status, outcome.text());
        assertTrue(outcome.errors.startsWith("macro.ijm: "), outcome.text());
        assertTrue(outcome.errors.contains(sentence), outcome.text());
        assertTrue(outcome.errors.trim().endsWith("(macro line 2)"), outcome.text());
        assertEquals(1, outcome.errors.trim().split("\n").length, outcome.text());
        assertEquals("", outcome.out);
    }

    @Test
    void exceptionOfACommandIsAFailureWithItsTrace() throws Exception {
        // ImageJ itself would continue with the macro.
        String name = Thrower.class.getName();
        Files.write(
                folder.resolve("plugins.config"), ("Plugins, \"Broken...\", " + name).getBytes(StandardCharsets.UTF_8));
        HeadlessProcess.Outcome outcome = run("print(\"begun\");\nrun(\"Broken...\");\nprint(\"went on\");\n");
        assertEquals(1, outcome.status, outcome.text());
        assertEquals("begun", outcome.out.trim());
        assertTrue(outcome.errors.contains("failed: java.lang.IllegalStateException: broken"));
        assertTrue(outcome.errors.contains("(macro line 2)"), outcome.errors);
        assertTrue(outcome.errors.contains("\tat " + name), outcome.errors);
    }

    @Test
    void failureOfAMacroThatTheMacroRunsCountsToo() throws Exception {
        Path inner = folder.resolve("inner.ijm");
        String[] codes = {"\n\nrun(\"Gausian Blur...\");", "x = (3 + ;"};
        String[] sentences = {"Unrecognized command: \"Gausian Blur...\"", "A macro that it runs has an error"};
        for (int i = 0; i < codes.length; i++) {
            Files.write(inner, codes[i].getBytes(StandardCharsets.UTF_8));
            HeadlessProcess.Outcome outcome = run("runMacro(\"" + inner + "\");\nprint(\"went on\");");
            assertEquals(1, outcome.status, outcome.text());
            assertTrue(outcome.errors.contains(sentences[i]), outcome.text());
            assertEquals("went on", outcome.out.trim());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "print('end');",
                "print('end'); exit();",
                "print('end'); exit;",
                "showMessage('end');",
                "run('Invert'); print('end'); return 'done';",
                "run('Square'); setThreshold(9, 255); run('Convert to Mask'); run('Dilate'); print('end');",
                "makeRectangle(2, 2, 9, 9); run('Clear Outside'); run('Close All'); if (nImages == 0) print('end');",
                "if (lengthOf('\u00b5m') == 2) print('end');",
                "function f(x) { if (x > 0) return f(x - 1); print('end'); return 0; } x = f(3);"
            })
    void macroThatComesToItsEndIsNoFailure(String code) throws Exception {
        HeadlessProcess.Outcome outcome = run(RAMP + "\n" + code.replace('\'', '"'));
        assertEquals(0, outcome.status, outcome.text());
        assertEquals("end", outcome.out.trim());
        assertEquals("", outcome.errors);
    }

    @Test
    void selectionIsMeasured() throws Exception {
        HeadlessProcess.Outcome outcome = run(
                RAMP + "\nmakeRectangle(2, 2, 9, 9);\nrun(\"Measure\");\nprint(\"area \" + getResult(\"Area\", 0));");
        assertEquals(0, outcome.status, outcome.text());
        assertTrue(outcome.out.contains("area 81"), outcome.out);
    }

    @Test
    void failureOfOurOwnIsOneLineOnTheErrorOutput() throws Exception {
        HeadlessProcess.Outcome outcome = run(RAMP + "\nrun(\"Edge Strength Function...\", \"rho=-1 threshold=9\");");
        assertEquals(1, outcome.status, outcome.text());
        assertEquals("", outcome.out);
        assertTrue(outcome.errors.startsWith("macro.ijm: Edge Strength Function"), outcome.errors);
        assertTrue(outcome.errors.contains("rho"), outcome.errors);
        assertFalse(outcome.errors.contains("\tat "), outcome.errors);
    }

    private HeadlessProcess.Outcome run(String code) throws Exception {
        String classPath = String.join(
                File.pathSeparator,
                HeadlessProcess.classPath(true),
                HeadlessProcess.location(Thrower.class),
                folder.toString());
        return HeadlessProcess.imagej(folder, classPath, code);
    }

    /** A plugin that fails. */
    public static final class Thrower implements PlugIn {
        @Override
        public void run(String arg) {
            throw new IllegalStateException("broken");
        }
    }
}
