package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import java.awt.EventQueue;
import java.awt.Robot;
import java.awt.event.KeyEvent;
import java.util.HashSet;
import java.util.Set;

/** The scenes of a command whose run is watched and stopped. */
abstract class RunScenes extends GuiDriver.Scenes {
    /**
     * Waits for the end of a run, and returns the number of different elements of a name that were drawn.
     *
     * @param pictured the number at which a picture is taken
     */
    static int watch(ImagePlus image, String element, int pictured, String picture) throws Exception {
        Set<String> seen = new HashSet<>();
        boolean taken = false;
        await(
                "the run",
                () -> image.isLocked() || ResultsTable.getResultsTable().size() > 0);
        while (image.isLocked()) {
            Overlay overlay = image.getOverlay();
            for (Roi roi : overlay == null ? new Roi[0] : overlay.toArray()) {
                if (element.equals(roi.getName())) {
                    seen.add(roi.getBounds() + " " + roi.getContainedPoints().length);
                }
            }
            if (seen.size() == pictured && !taken) {
                taken = true;
                picture(picture);
            }
            IJ.wait(5);
        }
        return seen.size();
    }

    /** Ends a run by Escape, while the event thread still responds. */
    static void pressEscape(ImagePlus image, String picture) throws Exception {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            long asked = System.nanoTime();
            EventQueue.invokeAndWait(() -> {});
            least = Math.min(least, System.nanoTime() - asked);
        }
        say("event thread answered in ms", least / 1_000_000);
        picture(picture);
        Robot robot = new Robot();
        // Without the focus, which a busy computer gives late, the key is lost.
        for (int i = 0; i < 20 && image.isLocked(); i++) {
            IJ.getInstance().toFront();
            EventQueue.invokeAndWait(() -> IJ.getInstance().requestFocus());
            IJ.wait(300);
            robot.keyPress(KeyEvent.VK_ESCAPE);
            robot.keyRelease(KeyEvent.VK_ESCAPE);
            IJ.wait(2000);
        }
        await("the run to end", () -> !image.isLocked());
    }
}
