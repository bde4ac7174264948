package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.process.ByteProcessor;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Masks;
import io.github.isoline.PixelBuffer;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The region that a level set starts from, plane by plane, for several threads. Selections are copied when it is made,
 * so that the user may draw on while it is used.
 */
final class StartSurface {
    private static final int INSIDE = 255;

    private final HyperStackSelection planes;
    private final LevelSetSettings settings;
    private final VoxelSize voxel;

    /** The copied selection, if it is the start, or the box in a slice. */
    private Roi selection;

    /** The slice of the selection. */
    private int roiSlice;

    /** The selection's pixels, made at the first use. */
    private byte[] roiPixels;

    /** The centres of the spheres, if points are the start. */
    private List<StartPoints.Point> points;

    /** Holds their automatic radii by volume or plane. */
    private final Map<String, double[]> automatic = new HashMap<>();

    /** The mask, if it is the start. */
    private ImagePlus mask;

    /** The box, if it is the start: first and last x, y (from 0) and slice (from 1). */
    private int[][] box;

    /**
     * Reads the start.
     *
     * @throws BadInput if there is nothing to start from, with what to do about it
     */
    StartSurface(HyperStackSelection planes, LevelSetSettings settings) throws BadInput {
        this.planes = planes;
        this.settings = settings;
        voxel = new VoxelSize(planes.image, settings.isVolume());
        switch (settings.text(LevelSetSettings.START)) {
            case LevelSetSettings.ROI:
                start(SnakeStart.areaOrPoints(planes.image));
                break;
            case LevelSetSettings.SPHERES:
                points = StartPoints.of(planes, settings);
                break;
            case LevelSetSettings.MASK:
                mask = MaskChoice.find(planes, settings);
                break;
            default:
                box = box();
                selection = new Roi(box[0][0], box[1][0], box[0][1] - box[0][0] + 1, box[1][1] - box[1][0] + 1);
                break;
        }
    }

    /** Takes the image's selection: an area, or points, which become spheres of the automatic radius. */
    private void start(Roi roi) throws BadInput {
        if (!(roi instanceof PointRoi)) {
            selection = roi;
            roiSlice = slice(roi, planes);
            return;
        }
        if (isOnAllSlices()) {
            throw new BadInput("roi_slices=all needs a selection with an area, but there are points, each of which is a"
                    + " ball around its own slice. Leave roi_slices out, or draw an area.");
        }
        points = StartPoints.of((PointRoi) roi, planes, settings.isVolume(), "the selection");
    }

    /** Returns true if the selection is on every slice of a volume. */
    private boolean isOnAllSlices() {
        return settings.isVolume() && settings.is(LevelSetSettings.ROI_SLICES, LevelSetSettings.ALL);
    }

    /** Returns the image's selection, which must have an area; the message names the purpose that needs it. */
    static Roi areaSelection(ImagePlus image, String purpose) throws BadInput {
        return areaSelection(image, purpose, "");
    }

    /** @param also the end of the message, with what else serves the purpose */
    static Roi areaSelection(ImagePlus image, String purpose, String also) throws BadInput {
        Roi roi = image.getRoi();
        if (roi == null || !roi.isArea()) {
            throw new BadInput(
                    "%s needs a selection with an area on \"%s\", but there is %s. Draw one with the rectangle, "
                            + "oval, polygon or freehand tool%s.",
                    purpose,
                    image.getTitle(),
                    roi == null ? "none" : "a " + roi.getTypeAsString().toLowerCase(Locale.ROOT),
                    also);
        }
        return (Roi) roi.clone();
    }

    /** Returns the z slice that a selection lies on: its own, or the one that is shown. */
    static int slice(Roi roi, HyperStackSelection planes) {
        if (roi.hasHyperStackPosition() && roi.getZPosition() > 0) {
            return roi.getZPosition();
        }
        int index = roi.getPosition();
        boolean known = index > 0 && index <= planes.image.getStackSize();
        return planes.position(known ? index : planes.image.getCurrentSlice())[1];
    }

    /** Returns a plane of the image's size, 255 in the selection. */
    static byte[] pixels(Roi roi, ImagePlus image) {
        ByteProcessor pixels = new ByteProcessor(image.getWidth(), image.getHeight());
        pixels.setValue(INSIDE);
        pixels.fill(roi);
        return (byte[]) pixels.getPixels();
    }

    private int[][] box() throws BadInput {
        ImagePlus image = planes.image;
        int[] sizes = {image.getWidth(), image.getHeight(), image.getNSlices()};
        String[] names = {LevelSetSettings.BOX_X, LevelSetSettings.BOX_Y, LevelSetSettings.BOX_Z};
        String[] sides = Arrays.stream(names).map(settings::text).toArray(String[]::new);
        int[][] automatic = automaticBox(image, settings.isVolume());
        int[][] spans = new int[sizes.length][];
        for (int axis = 0; axis < sizes.length; axis++) {
            // Slices count from 1, as everywhere in ImageJ.
            int first = axis == 2 ? 1 : 0;
            int last = first + sizes[axis] - 1;
            boolean auto = LevelSetSettings.isAuto(sides[axis]);
            spans[axis] = auto ? automatic[axis] : LevelSetSettings.span(sides[axis]);
            if (spans[axis][0] < first || spans[axis][1] > last) {
                throw new BadInput(
                        "%s must lie within the image, %s-%s, got \"%s\".", names[axis], first, last, sides[axis]);
            }
        }
        return spans;
    }

