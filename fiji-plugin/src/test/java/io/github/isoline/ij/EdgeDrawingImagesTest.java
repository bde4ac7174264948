package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.CompositeImage;
import ij.ImagePlus;
import ij.gui.NewImage;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.FloatPolygon;
import ij.process.ImageProcessor;
import io.github.isoline.IsolineException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests edge maps, selections and rows of images, and the properties that they copy from the image. */
class EdgeDrawingImagesTest extends EdgeDrawingTest {
    @Test
    void edgeMapIgnoresTheSelection() {
        ImagePlus brain = open("brain.tif");
        brain.setRoi(20, 20, 30, 30);
        ImagePlus edges = edges(brain, "");
        assertEquals("Edges of brain.tif", edges.getTitle());
        assertEquals(8, edges.getBitDepth());
        int[] histogram = edges.getStack().getProcessor(9).getHistogram();
        assertTrue(histogram[255] > 100);
        assertEquals(brain.getWidth() * brain.getHeight(), histogram[0] + histogram[255]);
        String info = (String) edges.getProperty("Info");
        assertTrue(info.contains("Isoline edge drawing: device=auto profile=reference"), info);
        assertNotNull(brain.getRoi());
        edges.getProcessor().setRoi(60, 60, 100, 100);
        assertTrue(edges.getProcessor().getStatistics().histogram[255] > 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void stackInSeveralCallsIsTheStackInOne(int bits) throws Exception {
        ImagePlus brain = open("brain.tif");
        convert(brain, bits);
        String options = "edge_map results_table";
        macro(brain, call(options));
        ImagePlus whole = current();
        List<String> rows = rows();
        long slice = (long) brain.getWidth() * brain.getHeight() * (bits / 8 + 1);
        for (long bytes : new long[] {1, slice * 3, slice * 19}) {
            ResultsTable.getResultsTable().reset();
            EdgeDrawingJob job = new EdgeDrawingJob(brain, Settings.fromMacro(new EdgeDrawingSettings(), options));
            job.callBytes = bytes;
            ImagePlus cut = job.run(null);
            job.deliver();
            for (int z = 1; z <= 20; z++) {
                assertArrayEquals((byte[]) whole.getStack().getPixels(z), (byte[])
                        cut.getStack().getPixels(z));
            }
            assertEquals(rows, rows());
        }
    }

    @Test
    void currentSliceOnly() {
        ImagePlus brain = open("brain.tif");
        brain.getStack().setSliceLabel("the seventh", 7);
        macro(brain, call("edge_map results_table"));
        ImagePlus all = current();
        List<String> seventh =
                rows().stream().filter(row -> row.contains(" slice 7 ")).collect(Collectors.toList());
        ResultsTable.getResultsTable().reset();
        brain.setSlice(7);
        macro(brain, call("stack=current edge_map overlay results_table"));
        ImagePlus one = current();
        assertEquals(1, one.getStackSize());
        assertEquals("the seventh", one.getStack().getSliceLabel(1));
        assertEquals(brain.getCalibration().pixelDepth, one.getCalibration().pixelDepth);
        assertArrayEquals((byte[]) all.getStack().getPixels(7), (byte[])
                one.getProcessor().getPixels());
        assertEquals(seventh, rows());
        for (Roi roi : brain.getOverlay()) {
            assertEquals(7, roi.getPosition());
            assertTrue(roi.getName().endsWith(" s7"), roi.getName());
        }
    }

    @Test
    void hyperstackPositionsAreThoseOfThePlanes() {
        ImagePlus brain = open("brain.tif");
        ImagePlus hyper = new ImagePlus("hyper", brain.getStack());
        hyper.setDimensions(2, 5, 2);
        hyper.setOpenAsHyperStack(true);
        ImagePlus composite = new CompositeImage(hyper, CompositeImage.COMPOSITE);
        macro(composite, call("edge_map overlay results_table min_length=30 all_channels all_frames"));
        ImagePlus edges = current();
        assertEquals(2, edges.getNChannels());
        assertEquals(5, edges.getNSlices());
        assertEquals(2, edges.getNFrames());
        assertTrue(edges.isComposite());
        ResultsTable table = ResultsTable.getResultsTable();
        Roi[] rois = composite.getOverlay().toArray();
        assertEquals(table.size(), rois.length);
        boolean[] seen = new boolean[21];
        for (int i = 0; i < rois.length; i++) {
            assertTrue(rois[i].hasHyperStackPosition());
            int c = rois[i].getCPosition();
            int z = rois[i].getZPosition();
            int t = rois[i].getTPosition();
            int index = composite.getStackIndex(c, z, t);
            seen[index] = true;
            assertEquals(c, table.getValue("Ch", i));
            assertEquals(z, table.getValue("Slice", i));
            assertEquals(t, table.getValue("Frame", i));
            assertTrue(rois[i].getName().endsWith(" c" + c + "z" + z + "t" + t));
            // The selection lies on the edges of its own plane.
            FloatPolygon points = rois[i].getFloatPolygon();
            ImageProcessor plane = edges.getStack().getProcessor(index);
            for (int p = 0; p < points.npoints; p++) {
                assertEquals(255, plane.get((int) points.xpoints[p], (int) points.ypoints[p]));
            }
        }
        for (int index = 1; index <= 20; index++) {
            assertTrue(seen[index], "no segment in plane " + index);
        }
        // By default the command processes the channel and frame that are shown.
        ResultsTable.getResultsTable().reset();
        composite.setPosition(2, 3, 2);
        macro(composite, call("overlay results_table min_length=30"));
        for (Roi roi : composite.getOverlay().toArray()) {
            assertEquals("2 2", roi.getCPosition() + " " + roi.getTPosition());
        }
        assertTrue(table.size() > 5 && table.size() < rois.length);
        for (int i = 0; i < table.size(); i++) {
            assertEquals(2, table.getValue("Ch", i));
            assertEquals(2, table.getValue("Frame", i));
        }
        macro(composite, call("stack=current overlay min_length=30 all_frames"));
        seen = new boolean[21];
        for (Roi roi : composite.getOverlay().toArray()) {
            assertEquals("2 3", roi.getCPosition() + " " + roi.getZPosition());
            seen[roi.getTPosition()] = true;
        }
        assertTrue(seen[1] && seen[2]);
    }

    @Test
    void overlayKeepsTheUsersOwnAndReplacesTheLastRuns() {
        ImagePlus image = open("coins.png");
        Roi own = new Roi(1, 2, 3, 4);
        Overlay overlay = new Overlay(own);
        overlay.drawNames(true);
        image.setOverlay(overlay);
        int many = overlay(image, "min_length=10").length;
        int few = overlay(image, "min_length=60").length;
        assertTrue(few > 0 && few < many, few + " of " + many);
        assertSame(own, image.getOverlay().get(0));
        assertTrue(image.getOverlay().getDrawNames());
        assertEquals(few, overlay(image, "min_length=60").length);
        // A new image gets the user's elements and not the segments of the last run.
        assertEquals(1, edges(image, "").getOverlay().size());
    }

    @Test
    void lengthsAreInTheImagesUnit() {
        // The image is black above, white below, with a row of grey between: the edge is that row.
        ImagePlus square = NewImage.createByteImage("square", 60, 50, 1, NewImage.FILL_WHITE);
        for (int x = 0; x < 60; x++) {
            for (int y = 0; y <= 20; y++) {
                square.getProcessor().set(x, y, y < 20 ? 0 : 128);
            }
        }
        square.getCalibration().pixelWidth = 0.5;
        square.getCalibration().pixelHeight = 3;
        square.getCalibration().setUnit("um");
        macro(square, call("profile=paper results_table overlay"));
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(1, table.size(), "one straight edge");
        // The edge reaches from the first to the last column, 59 steps of half a micrometre.
        assertEquals(59 * 0.5, table.getValue("Length", 0), 1e-9);
        assertEquals(60, table.getValue("Points", 0));
        assertEquals(0, table.getValue("Closed", 0));
        // The centroid lies in the middle of the columns, on the centre of a row beside the border.
        assertEquals(30 * 0.5, table.getValue("X", 0), 1e-9);
        assertEquals(20 * 3, table.getValue("Y", 0), 1.5 + 1e-9);
        assertEquals(0, table.getValue("Angle", 0));
        assertEquals("\u00b5m", table.getStringValue("Unit", 0));
        assertEquals(Roi.FREELINE, square.getOverlay().get(0).getType());
    }

    @Test
    void closedSegmentsAreAreas() {
        // The border is soft, as in a camera image.
        double radius = 33.7;
        ImagePlus disc = NewImage.createByteImage("disc", 130, 120, 1, NewImage.FILL_BLACK);
        for (int y = 0; y < 120; y++) {
            for (int x = 0; x < 130; x++) {
                double inside = 0.5 + radius - Math.hypot(x - 63.4, y - 62.8);
                double share = Math.max(0, Math.min(1, inside));
                disc.getProcessor().set(x, y, (int) Math.round(30 + 200 * share));
            }
        }
        for (String shape : new String[] {"freeline", "polyline"}) {
            for (String profile : CApi.words("edge_drawing", "profile")) {
                Roi[] rois = overlay(disc, "roi_shape=" + shape + " profile=" + profile);
                assertEquals(1, rois.length, profile);
                int type = shape.equals("freeline") ? Roi.FREEROI : Roi.POLYGON;
                assertEquals(type, rois[0].getType(), profile + " " + shape);
                assertTrue(rois[0].isArea());
                double area = Math.PI * radius * radius;
                assertEquals(area, rois[0].getStatistics().area, 0.05 * area, profile);
                // The centre is that of the disc: an error of half a pixel would be detected.
                double[] centre = rois[0].getContourCentroid();
                assertEquals(63.4 + 0.5, centre[0], 0.25, profile + " " + shape);
                assertEquals(62.8 + 0.5, centre[1], 0.25, profile + " " + shape);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 0.5, 1, 3})
    void polylinesStayWithinTheTolerance(double tolerance) {
        ImagePlus image = open("camera.png");
        Roi[] exact = overlay(image, "");
        Roi[] simple = overlay(image, "roi_shape=polyline tolerance=" + tolerance);
        assertEquals(exact.length, simple.length);
        int pixels = 0;
        int corners = 0;
        for (int i = 0; i < exact.length; i++) {
            FloatPolygon chain = exact[i].getFloatPolygon();
            FloatPolygon line = simple[i].getFloatPolygon();
            pixels += chain.npoints;
            corners += line.npoints;
            assertEquals(exact[i].isArea(), simple[i].isArea() || line.npoints < 3 && exact[i].isArea());
            assertEquals(chain.xpoints[0], line.xpoints[0], exact[i].isArea() ? 0.5 : 0);
            double worst = 0;
            int corner = 0;
            for (int p = 0; p < chain.npoints; p++) {
                double nearest = Double.POSITIVE_INFINITY;
                for (int k = 0; k < line.npoints; k++) {
                    int next = (k + 1) % line.npoints;
                    if (next == 0 && !simple[i].isArea() && line.npoints > 1) {
                        continue;
                    }
                    nearest = Math.min(nearest, distance(chain, p, line, k, next));
                }
                worst = Math.max(worst, nearest);
                boolean same = corner < line.npoints
                        && chain.xpoints[p] == line.xpoints[corner]
                        && chain.ypoints[p] == line.ypoints[corner];
                corner += same ? 1 : 0;
            }
            if (exact[i].isArea() == simple[i].isArea()) {
                assertTrue(worst <= tolerance + 1e-4, "segment " + i + " is off by " + worst);
                assertEquals(line.npoints, corner, "corners are pixels of the chain, in order");
            }
        }
        assertTrue(corners < pixels, corners + " of " + pixels);
        if (tolerance >= 1) {
            assertTrue(corners < pixels / 2, corners + " of " + pixels);
        }
    }

    private static double distance(FloatPolygon from, int p, FloatPolygon to, int a, int b) {
        double dx = to.xpoints[b] - to.xpoints[a];
        double dy = to.ypoints[b] - to.ypoints[a];
        double px = from.xpoints[p] - to.xpoints[a];
        double py = from.ypoints[p] - to.ypoints[a];
        double length = dx * dx + dy * dy;
        double t = length == 0 ? 0 : Math.max(0, Math.min(1, (px * dx + py * dy) / length));
        return Math.hypot(px - t * dx, py - t * dy);
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void depthDoesNotMatterAtTheSameThreshold(int bits) {
        ImagePlus camera = open("camera.png");
        ImageProcessor from = camera.getProcessor();
        ImagePlus converted =
                new ImagePlus("converted", bits == 16 ? from.convertToShort(false) : from.convertToFloat());
        String eightBits = "profile=paper gradient_threshold=30";
        String options = eightBits + " range_min=0 range_max=255";
        byte[] eight = (byte[]) edges(camera, eightBits).getProcessor().getPixels();
        byte[] other = (byte[]) edges(converted, bits == 32 ? options : eightBits)
                .getProcessor()
                .getPixels();
        if (bits == 16) {
            assertArrayEquals(eight, other);
            return;
        }
        // 32-bit images are computed in 65536 levels, which sometimes round differently.
        int different = 0;
        int edges = 0;
        for (int p = 0; p < eight.length; p++) {
            different += eight[p] != other[p] ? 1 : 0;
            edges += eight[p] != 0 ? 1 : 0;
        }
        assertTrue(different < edges / 5, different + " of " + edges);
    }

    @Test
    void offsetOfSignedImagesDoesNotMatter() {
        ImagePlus camera = open("camera.png");
        ImagePlus sixteen = new ImagePlus("16", camera.getProcessor().convertToShort(false));
        ImagePlus signed = new ImagePlus("signed", camera.getProcessor().convertToShort(false));
        signed.getProcessor().add(32768 - 100);
        signed.getLocalCalibration().setSigned16BitCalibration();
        assertArrayEquals((byte[]) edges(sixteen, "").getProcessor().getPixels(), (byte[])
                edges(signed, "").getProcessor().getPixels());
    }

    @Test
    void imagesWithoutEdgesGiveNothingAndSaySo() {
        ImagePlus black = NewImage.createByteImage("black", 40, 30, 1, NewImage.FILL_BLACK);
        Outcome outcome = macro(black, call("edge_map overlay results_table"));
        assertTrue(outcome.log.contains(", 0 segments"), outcome.log);
        assertEquals(0, current().getStatistics().max);
        assertEquals(0, ResultsTable.getResultsTable().size());
        assertEquals(0, black.getOverlay().size());
        for (int[] size : new int[][] {{1, 1}, {1, 7}, {6, 1}, {2, 2}, {4, 4}}) {
            ImagePlus tiny = NewImage.createFloatImage("tiny", size[0], size[1], 1, NewImage.FILL_RAMP);
            ImagePlus edges = edges(tiny, "");
            assertEquals(size[0], edges.getWidth());
            assertEquals(size[1], edges.getHeight());
        }
    }

    @Test
    void stackThatIsOneSliceHasNoPositions() {
        for (Roi roi : overlay(open("coins.png"), "min_length=40")) {
            assertEquals(0, roi.getPosition());
            assertFalse(roi.hasHyperStackPosition());
            assertTrue(roi.getName().matches("seg-\\d{4}"), roi.getName());
            assertNotNull(roi.getStrokeColor());
            assertNull(roi.getFillColor());
        }
    }

    @Test
    void everyGpuGivesTheSameAsTheCpu() throws IsolineException {
        List<String> gpus = gpus("edge drawing's everyGpuGivesTheSameAsTheCpu");
        ImagePlus brain = open("brain.tif");
        for (String profile : CApi.words("edge_drawing", "profile")) {
            String options = "edge_map results_table profile=" + profile;
            macro(brain, call(options + " device=cpu"));
            ImagePlus cpu = current();
            List<String> rows = rows();
            for (String gpu : gpus) {
                ResultsTable.getResultsTable().reset();
                macro(brain, call(options + " device=" + gpu));
                for (int z = 1; z <= brain.getStackSize(); z++) {
                    assertArrayEquals((byte[]) cpu.getStack().getPixels(z), (byte[])
                            current().getStack().getPixels(z));
                }
                assertEquals(rows, rows());
            }
            ResultsTable.getResultsTable().reset();
        }
    }

    /** Returns the table without the segments' numbers, a line for each row. */
    private static List<String> rows() {
        ResultsTable table = ResultsTable.getResultsTable();
        String[] rows = new String[table.size()];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = table.getLabel(i)
                    + " slice "
                    + (int) table.getValue("Slice", i)
                    + " length "
                    + table.getValue("Length", i)
                    + " points "
                    + table.getValue("Points", i)
                    + " gradient "
                    + table.getValue("Mean gradient", i)
                    + " closed "
                    + table.getValue("Closed", i);
        }
        return Arrays.asList(rows);
    }
}
