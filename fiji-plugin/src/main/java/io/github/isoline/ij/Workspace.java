package io.github.isoline.ij;

import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import java.util.ArrayList;
import java.util.List;

/**
 * The images and selections beside the input image that a run may start from, and the receivers of its selections and
 * rows: those of ImageJ's windows, or objects of a script.
 */
interface Workspace {
    /** Returns the images that a parameter may name by their title. */
    List<ImagePlus> images();

    /** Returns the selections to start from, where no file of them is given. */
    List<Roi> rois();

    /** Returns the name of the source of {@link #rois}, for messages. */
    String source();

    /** Returns true if the selections were given for this run; those of a window may be an earlier one's. */
    boolean isForThisRun();

    /** Finds the receiver of the selections before the work: there may be none. */
    void findRoiReceiver() throws BadInput;

    /** Receives the selections of a run on an image. */
    void take(ImagePlus image, List<Roi> rois) throws BadInput;

    /** Returns the table that rows are added to; null for one of ImageJ's own. */
    ResultsTable table();

    /** Returns the table that the links of tracks are added to; null for one of ImageJ's own. */
    ResultsTable links();

    /** Returns true if a person may watch the input image while a run works. */
    boolean isWatched();

    /** Returns the workspace of a command: ImageJ's windows, its ROI Manager and its Results table. */
    static Workspace ofImageJ() {
        return new Workspace() {
            @Override
            public List<ImagePlus> images() {
                List<ImagePlus> images = new ArrayList<>();
                int[] ids = WindowManager.getIDList();
                for (int id : ids == null ? new int[0] : ids) {
                    ImagePlus image = WindowManager.getImage(id);
                    if (image != null) {
                        images.add(image);
                    }
                }
                return images;
            }

            @Override
            public List<Roi> rois() {
                return RoiFile.managed();
            }

            @Override
            public String source() {
                return "the ROI Manager";
            }

            @Override
            public boolean isForThisRun() {
                return false;
            }

            @Override
            public void findRoiReceiver() throws BadInput {
                RoiOutput.manager();
            }

            @Override
            public void take(ImagePlus image, List<Roi> rois) throws BadInput {
                // The user may have closed the one that was found before the work.
                RoiOutput.addTo(RoiOutput.manager(), image, rois);
            }

            @Override
            public ResultsTable table() {
                return null;
            }

            @Override
            public ResultsTable links() {
                return null;
            }

            @Override
            public boolean isWatched() {
                return true;
            }
        };
    }
}
