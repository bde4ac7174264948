package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.process.ImageProcessor;
import java.awt.Polygon;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The polygons that region snakes start from, plane by plane. Selections are copied when it is made, so that the user
 * may draw on while it is used.
 */
final class SnakeStart {
    /** The property that marks selections made by the command itself. */
    static final String KIND = "region snake";

    private static final int DIGITS = 4;

    /** The largest number of nodes of a polygon drawn by hand: others are thinned. */
    private static final int MOST_CLICKED_NODES = 200;

    /** The largest label: up to it 32-bit pixels represent all whole numbers. */
    private static final int MOST_LABELS = 1 << 24;

    private final HyperStackSelection planes;
    private final SnakeSettings settings;
    private final int[] shown;

    /** The axis of the tracks: 1 for slices, 2 for frames; -1 if targets are not tracked. */
    private final int trackAxis;

    /** Holds the targets of selections, each with its position, 0 for everywhere. */
    private final List<SnakeTarget> targets = new ArrayList<>();

    private final List<int[]> places = new ArrayList<>();

    /** The label image, if it is the start. */
    private ImagePlus labels;

    /** Holds remarks about the starts. */
    private final Set<String> notes = new LinkedHashSet<>();

    private int skipped;

    /**
     * Reads the starts.
     *
     * @throws BadInput if there is nothing to start from, with what to do about it
     */
    SnakeStart(HyperStackSelection planes, SnakeSettings settings) throws BadInput {
        this.planes = planes;
        this.settings = settings;
        ImagePlus image = planes.image;
        shown = planes.position(image.getCurrentSlice());
        trackAxis = settings.isTrack() ? trackAxis(image, settings) : -1;
        switch (settings.text(SnakeSettings.START)) {
            case SnakeSettings.ROI:
                selection();
                break;
            case SnakeSettings.MANAGER:
                managed();
                break;
            case SnakeSettings.LABELS:
                labels = MaskChoice.find(
                        image,
                        settings.workspace.images(),
                        settings.text(SnakeSettings.START_IMAGE),
                        true,
                        "start image",
                        SnakeSettings.START_IMAGE,
                        "or a single slice");
                break;
            default:
                int w = image.getWidth();
                int h = image.getHeight();
                add("snake", new int[3], 0, rectangle(w / 4, h / 4, w - w / 4, h - h / 4));
                break;
        }
    }

    /** Returns the axis that targets are tracked along: that of the slices, or of the frames. */
    static int trackAxis(ImagePlus image, SnakeSettings settings) throws BadInput {
        if (settings.is(SnakeSettings.STACK, SnakeSettings.TRACK_FRAMES)) {
            if (image.getNFrames() == 1) {
                throw new BadInput(
                        "\"%s\" has one frame, so there is nothing to track through. If its slices are frames, say so "
                                + "in Image > Properties; else choose \"track\", which goes through slices.",
                        image.getTitle());
            }
            return 2;
        }
        if (image.getNSlices() == 1 && image.getNFrames() == 1) {
            throw new BadInput(
                    "\"%s\" has one slice and one frame, so there is nothing to track through. Choose \"slices\" "
                            + "or \"current\" instead of \"track\".",
                    image.getTitle());
        }
        return image.getNSlices() > 1 ? 1 : 2;
    }

    private void add(String name, int[] place, int home, int[] nodes) {
        targets.add(new SnakeTarget(targets.size() + 1, name, home, nodes));
        places.add(place);
    }

    private void selection() throws BadInput {
        Roi roi = StartSurface.areaSelection(planes.image, "start=roi");
        String name = roi.getName() == null ? "snake" : roi.getName();
        List<int[]> outlines = outlines(roi, "the selection");
        if (outlines.isEmpty()) {
            throw new BadInput("The selection has no pixel within \""
                    + planes.image.getTitle()
                    + "\". Move it into the image, or draw another.");
        }
        // Independent slices all start from the selection; a track starts at its position.
        int[] own = place(roi);
        int[] place = new int[own.length];
        if (trackAxis >= 0) {
            place[trackAxis] = own[trackAxis];
        }
        for (int[] outline : outlines) {
            String part = outlines.size() == 1 ? "" : "-" + (targets.size() + 1);
            add(name + part, place, 0, outline);
        }
    }

    private void managed() throws BadInput {
        boolean file = !settings.text(SnakeSettings.START_FILE).isEmpty();
        String source = file ? "the file " + settings.text(SnakeSettings.START_FILE) : settings.workspace.source();
        List<Roi> rois = file ? RoiFile.read(settings.text(SnakeSettings.START_FILE), "areas") : managedStarts();
        if (rois.isEmpty()) {
            throw new BadInput("start=manager needs areas, but the ROI Manager is empty. Draw them and add each"
                    + " with the key \"t\", or let Analyze > Analyze Particles do it (in a"
                    + " macro also start_file=FILE.zip).");
        }
        for (Roi roi : rois) {
            String name = roi.getName() == null ? "snake" : roi.getName();
            if (!roi.isArea()) {
                throw new BadInput(
                        "start=manager takes areas only, but \"%s\" in %s is a %s. Delete it there, or make it an "
                                + "area.",
                        name, source, roi.getTypeAsString().toLowerCase());
            }
            List<int[]> outlines = outlines(roi, "\"" + name + "\"");
            if (outlines.isEmpty()) {
                // The library reports this target as outside the image.
                Rectangle r = roi.getBounds();
                int right = r.x + Math.max(1, r.width);
                int below = r.y + Math.max(1, r.height);
                outlines = Collections.singletonList(rectangle(r.x, r.y, right, below));
            }
            int[] place = place(roi);
            int part = 0;
            for (int[] outline : outlines) {
                String number = outlines.size() == 1 ? "" : "-" + ++part;
                add(name + number, place, planeOf(place), outline);
            }
        }
    }

