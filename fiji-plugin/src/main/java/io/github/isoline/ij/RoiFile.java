package io.github.isoline.ij;

import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.io.RoiDecoder;
import ij.plugin.frame.RoiManager;
import java.awt.HeadlessException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/** Reads the selections of the ROI Manager and of its files. */
final class RoiFile {
    private RoiFile() {}

    /** Returns the selections of the ROI Manager; an empty list where there is none. */
    static List<Roi> managed() {
        try {
            RoiManager manager = RoiManager.getInstance2();
            return manager == null ? new ArrayList<>() : Arrays.asList(manager.getRoisAsArray());
        } catch (HeadlessException e) {
            // Without a display there is no ROI Manager.
            return new ArrayList<>();
        }
    }

    /** The areas and points that start=manager starts from. */
    static final class Starts {
        final List<Roi> rois;

        /** The place where they are, for messages. */
        final String source;

        /**
         * A remark on selections that an earlier run has added, which are no starts where there are others; or null.
         */
        final String skipped;

        /** Takes them from the file that the parameters name, else from the ROI Manager, or what a script gives. */
        Starts(Settings settings) throws BadInput {
            String file = settings.text(Settings.START_FILE);
            boolean named = !file.isEmpty();
            source = named ? "the file " + file : settings.workspace.source();
            List<Roi> all = named ? read(file, "areas and points") : settings.workspace.rois();
            rois = named ? all : RoiOutput.foreign(all, settings.kind);
            int ofEarlierRun = all.size() - rois.size();
            skipped = ofEarlierRun == 0
                    ? null
                    : RunLog.count(ofEarlierRun, "outline") + " that an earlier run left in " + source
                            + " did not count as starts";
            if (rois.isEmpty()) {
                throw new BadInput(
                        "start=manager needs areas or points, but the ROI Manager is empty. Draw or click them, and"
                                + " add each with the key \"t\", or let Analyze > Analyze Particles do it (in a"
                                + " macro also start_file=FILE.zip).");
            }
            for (Roi roi : rois) {
                if (!(roi instanceof PointRoi) && !roi.isArea()) {
                    throw new BadInput(
                            "start=manager takes areas and points, but \"%s\" in %s is a %s. Delete it there, or make"
                                    + " it an area.",
                            roi.getName(), source, roi.getTypeAsString().toLowerCase(Locale.ROOT));
                }
            }
        }
    }

    /** Reads a file of the ROI Manager: one selection (.roi) or many (.zip); messages say what their role is. */
    static List<Roi> read(String path, String what) throws BadInput {
        List<Roi> rois = new ArrayList<>();
        try {
            if (path.toLowerCase(Locale.ROOT).endsWith(".roi")) {
                add(rois, Files.readAllBytes(Paths.get(path)));
            } else {
                try (InputStream in = Files.newInputStream(Paths.get(path));
                        ZipInputStream zip = new ZipInputStream(in)) {
                    for (ZipEntry e = zip.getNextEntry(); e != null; e = zip.getNextEntry()) {
                        add(rois, Resource.bytes(zip));
                    }
                }
            }
        } catch (IOException e) {
            throw new BadInput(
                    "The file %s of %s cannot be read: %s. Give one that the ROI Manager saved (.zip or .roi).",
                    path, what, OutputFile.reason(e));
        } catch (RuntimeException e) {
            throw new BadInput(
                    "The file %s of %s cannot be read. Give one that the ROI Manager saved (.zip or .roi).",
                    path, what);
        }
        if (rois.isEmpty()) {
            throw new BadInput("There is no selection in the file "
                    + path
                    + "; it must be one that the ROI Manager saves (.zip or .roi).");
        }
        return rois;
    }

    private static void add(List<Roi> rois, byte[] bytes) {
        Roi roi = RoiDecoder.openFromByteArray(bytes);
        if (roi != null) {
            rois.add(roi);
        }
    }
}
