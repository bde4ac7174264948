package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.PointRoi;
import ij.gui.Roi;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The polygons that region snakes start from, plane by plane. Selections are copied when it is made, so that the user
 * may draw on while it is used.
 */
final class SnakeStart {
    /** The property that marks selections made by the command itself. */
    static final String KIND = "region snake";

    /** The beginning of the names of targets that have none of their own. */
    static final String NAME = "snake";

    private static final int DIGITS = 4;

    /** The least number of pixels of a part of the thresholded pixels: smaller ones are noise. */
    private static final int LEAST_PIXELS = 10;

    private final HyperStackSelection planes;
    private final SnakeSettings settings;
    private final int[] shown;

    /** The axis of the tracks: 1 for slices, 2 for frames; -1 if targets are not tracked. */
    private final int trackAxis;

    /** A target of a selection: its outline, or a point that becomes a disc; position 0 for everywhere. */
    private static final class Given {
        SnakeTarget target;
        double[] point;
        int[] place;
    }

    private final List<Given> given = new ArrayList<>();

    /** The label image, if it is the start. */
    private StartLabels labels;

    /** The threshold that the image shows, if it is the start. */
    private InsideTest threshold;

    private final StartOutlines outlines;

    /** Holds remarks about the starts. */
    private final Set<String> notes = new LinkedHashSet<>();

    /**
     * Reads the starts.
     *
     * @throws BadInput if there is nothing to start from, with what to do about it
     */
    SnakeStart(HyperStackSelection planes, SnakeSettings settings) throws BadInput {
        this.planes = planes;
        this.settings = settings;
        ImagePlus image = planes.image;
        outlines = new StartOutlines(image, settings.startSpacing(), notes);
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
                labels = new StartLabels(planes, settings, outlines, notes);
                break;
            case SnakeSettings.THRESHOLDED:
                threshold = InsideTest.byShownThreshold(image);
                break;
            case SnakeSettings.DETECT:
                break;
            default:
                int w = image.getWidth();
                int h = image.getHeight();
                add(NAME, new int[3], 0, StartOutlines.rectangle(w / 4, h / 4, w - w / 4, h - h / 4));
                break;
        }
        String idle = settings.idleRadius(given.isEmpty() || given.stream().anyMatch(one -> one.point != null));
        if (idle != null) {
            notes.add(idle);
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
        Given one = new Given();
        one.target = new SnakeTarget(given.size() + 1, name, home, nodes);
        one.place = place;
        given.add(one);
    }

    /** Adds the points of a selection, each on its own slice and in its own frame, if it has one. */
    private void addPoints(PointRoi roi, String source) throws BadInput {
        List<StartPoints.Point> points = StartPoints.of(roi, planes, false, source);
        String name = roi.getName() == null || points.size() > 1 ? null : roi.getName();
        for (StartPoints.Point point : points) {
            int[] place = {point.c, point.z, point.t};
            String own = name == null ? NAME + "-" + IJ.pad(given.size() + 1, DIGITS) : name;
            add(own, place, name == null ? 0 : planeOf(place), null);
            // A point's whole numbers are centres of pixels.
            given.get(given.size() - 1).point = new double[] {point.x + 0.5, point.y + 0.5};
        }
    }

    /** Returns a copy of the image's selection, which must be an area or points. */
    static Roi areaOrPoints(ImagePlus image) throws BadInput {
        Roi roi = image.getRoi();
        if (roi instanceof PointRoi) {
            return (Roi) roi.clone();
        }
        return StartSurface.areaSelection(image, "start=roi", ", or click points, which become discs");
    }

    private void selection() throws BadInput {
        Roi roi = areaOrPoints(planes.image);
        if (roi instanceof PointRoi) {
            addPoints((PointRoi) roi, "the selection");
            return;
        }
        String name = roi.getName() == null ? NAME : roi.getName();
        List<int[]> parts = outlines.of(roi, "the selection");
        if (parts.isEmpty()) {
            throw new BadInput("The selection has no pixel within \""
                    + planes.image.getTitle()
                    + "\". Move it into the image, or draw another.");
        }
        // Independent slices all start from the selection; a track starts at its position.
        int[] own = StartPoints.place(roi, planes);
        int[] place = new int[own.length];
        if (trackAxis >= 0) {
            place[trackAxis] = own[trackAxis];
        }
        for (int[] outline : parts) {
            String part = parts.size() == 1 ? "" : "-" + (given.size() + 1);
            add(name + part, place, 0, outline);
        }
    }

    private void managed() throws BadInput {
        RoiFile.Starts starts = new RoiFile.Starts(settings);
        if (starts.skipped != null) {
            notes.add(starts.skipped);
        }
        for (Roi roi : starts.rois) {
            if (roi instanceof PointRoi) {
                addPoints((PointRoi) roi, starts.source);
                continue;
            }
            String name = roi.getName() == null ? NAME : roi.getName();
            List<int[]> parts = outlines.of(roi, "\"" + name + "\"");
            parts = parts.isEmpty() ? Collections.singletonList(outside(roi)) : parts;
            int[] place = StartPoints.place(roi, planes);
            int part = 0;
            for (int[] outline : parts) {
                String number = parts.size() == 1 ? "" : "-" + ++part;
                add(name + number, place, planeOf(place), outline);
            }
        }
    }