    /**
     * Returns the selections of the ROI Manager without those that an earlier run has added: those are no starts,
     * unless there are no others.
     */
    private List<Roi> managedStarts() {
        List<Roi> all = settings.workspace.rois();
        List<Roi> foreign = new ArrayList<>();
        for (Roi roi : all) {
            if (!KIND.equals(roi.getProperty(SegmentRois.PROPERTY))) {
                foreign.add(roi);
            }
        }
        if (foreign.isEmpty()) {
            return all;
        }
        skipped = all.size() - foreign.size();
        return foreign;
    }

    /** Returns the channel, slice and frame of a selection, 0 for all. */
    private int[] place(Roi roi) {
        int[] place = MovedOverlay.position(planes, roi);
        boolean nowhere = place[0] == 0 && place[1] == 0 && place[2] == 0;
        int named = nowhere ? StartPoints.named(roi.getName()) : 0;
        boolean known = named > 0 && named <= planes.image.getStackSize();
        return known && planes.image.getStackSize() > 1 ? planes.position(named) : place;
    }

    /** Returns the plane of a position; 0 if it covers more than one. */
    private int planeOf(int... place) {
        ImagePlus image = planes.image;
        int[] sizes = {image.getNChannels(), image.getNSlices(), image.getNFrames()};
        int[] at = new int[place.length];
        for (int axis = 0; axis < place.length; axis++) {
            if (place[axis] == 0 && sizes[axis] > 1) {
                return 0;
            }
            at[axis] = Math.max(1, place[axis]);
        }
        return image.getStackIndex(at[0], at[1], at[2]);
    }

    private static int[] rectangle(int left, int top, int right, int bottom) {
        return new int[] {left, top, right, top, right, bottom, left, bottom};
    }

    /**
     * Returns a selection as simple polygons: one, or for a composite selection one for each part. Empty if no pixel of
     * it lies in the image.
     */
    private List<int[]> outlines(Roi roi, String what) {
        ImagePlus image = planes.image;
        Rectangle all = new Rectangle(image.getWidth(), image.getHeight());
        Rectangle bounds = roi.getBounds();
        Rectangle within = bounds.intersection(all);
        List<int[]> outlines = new ArrayList<>();
        if (within.isEmpty()) {
            return outlines;
        }
        if (roi.getType() == Roi.RECTANGLE && roi.getCornerDiameter() == 0) {
            int right = within.x + within.width;
            int below = within.y + within.height;
            return Collections.singletonList(rectangle(within.x, within.y, right, below));
        }
        int[] clicked = within.equals(bounds) ? clicked(roi) : null;
        if (clicked != null) {
            return Collections.singletonList(clicked);
        }
        ImageProcessor mask = roi.getMask();
        int[] values = new int[within.width * within.height];
        for (int i = 0; i < values.length; i++) {
            int x = within.x - bounds.x + i % within.width;
            int y = within.y - bounds.y + i / within.width;
            values[i] = mask == null || mask.get(x, y) != 0 ? 1 : 0;
        }
        List<MaskOutlines.Part> parts = MaskOutlines.of(values, within.width);
        if (roi.getType() != Roi.COMPOSITE && parts.size() > 1) {
            // The outline crosses itself; the other loops are no targets of their own.
            parts = Collections.singletonList(largest(parts));
            notes.add("only the largest loop of an outline that crosses itself (" + what + ") was used");
        }
        for (MaskOutlines.Part part : parts) {
            outlines.add(moved(thin(part), within.x, within.y));
        }
        return outlines;
    }

    private static MaskOutlines.Part largest(List<MaskOutlines.Part> parts) {
        MaskOutlines.Part largest = parts.get(0);
        for (MaskOutlines.Part part : parts) {
            largest = part.pixels > largest.pixels ? part : largest;
        }
        return largest;
    }

    private int[] thin(MaskOutlines.Part part) {
        if (part.hasHoles()) {
            notes.add("holes in starts were filled, since a target is one polygon");
        }
        return NodeThinner.thin(part.outline, settings.number(SnakeSettings.NODE_SPACING));
    }

    private static int[] moved(int[] nodes, int x, int y) {
        for (int i = 0; i < nodes.length; i += 2) {
            nodes[i] += x;
            nodes[i + 1] += y;
        }
        return nodes;
    }