    /**
     * Returns the automatic box: the bounds of the selection, else the central half; all slices, or for a volume the
     * central half of them.
     */
    static int[][] automaticBox(ImagePlus image, boolean volume) {
        Roi roi = image.getRoi();
        Rectangle all = new Rectangle(image.getWidth(), image.getHeight());
        Rectangle bounds = roi == null || !roi.isArea() ? null : roi.getBounds().intersection(all);
        int slices = image.getNSlices();
        int[] z = volume ? centralHalf(slices) : new int[] {0, slices - 1};
        z[0]++;
        z[1]++;
        if (bounds == null || bounds.isEmpty()) {
            return new int[][] {centralHalf(all.width), centralHalf(all.height), z};
        }
        return new int[][] {{bounds.x, bounds.x + bounds.width - 1}, {bounds.y, bounds.y + bounds.height - 1}, z};
    }

    private static int[] centralHalf(int size) {
        int half = Math.max(1, size / 2);
        int first = (size - half) / 2;
        return new int[] {first, first + half - 1};
    }

    /** Returns the pixels of one plane: above 0 inside. The array is used again for the next. */
    byte[] plane(int index, byte[] pixels) throws IsolineException {
        int[] position = planes.position(index);
        if (selection != null) {
            if (isOn(position[1])) {
                System.arraycopy(roiPixels(), 0, pixels, 0, pixels.length);
            } else {
                Arrays.fill(pixels, (byte) 0);
            }
        } else if (mask != null) {
            MaskChoice.copy(mask, planes, index, pixels);
        } else {
            spheres(position, pixels);
        }
        return pixels;
    }

    /** Returns true if the selection, or the box, is on a z slice. */
    private boolean isOn(int z) {
        if (box != null) {
            return z >= box[2][0] && z <= box[2][1];
        }
        return !settings.isVolume() || isOnAllSlices() || z == roiSlice;
    }

    private synchronized byte[] roiPixels() {
        if (roiPixels == null) {
            roiPixels = pixels(selection, planes.image);
        }
        return roiPixels;
    }

    /** Returns the radius of each point that is on a plane or in its volume, in the image's unit. */
    private double[] radii(int... position) throws BadInput {
        double[] radii = new double[points.size()];
        // The points of start=roi have the automatic one, whatever radius a dialog remembers for spheres.
        if (settings.is(LevelSetSettings.START, LevelSetSettings.SPHERES)
                && !settings.isAutomatic(LevelSetSettings.RADIUS)) {
            Arrays.fill(radii, settings.number(LevelSetSettings.RADIUS));
            return radii;
        }
        // All planes of a volume have the same points.
        String key = position[0] + " " + (settings.isVolume() ? 0 : position[1]) + " " + position[2];
        synchronized (automatic) {
            double[] known = automatic.get(key);
            if (known == null) {
                measure(radii, position);
                automatic.put(key, radii);
            }
            return known == null ? radii : known;
        }
    }

    private void measure(double[] radii, int... position) throws BadInput {
        Map<Integer, List<Integer>> byPlane = new TreeMap<>();
        for (int i = 0; i < radii.length; i++) {
            StartPoints.Point point = points.get(i);
            if (point.isOn(position, settings.isVolume())) {
                int z = point.z == 0 ? position[1] : point.z;
                int index = planes.image.getStackIndex(position[0], z, position[2]);
                byPlane.computeIfAbsent(index, plane -> new ArrayList<>()).add(i);
            }
        }
        for (Map.Entry<Integer, List<Integer>> plane : byPlane.entrySet()) {
            List<double[]> places = new ArrayList<>();
            for (int i : plane.getValue()) {
                // A point's whole numbers are centres of pixels.
                places.add(new double[] {points.get(i).x + 0.5, points.get(i).y + 0.5});
            }
            double[] pixels = new StartDiscs(planes.image, plane.getKey()).radii(places);
            for (int i = 0; i < pixels.length; i++) {
                radii[plane.getValue().get(i)] = pixels[i] * voxel.x;
            }
        }
    }

    private void spheres(int[] position, byte[] pixels) throws IsolineException {
        Arrays.fill(pixels, (byte) 0);
        double[] spheres = StartPoints.spheres(points, position, settings.isVolume(), radii(position));
        if (spheres.length == 0) {
            return;
        }
        Context context = Contexts.of(settings.device());
        try (PixelBuffer plane = Pixels.buffer(context, PixelBuffer.Type.U8, planes.image, 1)) {
            plane.setSpacing(voxel.x, voxel.y, voxel.z);
            plane.write(0, pixels);
            Masks.fillSpheres(plane, 1, spheres, INSIDE);
            plane.read(0, pixels);
        }
    }

    /** Returns where points lie that are on none of the planes, and what to do; "" if some are. */
    String elsewhere() {
        List<int[]> places = new ArrayList<>();
        if (points != null) {
            points.forEach(point -> places.add(new int[] {point.c, point.z, point.t}));
        }
        return planes.elsewhere(places);
    }

    /** Returns a description of the start for the dialog. */
    String describe() {
        if (selection != null && box == null) {
            boolean own = settings.isVolume() && settings.is(LevelSetSettings.ROI_SLICES, LevelSetSettings.OWN);
            String every = planes.slices() > 1 ? ", on every slice" : "";
            return "the selection" + (own ? ", on slice " + roiSlice : every);
        }
        if (points != null) {
            return points.size() + " spheres";
        }
        if (mask != null) {
            return "pixels above 0 of \"" + mask.getTitle() + "\"";
        }
        return String.format(
                "box x %d-%d, y %d-%d, z %d-%d", box[0][0], box[0][1], box[1][0], box[1][1], box[2][0], box[2][1]);
    }
}
