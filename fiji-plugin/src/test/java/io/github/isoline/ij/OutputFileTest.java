package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.VirtualStack;
import ij.WindowManager;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.ImageProcessor;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.awt.event.KeyEvent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that commands write: what is checked before the work, and what remains if they cannot be written after it. */
class OutputFileTest extends HeadlessTest {
    private static final String EDGES = "Edge Drawing...";

    /** A stack that counts its readings, and deletes a folder at the first one. */
    private static final class Watched extends VirtualStack {
        private final ImageProcessor plane = open("coins.png").getProcessor();
        private final Path deleted;
        private int readings;

        Watched(Path deleted) {
            super(open("coins.png").getWidth(), open("coins.png").getHeight(), null, "");
            this.deleted = deleted;
        }

        @Override
        public Object getPixels(int n) {
            readings++;
            if (deleted != null) {
                deleted.toFile().delete();
            }
            return plane.getPixels();
        }

        @Override
        public ImageProcessor getProcessor(int n) {
            getPixels(n);
            return plane.duplicate();
        }

        @Override
        public int getSize() {
            return 1;
        }

        @Override
        public String getSliceLabel(int n) {
            return null;
        }
    }

    private static String call(String file) {
        return "run(\"" + EDGES + "\", \"edge_map overlay results_table roi_file=[" + file + "]\");";
    }

