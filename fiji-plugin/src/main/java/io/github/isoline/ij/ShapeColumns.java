package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.Measurements;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.ImageStatistics;
import java.awt.Polygon;
import java.awt.Rectangle;
import java.awt.geom.Rectangle2D;
import java.util.Arrays;
import java.util.List;

/**
 * Adds the position and the shape of an area to a table, in the columns of ImageJ's own Measure and by its code: a
 * column has one name whatever the image's unit, which has a column of its own.
 */
final class ShapeColumns {
    /** The relative difference between width and height from which on ImageJ takes pixels as not square. */
    private static final double MOST_DIFFERENCE = 0.01;

    /** The columns of {@link #add}, in their order. */
    private static final List<String> COLUMNS =
            Arrays.asList("X Y Perim. Major Minor Angle Circ. Feret FeretAngle MinFeret AR Round Solidity".split(" "));

    private ShapeColumns() {}

    /** Adds the unit of length of an image, "pixel" where it has none. */
    static void addUnit(ResultsTable table, ImagePlus image) {
        Calibration size = image.getCalibration();
        table.addValue("Unit", VoxelSize.PIXELS.equals(VoxelSize.unit(size)) ? "pixel" : size.getUnit());
    }

    /** Adds a position that is given in pixels, where whole numbers are the corners of pixels. */
    static void addPosition(ResultsTable table, ImagePlus image, double x, double y) {
        Calibration calibration = image.getCalibration();
        table.addValue("X", calibration.getX(x));
        table.addValue("Y", calibration.getY(y, image.getHeight()));
    }

    /**
     * Adds the root mean square distance of points from a curve that was fitted to them in pixels, which has no length
     * where pixels are not square.
     */
    static void addRms(ResultsTable table, ImagePlus image, double pixels) {
        Calibration size = image.getCalibration();
        table.addValue("RMS", isSquare(size) ? pixels * size.pixelWidth : Double.NaN);
    }

    private static boolean isSquare(Calibration size) {
        return Math.abs(size.pixelWidth - size.pixelHeight) < size.pixelWidth * MOST_DIFFERENCE;
    }

    /**
     * Adds centroid, perimeter, ellipse, calipers and their ratios.
     *
     * @param roi an area, of which at least one pixel is in the image; null for none, which makes all of them NaN
     * @param perimeter in the image's unit
     */
    static void add(ResultsTable table, ImagePlus image, Roi roi, double perimeter) {
        if (roi == null) {
            // A column that gets no value in a row is 0 there, as if it were measured.
            COLUMNS.forEach(column -> table.addValue(column, Double.NaN));
            return;
        }
        Calibration size = new Calibration();
        size.pixelWidth = image.getCalibration().pixelWidth;
        size.pixelHeight = image.getCalibration().pixelHeight;
        Roi moved = (Roi) roi.clone();
        Rectangle bounds = roi.getBounds();
        // A curve begins between pixels, and must stay there: with another part of a pixel it has other pixels.
        Rectangle2D.Double corner = roi.getFloatBounds();
        moved.setLocation(corner.x - bounds.x, corner.y - bounds.y);
        // The pixels around the area alone are needed, which are few in a large image.
        ByteProcessor pixels = new ByteProcessor(bounds.width + 1, bounds.height + 1);
        pixels.setRoi(moved);
        int what = Measurements.AREA + Measurements.CENTROID + Measurements.ELLIPSE;
        ImageStatistics s = ImageStatistics.getStatistics(pixels, what, size);
        addPosition(table, image, s.xCentroid / size.pixelWidth + bounds.x, s.yCentroid / size.pixelHeight + bounds.y);
        // A selection takes the size of a pixel from its image.
        ImagePlus small = new ImagePlus("", pixels);
        small.setCalibration(size);
        moved.setImage(small);
        double[] feret = moved.getFeretValues();
        Polygon hull = moved.getConvexHull();
        // ImageJ fits ellipses in pixels, which have no length where pixels are not square.
        boolean square = isSquare(size);
        double major = square ? s.major : Double.NaN;
        double minor = square ? s.minor : Double.NaN;
        table.addValue("Perim.", perimeter);
        table.addValue("Major", major);
        table.addValue("Minor", minor);
        table.addValue("Angle", square ? s.angle : Double.NaN);
        table.addValue("Circ.", Math.min(1, 4 * Math.PI * s.area / (perimeter * perimeter)));
        table.addValue("Feret", feret[0]);
        table.addValue("FeretAngle", feret[1]);
        table.addValue("MinFeret", feret[2]);
        table.addValue("AR", major / minor);
        table.addValue("Round", 4 * s.area / (Math.PI * major * major));
        table.addValue("Solidity", s.pixelCount / (Math.abs(SimplePolygon.twiceArea(SimplePolygon.nodes(hull))) / 2.0));
    }
}
