package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.gui.OvalRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.FloatPolygon;
import ij.process.ImageProcessor;
import io.github.isoline.IsolineException;
import io.github.isoline.Polygons;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests smooth outlines of region snakes: their shapes, and that labels, selections and rows agree. */
class SnakeSmoothTest extends SnakeTest {
    private static Result snake(ImagePlus image, String options, Roi... rois) throws IsolineException {
        Map<String, Object> all = new HashMap<>();
        all.put("rois", Arrays.asList(rois));
        all.put("noise", "poisson");
        for (String option : options.split(" ")) {
            String[] parts = option.split("=");
            all.put(parts[0], parts.length == 1 ? (Object) true : parts[1]);
        }
        return Isoline.regionSnake(image, all);
    }

    /** Checks that each target's pixels are the same in the label image, in its selection and in its row. */
    private static void assertAgree(ImagePlus image, Result found) {
        ImageProcessor labels = found.getImage().getProcessor();
        ResultsTable rows = found.getTable();
        for (int row = 0; row < rows.size(); row++) {
            int number = (int) rows.getValue("Target", row);
            AreaPixels area = new AreaPixels(found.getRois().get(row));
            double sum = 0;
            double xs = 0;
            double ys = 0;
            int count = 0;
            for (int i = 0; i < labels.getPixelCount(); i++) {
                int x = i % labels.getWidth();
                int y = i / labels.getWidth();
                assertEquals(labels.get(i) == number, area.contains(x, y), number + ": " + x + " " + y);
                count += labels.get(i) == number ? 1 : 0;
                sum += labels.get(i) == number ? image.getProcessor().get(i) : 0;
                xs += labels.get(i) == number ? x + 0.5 : 0;
                ys += labels.get(i) == number ? y + 0.5 : 0;
            }
            assertEquals(count, rows.getValue("Area", row), "target " + number);
            // ImageJ has a rule of its own for pixels whose centre is on an edge.
            assertEquals(xs / count, rows.getValue("X", row), 0.1, "target " + number);
            assertEquals(ys / count, rows.getValue("Y", row), 0.1, "target " + number);
            assertEquals(sum / count, rows.getValue("Mean", row), 1e-9, "target " + number);
            assertEquals(sum, rows.getValue("RawIntDen", row), 1e-6, "target " + number);
        }
    }

    /** Returns true if a point of an area lies between the corners of pixels. */
    private static boolean isBetweenCorners(Roi roi) {
        FloatPolygon points = roi.getFloatPolygon();
        boolean is = false;
        for (int i = 0; i < points.npoints; i++) {
            is |= points.xpoints[i] != Math.rint(points.xpoints[i]);
        }
        return is;
    }

    @Test
    void curvesHaveLengthAndAreaOfACircle() throws Exception {
        for (int count : new int[] {12, 24, 60}) {
            double angle = 2 * Math.PI / count;
            // A polygon of the circle's area.
            double radius = 1000 * Math.sqrt(angle / Math.sin(angle));
            int[] nodes = new int[2 * count];
            for (int i = 0; i < count; i++) {
                nodes[2 * i] = (int) Math.round(radius * Math.cos(i * angle));
                nodes[2 * i + 1] = (int) Math.round(radius * Math.sin(i * angle));
            }
            double[] curve = Polygons.of(nodes, nodes).smooth(1e6, 8)[1];
            assertEquals(16 * count, curve.length);
            double area = 0;
            double length = 0;
            for (int i = 0; i < curve.length; i += 2) {
                int next = (i + 2) % curve.length;
                area += (curve[i] * curve[next + 1] - curve[next] * curve[i + 1]) / 2;
                length += Math.hypot(curve[next] - curve[i], curve[next + 1] - curve[i + 1]);
            }
            assertEquals(1, area / (Math.PI * 1e6), 0.005, count + " nodes");
            assertEquals(1, length / (2 * Math.PI * 1e3), 0.005, count + " nodes");
        }
    }