    @Test
    void namesAreCheckedBeforeTheWork(@TempDir Path folder) throws Exception {
        Path image = folder.resolve("raw.tif");
        Files.write(image, new byte[] {1, 2, 3});
        Path taken = Files.createDirectory(folder.resolve("taken.zip"));
        String[][] bad = {
            {image.toString(), "roi_file must end with .zip, got"},
            {taken.toString(), "roi_file cannot be written: \"" + taken + "\" is a folder. Give the name of a file."},
            {folder + "/none/a.zip", "roi_file cannot be written: there is no folder \"" + folder.resolve("none")},
            {folder + "/a\0.zip", "is no name of a file"},
            {image + "/a.zip", "roi_file cannot be written: \"" + image + "\" is a file and no folder."},
            {image + "/none/a.zip", "roi_file cannot be written: \"" + image + "\" is a file and no folder."},
        };
        for (String[] name : bad) {
            Watched stack = new Watched(null);
            ImagePlus input = new ImagePlus("coins", stack);
            stack.readings = 0;
            Outcome outcome = macro(input, call(name[0]));
            assertEquals(ABORTED, outcome.returned, outcome.log);
            assertOneSentence(outcome.log, name[1]);
            assertEquals(0, stack.readings, name[0]);
        }
        assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(image));
        assertTrue(Files.isDirectory(taken));
    }

    @Test
    void aFileThatFailsAtTheEndLeavesTheOtherOutputs(@TempDir Path parent) throws Exception {
        Path folder = Files.createDirectory(parent.resolve("out"));
        ImagePlus input = new ImagePlus("coins", new Watched(folder));
        Files.createDirectories(folder);
        Outcome outcome = macro(input, call(folder + "/a.zip"));
        assertEquals(ABORTED, outcome.returned, outcome.log);
        String last = outcome.log.trim().substring(outcome.log.trim().lastIndexOf('\n') + 1);
        assertTrue(last.contains("The file \"a.zip\" for the segments cannot be written: there is no such"), last);
        assertTrue(last.contains("the folder \"" + folder + "\" exists"), last);
        assertFalse(last.contains(".part") || last.contains("Exception"), last);
        assertNotSame(input, WindowManager.getCurrentImage());
        assertEquals("Edges of coins", WindowManager.getCurrentImage().getTitle());
        assertTrue(input.getOverlay().size() > 0);
        assertEquals(input.getOverlay().size(), ResultsTable.getResultsTable().size());
    }

    /** The system says that there is no such file, but the folder is there. */
    @Test
    void aFolderThatTakesNoFilesIsNotMissing() {
        Path folder = Paths.get("/proc/self");
        assumeTrue(Files.isDirectory(folder));
        BadInput refused = assertThrows(
                BadInput.class,
                () -> OutputFile.write(folder.resolve("a.zip").toString(), "segments", out -> out.write(1)));
        assertFalse(refused.getMessage().contains("there is no such"), refused.getMessage());
    }

    @Test
    void namesThatThisJavaCannotEncodeAreRefused(@TempDir Path folder) throws Exception {
        Path macro = folder.resolve("macro.ijm");
        String code = "newImage(\"a\", \"8-bit ramp\", 32, 32, 1);\nrun(\"" + EDGES + "\", \"overlay roi_file=["
                + folder + "/\" + fromCharCode(228) + \".zip]\");";
        Files.write(macro, code.getBytes(StandardCharsets.UTF_8));
        List<String> command = new ArrayList<>(Arrays.asList("env", "LC_ALL=C"));
        command.addAll(Arrays.asList(System.getProperty("java.home") + "/bin/java", "-Djava.awt.headless=true"));
        String library = System.getProperty("isoline.library.path");
        if (library != null) {
            command.add("-Disoline.library.path=" + library);
        }
        command.addAll(Arrays.asList("-Duser.home=" + folder, "-cp", HeadlessProcess.classPath(true)));
        command.addAll(Arrays.asList(HeadlessImageJ.class.getName(), macro.toString()));
        HeadlessProcess.Outcome outcome = HeadlessProcess.call(folder, command);
        assertEquals(1, outcome.status, outcome.text());
        assertTrue(outcome.errors.contains("roi_file cannot be written: this Java has file names in"), outcome.text());
        assertTrue(outcome.errors.contains("LC_ALL=C.UTF-8"), outcome.text());
    }

    /** A job whose outputs are selections that were found without any work. */
    private static class Outlines extends StackJob<IsolinesSettings> {
        Outlines(String options) throws Exception {
            super(open("coins.png"), Settings.fromMacro(new IsolinesSettings(), options));
        }

        @Override
        void begin(Progress progress) {}

        @Override
        PixelBuffer.Type outputType() {
            return null;
        }

        @Override
        Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress) {
            return null;
        }

        @Override
        ImagePlus end() {
            return null;
        }
    }

    @Test
    void lackOfMemoryForAFileLeavesTheOtherOutputs() throws Exception {
        Outlines job = new Outlines("overlay") {
            @Override
            void writeFiles() {
                throw new OutOfMemoryError("Java heap space");
            }
        };
        job.rois.add(new Roi(1, 2, 3, 4));
        job.saveFiles();
        job.deliver();
        assertEquals(1, job.image.getOverlay().size());
        BadInput e = assertThrows(BadInput.class, job::checkFiles);
        assertTrue(e.getMessage().startsWith("Not all files were written. Not enough memory in Java"), e.getMessage());
    }

    @Test
    void escapeWhileOutlinesAreSavedLeavesTheFileAsItWas(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("a.zip"), new byte[] {1, 2, 3});
        Outlines job = new Outlines("roi_file=[" + file + "]");
        job.rois.add(new Roi(1, 2, 3, 4) {
            @Override
            public String getName() {
                IJ.setKeyDown(KeyEvent.VK_ESCAPE);
                return "first";
            }
        });
        job.rois.add(new Roi(5, 6, 7, 8));
        IsolineException e = assertThrows(IsolineException.class, job::saveFiles);
        assertTrue(e.isCancelled(), e.getMessage());
        assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(file));
        assertArrayEquals(new String[] {"a.zip"}, folder.toFile().list());
    }

    /** A person who holds the key, or presses it again, wants the run to end, and not to lose what it has reached. */
    @Test
    void escapeThatStoppedARunDoesNotCancelTheSaving(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("a.zip");
        Outlines job = new Outlines("roi_file=[" + file + "]") {
            @Override
            Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress) {
                stopped = true;
                return null;
            }

            @Override
            ImagePlus end() {
                IJ.setKeyDown(KeyEvent.VK_ESCAPE);
                return null;
            }
        };
        job.rois.add(new Roi(1, 2, 3, 4));
        job.run(null);
        job.saveFiles();
        assertEquals(1, RoiFile.read(file.toString(), "the test").size());
    }
}
