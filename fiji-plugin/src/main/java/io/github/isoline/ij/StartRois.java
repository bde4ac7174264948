package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.process.ImageProcessor;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Selections that objects grow from: each area, each part of the image's own selection, and a ball around each point.
 * They have the labels 1, 2, ... in their order. Selections are copied when it is made, so that the user may draw on
 * while it is used.
 */
final class StartRois {
    /** The automatic radius in pixels: curvature hardly moves the front of such a ball. */
    private static final int AUTOMATIC_RADIUS = 3;

    /** The most names in a warning. */
    private static final int NAMES = 5;

    private final HyperStackSelection planes;
    private final VoxelSize voxel;
    private final boolean volume;
    private final double radius;
    private final List<Start> starts = new ArrayList<>();

    /** A remark on selections that are no starts; null for none. */
    private String skipped;

    private final String idleRadius;

    /** An area, or a point. */
    private static final class Start {
        String name;
        Roi area;
        StartPoints.Point point;

        /** Holds the channel, slice and frame; 0 for all, as the slice of a point in a volume. */
        int[] place;

        boolean isWanted;
        boolean isDrawn;
    }

    /**
     * Reads the selections.
     *
     * @throws BadInput if there is nothing to start from, with what to do about it
     */
    StartRois(HyperStackSelection planes, ObjectsSettings settings) throws BadInput {
        this.planes = planes;
        volume = settings.isVolume();
        voxel = new VoxelSize(planes.image, volume);
        radius = settings.isAutomatic(ObjectsSettings.RADIUS)
                ? AUTOMATIC_RADIUS * voxel.x
                : settings.number(ObjectsSettings.RADIUS);
        if (settings.is(Settings.START, ObjectsSettings.ROI)) {
            Roi selection = SnakeStart.areaOrPoints(planes.image);
            for (Roi part : parts(selection)) {
                add(part, selection, "the selection");
            }
        } else {
            RoiFile.Starts given = new RoiFile.Starts(settings);
            skipped = given.skipped;
            for (Roi roi : given.rois) {
                add((Roi) roi.clone(), roi, given.source);
            }
        }
        idleRadius = settings.idleRadius(starts.stream().anyMatch(start -> start.point != null));
    }

    /** Returns the parts of a composite selection, which are connected by sides; others are one part. */
    private static Collection<Roi> parts(Roi selection) {
        ImageProcessor mask = selection.getMask();
        if (selection.getType() != Roi.COMPOSITE || mask == null) {
            return Collections.singletonList(selection);
        }
        Rectangle box = selection.getBounds();
        MaskObjects objects = new MaskObjects(new byte[][] {(byte[]) mask.getPixels()}, box.width);
        Collection<Roi> parts =
                MaskObjects.outlines(objects.labels[0], box.width).values();
        parts.forEach(part -> part.setLocation(box.x + part.getBounds().x, box.y + part.getBounds().y));
        return parts;
    }

    /** Adds the starts of a selection, which has its place from the whole that it belongs to. */
    private void add(Roi roi, Roi whole, String source) throws BadInput {
        List<StartPoints.Point> points = roi instanceof PointRoi
                ? StartPoints.of((PointRoi) roi, planes, volume, source)
                : Collections.singletonList(null);
        for (StartPoints.Point point : points) {
            Start start = new Start();
            start.point = point;
            start.area = roi;
            start.name = roi.getName() == null ? "start " + (starts.size() + 1) : roi.getName();
            start.place = point == null
                    ? StartPoints.place(whole, planes)
                    : new int[] {point.c, volume ? 0 : point.z, point.t};
            if ("the selection".equals(source)) {
                start.place[0] = 0;
                if (point == null && volume && start.place[1] == 0) {
                    // A selection is displayed on every slice, but was drawn on the current one.
                    start.place[1] = planes.position(planes.image.getCurrentSlice())[1];
                }
            }
            starts.add(start);
        }
    }

    int count() {
        return starts.size();
    }

    /** Draws the labels of a plane, where there is none; returns true if there was any pixel to draw. */
    boolean draw(int index, float... labels) {
        int[] position = planes.position(index);
        boolean any = false;
        for (int i = 0; i < starts.size(); i++) {
            Start start = starts.get(i);
            if (!HyperStackSelection.covers(start.place, position)) {
                continue;
            }
            start.isWanted = true;
            boolean drawn =
                    start.point == null ? drawArea(start, i + 1, labels) : drawBall(start, position, i + 1, labels);
            start.isDrawn |= drawn;
            any |= drawn;
        }
        return any;
    }

    /** Returns where starts lie that are on none of the planes, and what to do; "" if some are. */
    String elsewhere() {
        return planes.elsewhere(starts.stream().map(start -> start.place).collect(Collectors.toList()));
    }

    private boolean drawArea(Start start, int label, float... labels) {
        Rectangle all = new Rectangle(planes.image.getWidth(), planes.image.getHeight());
        boolean[] drawn = {false};
        new AreaPixels(start.area).forEach((x, y) -> {
            if (all.contains(x, y) && labels[y * all.width + x] == 0) {
                labels[y * all.width + x] = label;
                drawn[0] = true;
            }
        });
        return drawn[0];
    }

    private boolean drawBall(Start start, int[] position, int label, float... labels) {
        StartPoints.Point point = start.point;
        double dz = volume ? (position[1] - point.z) * voxel.z : 0;
        if (Math.abs(dz) > radius) {
            return false;
        }
        ImagePlus image = planes.image;
        boolean drawn = false;
        int last = (int) Math.min(image.getHeight() - 1, Math.floor(point.y + radius / voxel.y));
        for (int y = (int) Math.max(0, Math.ceil(point.y - radius / voxel.y)); y <= last; y++) {
            double dy = (y - point.y) * voxel.y;
            double half = Math.sqrt(Math.max(0, radius * radius - dz * dz - dy * dy)) / voxel.x;
            int end = (int) Math.min(image.getWidth() - 1, Math.floor(point.x + half));
            for (int x = (int) Math.max(0, Math.ceil(point.x - half)); x <= end; x++) {
                if (labels[y * image.getWidth() + x] == 0) {
                    labels[y * image.getWidth() + x] = label;
                    drawn = true;
                }
            }
        }
        return drawn;
    }

    /**
     * Returns warnings about selections that are no starts, and starts that had no pixel on any of the planes drawn.
     */
    List<String> warnings() {
        return StackJob.said(
                skipped == null ? null : skipped + ".", idleRadius == null ? null : idleRadius + ".", lost());
    }

    private String lost() {
        List<String> lost = new ArrayList<>();
        for (Start start : starts) {
            if (start.isWanted && !start.isDrawn) {
                lost.add("\"" + start.name + "\"");
            }
        }
        if (lost.isEmpty()) {
            return null;
        }
        String names = String.join(", ", lost.subList(0, Math.min(NAMES, lost.size())));
        return RunLog.count(lost.size(), "start") + " had no pixel of " + (lost.size() == 1 ? "its" : "their")
                + " own, and so no object: " + names + (lost.size() > NAMES ? ", ..." : "")
                + ". They are outside the image, or earlier starts cover them.";
    }
}
