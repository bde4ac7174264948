package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.ImageCanvas;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.io.RoiEncoder;
import ij.plugin.frame.RoiManager;
import io.github.isoline.IsolineException;
import java.awt.Color;
import java.awt.GraphicsEnvironment;
import java.awt.HeadlessException;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Writes selections to the ROI Manager, an image's overlay, or a file. */
final class RoiOutput {
    /** The number of selections added to the ROI Manager's window at a time, so that it does not freeze. */
    private static final int CHUNK = 500;

    /** The property of every selection made here, by which a later run can replace them in an overlay. */
    static final String PROPERTY = "isoline";

    private RoiOutput() {}

    /** Gives a selection what all that a command makes have: name, colour, the mark of its kind, and its plane. */
    static Roi dress(Roi roi, String name, Color colour, String kind, HyperStackSelection planes, int index) {
        roi.setName(name);
        roi.setStrokeColor(colour);
        roi.setProperty(PROPERTY, kind);
        ResultImage.setPosition(roi, planes.image, planes.position(index));
        return roi;
    }

    /**
     * Returns the ROI Manager: its window, or the hidden one of a macro in batch mode.
     *
     * @throws BadInput if there can be none
     */
    static RoiManager manager() throws BadInput {
        try {
            RoiManager manager = RoiManager.getInstance2();
            if (manager != null) {
                return manager;
            }
            if (!GraphicsEnvironment.isHeadless()) {
                return new RoiManager();
            }
        } catch (HeadlessException noDisplay) {
            // Without a display there is no ROI Manager: it is a window even where it is hidden.
        }
        throw new BadInput("There is no ROI Manager without a display: ImageJ's is a window. Write"
                + " roi_file=FILE.zip instead of roi_manager, which saves what the ROI"
                + " Manager would have, or run ImageJ under xvfb-run.");
    }

    static void addTo(RoiManager manager, ImagePlus image, List<Roi> rois) {
        boolean window = manager.isShowing();
        for (int first = 0; first < rois.size(); first += CHUNK) {
            List<Roi> chunk = rois.subList(first, Math.min(first + CHUNK, rois.size()));
            Runnable add = () -> {
                for (Roi roi : chunk) {
                    manager.add((ImagePlus) null, roi, -1);
                }
            };
            if (window) {
                Host.onEventThread(add);
            } else {
                add.run();
            }
        }
        ImageCanvas canvas = image.getCanvas();
        if (canvas != null && canvas.getShowAllROIs()) {
            // The ROI Manager shows all its selections: this makes it update.
            manager.runCommand(image, "Show All");
        }
    }

    /**
     * Adds to the image's overlay, replacing the selections whose {@link #PROPERTY} is this kind: those of an earlier
     * run.
     */
    static void addToOverlay(ImagePlus image, List<Roi> rois, String kind) {
        Overlay before = image.getOverlay();
        Overlay extended = new Overlay();
        if (before != null) {
            extended = before.duplicate();
            extended.clear();
            for (Roi roi : before.toArray()) {
                boolean ours = kind.equals(roi.getProperty(PROPERTY));
                if (!ours && !GuestOverlay.isGuest(roi)) {
                    extended.add(roi);
                }
            }
        }
        for (Roi roi : rois) {
            extended.add((Roi) roi.clone());
        }
        image.setOverlay(extended);
    }

    /** Returns the selections that no earlier run of a kind has added; all of them if there are no others. */
    static List<Roi> foreign(List<Roi> all, String kind) {
        List<Roi> foreign = new ArrayList<>(all);
        foreign.removeIf(roi -> kind.equals(roi.getProperty(PROPERTY)));
        return foreign.isEmpty() ? all : foreign;
    }

    /** A source that passes selections on one by one. */
    @FunctionalInterface
    interface Source {
        void all(Taker taker) throws IsolineException, IOException;
    }

    /** A receiver of single selections. */
    @FunctionalInterface
    interface Taker {
        void take(Roi roi) throws IOException;
    }

    /** Writes selections as the ROI Manager's own "Save..." does. */
    static void write(Source rois, OutputStream file) throws IOException, IsolineException {
        try (ZipOutputStream zip = new ZipOutputStream(file);
                DataOutputStream out = new DataOutputStream(zip)) {
            // There are very many small files: stronger compression would take minutes and save little.
            zip.setLevel(Deflater.BEST_SPEED);
            RoiEncoder encoder = new RoiEncoder(out);
            Set<String> names = new HashSet<>();
            rois.all(roi -> {
                // A ZIP file cannot have two entries of one name.
                String name = roi.getName();
                for (int i = 1; !names.add(name); i++) {
                    name = roi.getName() + "-" + i;
                }
                zip.putNextEntry(new ZipEntry(name + ".roi"));
                encoder.write(roi);
                out.flush();
            });
        }
    }
}
