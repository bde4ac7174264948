package io.github.isoline.ij;

import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.Roi;
import ij.io.RoiDecoder;
import ij.measure.ResultsTable;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.junit.jupiter.api.AfterEach;

/** The common part of the tests of edge drawing without a display. */
abstract class EdgeDrawingTest extends HeadlessTest {
    static final String EDGES = "Edge Drawing...";

    @AfterEach
    void clearTable() {
        ResultsTable.getResultsTable().reset();
    }

    /** Returns a line of a macro. */
    static String call(String options) {
        return "run(\"" + EDGES + "\", \"" + options.replace("\\", "/") + "\");";
    }

    /** Returns the edge map that the command makes. */
    static ImagePlus edges(ImagePlus image, String options) {
        return run(EDGES, image, options + " edge_map");
    }

    /** Returns the selections that the command leaves in the image's overlay. */
    static Roi[] overlay(ImagePlus image, String options) {
        macro(image, call(options + " overlay"));
        return image.getOverlay() == null ? new Roi[0] : image.getOverlay().toArray();
    }

    /** Returns the selections in a file of the ROI Manager, in their order. */
    static List<Roi> rois(Path file) throws IOException {
        List<Roi> rois = new ArrayList<>();
        try (InputStream in = Files.newInputStream(file);
                ZipInputStream zip = new ZipInputStream(in)) {
            byte[] block = new byte[4096];
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                for (int n = zip.read(block); n > 0; n = zip.read(block)) {
                    bytes.write(block, 0, n);
                }
                rois.add(RoiDecoder.openFromByteArray(bytes.toByteArray()));
            }
        }
        return rois;
    }

    static ImagePlus current() {
        return WindowManager.getCurrentImage();
    }
}