    @Test
    void sumsAreOfThePixelsThatAreNumbers() throws Exception {
        ImagePlus image = disc(80, 60, 40, 30, 16);
        convert(image, 32);
        for (int x = 36; x < 44; x++) {
            image.getProcessor().setf(x, 30, Float.NaN);
        }
        Result found = snake(image, "results_table roi_manager smooth", new OvalRoi(28, 18, 24, 24));
        double sum = 0;
        for (java.awt.Point p : found.getRois().get(0)) {
            double value = image.getProcessor().getf(p.x, p.y);
            sum += Double.isNaN(value) ? 0 : value;
        }
        assertEquals(sum, found.getTable().getValue("RawIntDen", 0), 1e-6 * sum);
    }

    @Test
    void perimetersOfDiscsAreThoseOfCircles() throws Exception {
        double polygons = 0;
        double curves = 0;
        int discs = 0;
        for (double radius : new double[] {8, 12, 18, 30}) {
            ImagePlus image = disc(120, 100, 58.3, 50.7, radius);
            double inner = 1.6 * radius;
            Roi start = new OvalRoi(58.3 - inner / 2, 50.7 - inner / 2, inner, inner);
            Result plain = snake(image, "label_image results_table roi_manager", start);
            Result smooth = snake(image, "label_image results_table roi_manager smooth", start);
            double truth = 2 * Math.PI * radius;
            polygons += Math.abs(plain.getTable().getValue("Perim.", 0) / truth - 1);
            curves += Math.abs(smooth.getTable().getValue("Perim.", 0) / truth - 1);
            discs++;
            assertAgree(image, smooth);
            assertTrue(isBetweenCorners(smooth.getRois().get(0)), "radius " + radius);
            assertFalse(isBetweenCorners(plain.getRois().get(0)), "radius " + radius);
            // The search itself is the same.
            assertEquals(
                    plain.getTable().getValue("Criterion", 0), smooth.getTable().getValue("Criterion", 0));
            double change =
                    smooth.getTable().getValue("Area", 0) / plain.getTable().getValue("Area", 0);
            assertEquals(1, change, 0.06, "radius " + radius);
        }
        assertTrue(curves < 0.5 * polygons, curves + " " + polygons);
        assertTrue(curves / discs < 0.02, "mean error of " + curves / discs);
    }

    @Test
    void labelsSelectionsAndRowsOfTouchingTargetsAgree() throws Exception {
        Random random = new Random(5);
        ByteProcessor plane = new ByteProcessor(110, 70);
        for (int i = 0; i < plane.getPixelCount(); i++) {
            double y = i / 110 + 0.5 - 35;
            double apart = Math.min(Math.hypot(i % 110 + 0.5 - 40, y), Math.hypot(i % 110 + 0.5 - 66, y));
            double level = apart < 15 ? BRIGHT : DARK;
            plane.set(i, (int) Math.round(level + 12 * random.nextGaussian()));
        }
        ImagePlus image = new ImagePlus("two", plane);
        Roi[] starts = {new OvalRoi(30, 25, 20, 20), new OvalRoi(56, 25, 20, 20), new OvalRoi(2, 2, 7, 7)};
        Result plain = snake(image, "label_image results_table roi_manager", starts);
        Result smooth = snake(image, "label_image results_table roi_manager smooth", starts);
        assertAgree(image, smooth);
        assertEquals(3, smooth.getTable().size());
        assertNotEquals(
                plain.getTable().getValue("Perim.", 0), smooth.getTable().getValue("Perim.", 0));
        // If targets may overlap, rows and selections have all their pixels, labels those of the first one.
        Result both = snake(image, "label_image results_table roi_manager smooth overlap=allowed", starts);
        ImageProcessor labels = both.getImage().getProcessor();
        for (int row = 0; row < 3; row++) {
            AreaPixels area = new AreaPixels(both.getRois().get(row));
            int[] count = {0};
            int number = row + 1;
            area.forEach((x, y) -> {
                count[0]++;
                assertTrue(labels.get(x, y) >= 1 && labels.get(x, y) <= number, x + " " + y);
            });
            assertEquals(count[0], both.getTable().getValue("Area", row));
        }
    }
}
