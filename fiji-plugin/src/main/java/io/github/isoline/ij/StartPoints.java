package io.github.isoline.ij;

import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.process.FloatPolygon;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Points to start from: the centres of a level set's spheres and of a region snake's discs. */
final class StartPoints {
    private static final int SPHERE_NUMBERS = 4;

    /** Matches slice, y and x; a suffix such as "-1" distinguishes equal names. */
    private static final Pattern PLACE = Pattern.compile("(\\d{4,6})-\\d{4,6}-\\d{4,6}(-\\d+)?");

    /** A point of a selection; channel, z and t from 1 on, 0 for every channel, slice or frame. */
    static final class Point {
        final double x;
        final double y;
        final int c;
        final int z;
        final int t;

        Point(double x, double y, int c, int z, int t) {
            this.x = x;
            this.y = y;
            this.c = c;
            this.z = z;
            this.t = t;
        }

        /** Returns true if the point belongs to the plane of a channel, slice and frame, or to its volume. */
        boolean isOn(int[] position, boolean volume) {
            return HyperStackSelection.covers(new int[] {c, volume ? 0 : z, t}, position);
        }
    }

    private StartPoints() {}

    /**
     * Returns all points of the file that the parameters name, else those that a script gives, else of the image's
     * selection, else of the ROI Manager, which also comes before a selection that it has.
     */
    static List<Point> of(HyperStackSelection planes, LevelSetSettings settings) throws BadInput {
        String source;
        List<Roi> rois;
        Roi selection = planes.image.getRoi();
        if (!settings.text(LevelSetSettings.SPHERE_FILE).isEmpty()) {
            source = "the file " + settings.text(LevelSetSettings.SPHERE_FILE);
            rois = RoiFile.read(settings.text(LevelSetSettings.SPHERE_FILE), "points");
        } else if (selection instanceof PointRoi && !isAmong(selection, settings.workspace)) {
            source = "the selection";
            rois = Arrays.asList((Roi) selection.clone());
        } else if (!settings.workspace.rois().isEmpty()) {
            source = settings.workspace.source();
            rois = RoiOutput.foreign(settings.workspace.rois(), settings.kind);
        } else {
            throw new BadInput(
                    "start=spheres needs points: the ROI Manager is empty, and \"%s\" has no point selection. "
                            + "Click points with the multi-point tool, or add points to the ROI Manager, each on its slice "
                            + "(in a macro also sphere_file=FILE.zip).",
                    planes.image.getTitle());
        }
        List<Point> points = new ArrayList<>();
        for (Roi roi : rois) {
            if (!(roi instanceof PointRoi)) {
                throw new BadInput(
                        "start=spheres takes points only, but \"%s\" in %s is a %s. Delete it there, or start from a "
                                + "selection or a mask.",
                        roi.getName(), source, roi.getTypeAsString().toLowerCase(Locale.ROOT));
            }
            points.addAll(of((PointRoi) roi, planes, settings.isVolume(), source));
        }
        if (points.isEmpty()) {
            throw new BadInput("There are no points in " + source + ".");
        }
        return points;
    }

    /** Returns true if others than a selection are the start: given ones, or a window's that have all its points. */
    private static boolean isAmong(Roi selection, Workspace workspace) {
        if (workspace.isForThisRun() && !workspace.rois().isEmpty()) {
            return true;
        }
        // The key "t" adds a selection to the ROI Manager and leaves it on the image.
        Set<String> added = new HashSet<>();
        workspace.rois().forEach(roi -> added.addAll(places(roi)));
        return added.containsAll(places(selection));
    }

    private static Set<String> places(Roi roi) {
        FloatPolygon points = roi.getFloatPolygon();
        Set<String> places = new HashSet<>();
        for (int i = 0; i < points.npoints; i++) {
            places.add(points.xpoints[i] + " " + points.ypoints[i]);
        }
        return places;
    }

    /**
     * Returns the points of one selection.
     *
     * @param volume true if points without a slice are refused, unless they are the image's selection
     * @param source where the selection is, for messages
     */
    static List<Point> of(PointRoi roi, HyperStackSelection planes, boolean volume, String source) throws BadInput {
        List<Point> points = new ArrayList<>();
        FloatPolygon places = roi.getFloatPolygon();
        for (int i = 0; i < places.npoints; i++) {
            int c = 0;
            int z = 0;
            int t = 0;
            int index = roi.getPointPosition(i);
            index = index > 0 ? index : roi.getPosition();
            index = index > 0 || roi.hasHyperStackPosition() ? index : named(roi.getName());
            if (index > 0 && index <= planes.image.getStackSize()) {
                int[] position = planes.position(index);
                c = position[0];
                z = position[1];
                t = planes.image.getNFrames() > 1 ? position[2] : 0;
            } else if (roi.hasHyperStackPosition()) {
                c = roi.getCPosition();
                z = roi.getZPosition();
                t = roi.getTPosition();
            }
            if (z == 0 && volume) {
                if (!"the selection".equals(source)) {
                    throw new BadInput(
                            "The point \"%s\" in %s has no slice, so its place in the volume is not known. Go to its "
                                    + "slice, select it and press Update in the ROI Manager.",
                            roi.getName(), source);
                }
                // The point is displayed on the current slice.
                z = planes.position(planes.image.getCurrentSlice())[1];
            }
            // The image's selection is on every channel, as one with an area is.
            c = "the selection".equals(source) ? 0 : c;
            points.add(new Point(places.xpoints[i], places.ypoints[i], c, z, t));
        }
        return points;
    }

    /** Returns the channel, slice and frame of a selection, 0 for all. */
    static int[] place(Roi roi, HyperStackSelection planes) {
        int[] place = MovedOverlay.position(planes, roi);
        boolean nowhere = place[0] == 0 && place[1] == 0 && place[2] == 0;
        int named = nowhere ? named(roi.getName()) : 0;
        boolean known = named > 0 && named <= planes.image.getStackSize();
        return known && planes.image.getStackSize() > 1 ? planes.position(named) : place;
    }

    /** Returns the stack index in a name that the ROI Manager gave, which its files rely on; else 0. */
    static int named(String name) {
        Matcher place = PLACE.matcher(name == null ? "" : name);
        return place.matches() ? Integer.parseInt(place.group(1)) : 0;
    }

    /**
     * Returns the spheres that intersect a plane, as the library takes them, relative to that plane.
     *
     * @param position channel, slice and frame
     * @param volume false: a point is a disc on its own slice
     * @param radii of the points; of those on other planes they are not used
     */
    static double[] spheres(List<Point> points, int[] position, boolean volume, double... radii) {
        double[] spheres = new double[points.size() * SPHERE_NUMBERS];
        int used = 0;
        for (int i = 0; i < radii.length; i++) {
            Point point = points.get(i);
            if (point.isOn(position, volume)) {
                spheres[used++] = point.x;
                spheres[used++] = point.y;
                spheres[used++] = volume ? point.z - position[1] : 0;
                spheres[used++] = radii[i];
            }
        }
        return Arrays.copyOf(spheres, used);
    }
}
