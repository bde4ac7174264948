package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import ij.ImagePlus;
import ij.Prefs;
import ij.gui.NewImage;
import ij.process.ImageProcessor;
import io.github.isoline.IsolineException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Memory as large as the image is taken before the work, which running out of it afterwards would lose. */
class MemoryFirstTest extends HeadlessTest {
    private static final int SIDE = 96;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private int before;

    /** Makes this thread do all of the work. */
    @BeforeEach
    void takeOneThread() {
        before = Prefs.getThreads();
        Prefs.setThreads(1);
    }

    @AfterEach
    void takeAllThreads() {
        Prefs.setThreads(before);
    }

    /** Returns a volume with two cubes. */
    private static ImagePlus cubes() {
        ImagePlus image = NewImage.createByteImage("cubes", SIDE, SIDE, SIDE, NewImage.FILL_BLACK);
        for (int z = SIDE / 4; z < SIDE / 2; z++) {
            ImageProcessor slice = image.getStack().getProcessor(z);
            slice.setValue(200);
            for (int x = 0; x < SIDE; x += SIDE / 2) {
                slice.setRoi(x + SIDE / 8, SIDE / 4, SIDE / 4, SIDE / 4);
                slice.fill();
            }
        }
        return image;
    }

    /** Asserts that a job takes less than an int for each voxel after the last report of the library. */
    private void assertTakesMemoryFirst(StackJob<?> job) throws IsolineException {
        long self = Thread.currentThread().getId();
        long[] taken = new long[1];
        job.run((fraction, stage) -> {
            taken[0] = threads.getThreadAllocatedBytes(self);
            return true;
        });
        long after = threads.getThreadAllocatedBytes(self) - taken[0];
        assertFalse(job.rows.isEmpty());
        assertTrue(after < (long) Integer.BYTES * SIDE * SIDE * SIDE, after + " bytes");
    }

    @Test
    void objectsThatAreGrown() throws Exception {
        String options = "device=cpu stack=volume start=detect threshold=100 label_image results_table";
        assertTakesMemoryFirst(new ObjectsJob(cubes(), Settings.fromMacro(new ObjectsSettings(), options)));
    }

    @Test
    void objectsOfALevelSet() throws Exception {
        String options = "device=cpu stack=volume start=box range=values target=200 epsilon=50 iterations=3"
                + " box_x=20-28 box_y=30-40 box_z=30-40 label_image results_table";
        assertTakesMemoryFirst(new LevelSetJob(cubes(), Settings.fromMacro(new LevelSetSettings(), options)));
    }
}