    /** Returns the corners of a polygon of few straight edges; null for anything else. */
    private static int[] clicked(Roi roi) {
        boolean polygon = roi.getType() == Roi.POLYGON
                && !((PolygonRoi) roi).isSplineFit()
                && ((PolygonRoi) roi).getNCoordinates() <= MOST_CLICKED_NODES;
        if (!polygon) {
            return null;
        }
        Polygon corners = roi.getPolygon();
        int[] nodes = new int[2 * corners.npoints];
        for (int i = 0; i < corners.npoints; i++) {
            nodes[2 * i] = corners.xpoints[i];
            nodes[2 * i + 1] = corners.ypoints[i];
        }
        // Two clicks at one position count as one.
        nodes = NodeThinner.spread(nodes, 1);
        return SimplePolygon.isSimple(nodes) ? nodes : null;
    }

    /** Returns the targets that start on a plane; in a track, those that begin there. */
    List<SnakeTarget> on(int index) throws BadInput {
        int[] position = planes.position(index);
        if (labels != null) {
            boolean here = trackAxis < 0 || position[trackAxis] == shown[trackAxis];
            return here ? labelled(index) : Collections.emptyList();
        }
        List<SnakeTarget> here = new ArrayList<>();
        for (int i = 0; i < targets.size(); i++) {
            boolean all = true;
            for (int axis = 0; axis < position.length; axis++) {
                int wanted = places.get(i)[axis];
                wanted = wanted == 0 && axis == trackAxis ? shown[axis] : wanted;
                all &= wanted == 0 || wanted == position[axis];
            }
            if (all) {
                here.add(targets.get(i));
            }
        }
        return here;
    }

    /** Returns true if targets of earlier planes continue on this one. */
    boolean isTrack() {
        return trackAxis >= 0;
    }

    /** Returns true if the track of a plane has another plane after it, or before it. */
    boolean hasNext(int index, boolean backwards) {
        int last = trackAxis == 1 ? planes.image.getNSlices() : planes.image.getNFrames();
        int here = planes.position(index)[trackAxis];
        return backwards ? here > 1 : here < last;
    }

    /** Returns the name of the track that a plane belongs to. */
    String track(int index) {
        int[] position = planes.position(index);
        return position[0] + " " + (trackAxis == 1 ? position[2] : 0);
    }

    private List<SnakeTarget> labelled(int index) throws BadInput {
        int at = MaskChoice.at(labels, planes, index);
        int[] values = labels(StackJob.pixels(labels, at));
        boolean mask = labels.getBitDepth() == Byte.SIZE && isMask(values);
        List<MaskOutlines.Part> parts = MaskOutlines.of(values, planes.image.getWidth());
        Map<Integer, MaskOutlines.Part> byId = new TreeMap<>();
        for (MaskOutlines.Part part : parts) {
            int id = mask ? byId.size() + 1 : part.value;
            MaskOutlines.Part other = byId.get(id);
            if (other != null) {
                notes.add("only the largest part of labels in several parts was used");
            }
            if (other == null || part.pixels > other.pixels) {
                byId.put(id, part);
            }
        }
        List<SnakeTarget> found = new ArrayList<>();
        byId.forEach((id, part) -> found.add(new SnakeTarget(id, "snake-" + IJ.pad(id, DIGITS), 0, thin(part))));
        return found;
    }

    /** Returns true if pixels are 0 or 255, as in ImageJ's own masks: each connected part is an object. */
    private static boolean isMask(int... values) {
        for (int value : values) {
            if (value != 0 && value != 0xff) {
                return false;
            }
        }
        return true;
    }

    private int[] labels(Object pixels) throws BadInput {
        int count = planes.image.getWidth() * planes.image.getHeight();
        int[] values = new int[count];
        for (int i = 0; i < count; i++) {
            double value = IntensitySample.value(pixels, i);
            if (!(value >= 0 && value <= MOST_LABELS && value == Math.rint(value))) {
                throw new BadInput(
                        "The start image \"%s\" is no label image: it has the pixel value %s, but labels are whole "
                                + "numbers from 0 (none) to %s.",
                        labels.getTitle(), (float) value, MOST_LABELS);
            }
            values[i] = (int) value;
        }
        return values;
    }

    /** Returns a description of the start for the dialog. */
    String describe() {
        if (labels != null) {
            return "\"" + labels.getTitle() + "\"";
        }
        switch (settings.text(SnakeSettings.START)) {
            case SnakeSettings.ROI:
                return "the selection";
            case SnakeSettings.MANAGER:
                return settings.text(SnakeSettings.START_FILE).isEmpty()
                        ? "the ROI Manager"
                        : settings.text(SnakeSettings.START_FILE);
            default:
                return "the rectangle";
        }
    }

    /** Returns the remarks about the starts; null if there are none. */
    String note() {
        Set<String> all = new LinkedHashSet<>(notes);
        if (skipped > 0) {
            all.add(skipped + " outlines that an earlier run left in the ROI Manager were not taken" + " as starts");
        }
        return all.isEmpty() ? null : String.join("; ", all) + ".";
    }
}
