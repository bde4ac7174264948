import ij.IJ;
import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.ij.Isoline;
import io.github.isoline.ij.Result;

/**
 * Prints the segments of an image file, without ImageJ's windows.
 *
 * <pre>
 * javac -cp ij.jar:Isoline_-0.1.0.jar Segments.java
 * java -cp ij.jar:jna.jar:Isoline_-0.1.0.jar:. Segments cells.tif
 * </pre>
 */
public final class Segments {
    private Segments() {}

    public static void main(String[] args) throws IsolineException {
        ImagePlus image = IJ.openImage(args[0]);
        Result edges = Isoline.edgeDrawing(image, "gradient_threshold=30 min_length=20 roi_manager");
        for (Roi segment : edges.getRois()) {
            System.out.println(segment.getName() + " " + segment.getLength());
        }
        Result distance = Isoline.signedDistance(image, "inside=bright threshold=100");
        System.out.println(distance.getImage().getTitle() + ", " + distance.getSummary());
    }
}