    /** Returns the bounds of a selection outside the image, which the library reports as such. */
    private static int[] outside(Roi roi) {
        Rectangle r = roi.getBounds();
        return StartOutlines.rectangle(r.x, r.y, r.x + Math.max(1, r.width), r.y + Math.max(1, r.height));
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

    /** Returns the targets that start on a plane; in a track, those that begin there. */
    List<SnakeTarget> on(int index) throws BadInput {
        int[] position = planes.position(index);
        boolean begins = trackAxis < 0 || position[trackAxis] == shown[trackAxis];
        if (labels != null) {
            return begins ? labels.on(index) : Collections.emptyList();
        }
        if (threshold != null) {
            return begins ? thresholded(index) : Collections.emptyList();
        }
        if (settings.is(SnakeSettings.START, SnakeSettings.DETECT)) {
            return begins ? detected(index) : Collections.emptyList();
        }
        List<Given> here = new ArrayList<>();
        for (Given one : given) {
            int[] wanted = one.place.clone();
            if (trackAxis >= 0 && wanted[trackAxis] == 0) {
                wanted[trackAxis] = shown[trackAxis];
            }
            if (HyperStackSelection.covers(wanted, position)) {
                here.add(one);
            }
        }
        return targets(here, index);
    }

    /** Returns targets with their outlines on a plane, where points become discs. */
    private List<SnakeTarget> targets(List<Given> here, int index) throws BadInput {
        List<double[]> points = new ArrayList<>();
        here.forEach(one -> points.addAll(one.point == null ? Collections.emptyList() : Arrays.asList(one.point)));
        Iterator<Roi> discs = points.isEmpty()
                ? Collections.emptyIterator()
                : new StartDiscs(planes.image, index)
                        .around(points, settings.radius())
                        .iterator();
        List<SnakeTarget> targets = new ArrayList<>();
        for (Given one : here) {
            targets.add(one.point == null ? one.target : one.target.from(outline(discs.next())));
        }
        return targets;
    }

    private int[] outline(Roi disc) {
        List<int[]> parts = outlines.of(disc, "a disc");
        return parts.isEmpty() ? outside(disc) : parts.get(0);
    }

    private List<SnakeTarget> detected(int index) throws BadInput {
        List<SnakeTarget> found = new ArrayList<>();
        for (Roi disc : new StartDiscs(planes.image, index).detected(settings.radius())) {
            found.add(numbered(found.size() + 1, outline(disc)));
        }
        return found;
    }

    /** Returns the connected parts of the pixels that the threshold marks. */
    private List<SnakeTarget> thresholded(int index) throws BadInput {
        byte[] mask = new byte[planes.image.getWidth() * planes.image.getHeight()];
        threshold.mark(Pixels.of(planes.image, index), mask);
        int[] values = new int[mask.length];
        Arrays.setAll(values, i -> mask[i]);
        List<SnakeTarget> found = new ArrayList<>();
        for (MaskOutlines.Part part : MaskOutlines.of(values, planes.image.getWidth())) {
            if (part.pixels < LEAST_PIXELS) {
                notes.add("parts of fewer than " + LEAST_PIXELS + " thresholded pixels were not taken");
            } else {
                found.add(numbered(found.size() + 1, outlines.thin(part)));
            }
        }
        return found;
    }

    /** Returns a target that has no name of its own. */
    static SnakeTarget numbered(int id, int[] nodes) {
        return new SnakeTarget(id, NAME + "-" + IJ.pad(id, DIGITS), 0, nodes);
    }

    /** Returns true if the starts are looked for in an image, which may have none. */
    boolean isOfImage() {
        return labels != null || threshold != null || settings.is(SnakeSettings.START, SnakeSettings.DETECT);
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

    /** Returns where starts lie that are on none of the planes, and what to do; "" if some are. */
    String elsewhere() {
        return planes.elsewhere(given.stream().map(one -> one.place).collect(Collectors.toList()));
    }

    /** Returns a description of the start for the dialog. */
    String describe() {
        if (labels != null) {
            return labels.describe();
        }
        switch (settings.text(SnakeSettings.START)) {
            case SnakeSettings.ROI:
                return given.isEmpty() || given.get(0).point == null ? "the selection" : "points";
            case SnakeSettings.MANAGER:
                return settings.text(SnakeSettings.START_FILE).isEmpty()
                        ? "the ROI Manager"
                        : settings.text(SnakeSettings.START_FILE);
            case SnakeSettings.THRESHOLDED:
                return "the pixels that the threshold marks";
            case SnakeSettings.DETECT:
                return "detected objects";
            default:
                return "the rectangle";
        }
    }

    /** Returns the remarks about the starts; null if there are none. */
    String note() {
        return notes.isEmpty() ? null : String.join("; ", notes) + ".";
    }
}
