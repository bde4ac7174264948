package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polygons;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import io.github.isoline.Snake;
import io.github.isoline.TargetStatistics;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/** Computes the outlines of objects from an ImagePlus and the polygons to start from. */
final class SnakeJob extends StackJob<SnakeSettings> {
    /** The status of a target where all pixels are equal. */
    private static final String FLAT = "flat";

    /** The share of the node spacing below which an edge of a tracked polygon loses a node. */
    private static final double SHORT_EDGE = 1.0 / 4;

    /** The smallest margin of the library's windows around their start, in pixels on each side. */
    private static final int MIN_MARGIN = 16;

    private final SnakeStart start;
    /** The offset of pixel values as they are stored from those that ImageJ shows. */
    private final double offset;

    private final VoxelSize size;

    private final SnakeTracks tracks;
    private Params params;
    private SnakeLabels labels;
    private int largest;
    private RunOverlay pictures;

    /** Holds the last polygons of every plane, for the pictures. */
    private final Map<Integer, Polygons> shown = new HashMap<>();

    /** The targets of the plane that was computed last; null if it had none. */
    private List<SnakeTarget> drawn;

    /** The planes that the run did not reach before Escape. */
    private final Set<Integer> unreached = new TreeSet<>();

    /** The number of targets that ended at the border of their window. */
    private int held;

    /** Holds the number of targets by the way in which they ended. */
    private final Map<String, Integer> ends = new TreeMap<>();

    /** Holds the rows and selections in the order in which they were found. */
    private final List<Found> found = new ArrayList<>();

    SnakeJob(ImagePlus image, SnakeSettings settings) throws BadInput {
        // The slices are processed one at a time: each is a search of its own.
        super(image, settings, 1);
        size = new VoxelSize(image, false);
        // The levels of a binary image are 0 and 1, whatever its pixel values.
        boolean binary = settings.is(SnakeSettings.NOISE, "bernoulli");
        offset = binary ? 0 : rawThreshold(image, 0);
        // The start is fixed here: the user may draw another selection while the job waits or runs.
        start = new SnakeStart(planes, settings);
        tracks = new SnakeTracks(planes, start);
    }

    @Override
    void begin() throws BadInput, IsolineException {
        params = settings.toParams();
        int most = 0;
        for (int index : planes.indices()) {
            if (IJ.escapePressed()) {
                throw IsolineException.cancelled();
            }
            List<SnakeTarget> here = start.on(index);
            tracks.begin(index, here);
            most += here.size();
            for (SnakeTarget target : here) {
                largest = Math.max(largest, Math.max(target.id, here.size()));
            }
        }
        if (most == 0) {
            throw new BadInput(
                    "There is nothing to start from: %s has no area on the %s that %s looked at.",
                    start.describe(), planes.size() == 1 ? "slice" : "slices", planes.size() == 1 ? "is" : "are");
        }
        if (settings.is(SnakeSettings.LABEL_IMAGE)) {
            // The whole result is allocated now: running out of memory is better found before the
            // work.
            labels = new SnakeLabels(planes, largest);
        }
        boolean isShown = isWatched(settings.number(SnakeSettings.SHOW_EVERY));
        pictures = isShown ? new RunOverlay(image) : null;
    }

    @Override
    PixelBuffer.Type outputType() {
        return settings.is(SnakeSettings.LABEL_IMAGE) ? SnakeLabels.type(largest) : null;
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        int index = part[0];
        drawn = null;
        List<SnakeTarget> targets = tracks.targets(part);
        if (stopped) {
            unreached.add(index);
            return null;
        }
        if (targets.isEmpty()) {
            tracks.keep(index, targets, targets);
            return null;
        }
        int[][] nodes = new int[targets.size()][];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = targets.get(i).nodes;
        }
        params.set(SnakeSettings.LARGEST_STEP, settings.largestStep(targets));
        try (Snake snake = Snake.start(context, input, Polygons.of(nodes), params)) {
            search(snake, index, progress);
            take(index, targets, snake.polygons(), snake.statistics());
            if (output != null) {
                snake.drawLabels(output);
            }
            drawn = targets;
            return snake.report();
        }
    }

    @Override
    List<int[]> parts() {
        return tracks.order(super.parts());
    }

    /** Iterates until all targets have ended, or the user presses Escape. */
    private void search(Snake snake, int index, Progress progress) throws IsolineException {
        long step = pictures == null ? Long.MAX_VALUE : (long) settings.number(SnakeSettings.SHOW_EVERY);
        int all = snake.count();
        double[] ended = {0};
        while (!stopped && !snake.isEnded()) {
            if (pictures != null && pictures.isDue()) {
                show(index, snake.polygons());
                ended[0] = ended(snake);
            }
            // The library counts the targets that have finished this step.
            step(snake, step, (fraction, stage) -> {
                double now = pictures == null ? fraction * all : snake.isEnded() ? all : ended[0];
                return progress == null || progress.step(now / all, (int) now + " of " + all + " targets at rest");
            });
        }
        if (pictures != null) {
            show(index, snake.polygons());
        }
    }

    /** Draws the last polygons of the slice that is shown. */
    private void show(int index, Polygons polygons) {
        shown.put(index, polygons);
        if (pictures.isDue()) {
            int here = image.getCurrentSlice();
            Polygons last = shown.get(here);
            boolean none = last == null || last.count() == 0;
            pictures.show(none ? null : GuestOverlay.element(Outline.of(last), "Isoline snake", planes, here));
        }
    }

    private static int ended(Snake snake) throws IsolineException {
        int ended = 0;
        for (TargetStatistics target : snake.statistics()) {
            ended += target.state() == TargetStatistics.State.RUNNING ? 0 : 1;
        }
        return ended;
    }

    @Override
    void release() {
        if (pictures != null) {
            pictures.close();
        }
    }

    /** Keeps the targets of a plane, and those that continue on the next one. */
    private void take(int index, List<SnakeTarget> targets, Polygons polygons, TargetStatistics[] statistics) {
        List<SnakeTarget> on = new ArrayList<>();
        for (int i = 0; i < targets.size(); i++) {
            SnakeTarget target = targets.get(i);
            int[] nodes = polygons.get(i);
            boolean there = statistics[i].isThere();
            String name = target.name(image, index);
            Roi roi = there ? roi(nodes, target, name, index) : null;
            double perimeter = there ? SimplePolygon.perimeter(nodes, size.x, size.y) : 0;
            found.add(new Found(index, target, roi, row(index, target, name, statistics[i], roi, perimeter)));
            if (there && settings.isWindow() && isHeld(target.nodes, nodes)) {
                held++;
            }
            if (there) {
                on.add(target.next(loosened(nodes), name));
            }
        }
        tracks.keep(index, targets, on);
    }

    /** A target on one plane: its selection, null if it is not there, and its row. */
    private static final class Found {
        final int index;
        final int id;
        final Roi roi;
        final Consumer<ResultsTable> row;

        Found(int index, SnakeTarget target, Roi roi, Consumer<ResultsTable> row) {
            this.index = index;
            this.id = target.id;
            this.roi = roi;
            this.row = row;
        }
    }

    /** Makes rows and selections of what was found, plane by plane. */
    private void sort() {
        Comparator<Found> byPlane = Comparator.comparingInt(f -> f.index);
        found.sort(byPlane.thenComparingInt(f -> f.id));
        for (Found one : found) {
            rows.add(one.row);
            if (one.roi != null) {
                rois.add(one.roi);
            }
        }
    }

    private Consumer<ResultsTable> row(
            int index, SnakeTarget target, String name, TargetStatistics s, Roi roi, double perimeter) {
        String status = status(s);
        ends.merge(status, 1, Integer::sum);
        return table -> {
            double area = s.pixels() * size.x * size.y;
            table.addValue("Target", target.id);
            table.addValue("Name", name);
            if (start.isTrack()) {
                table.addValue("Track", target.id);
                table.addValue("Parent", target.parent);
            }
            addPosition(table, planes, index, true);
            table.addValue("Area", area);
            table.addValue("Mean", s.mean() - offset);
            table.addValue("IntDen", (s.mean() - offset) * area);
            table.addValue("RawIntDen", s.mean() * s.pixels());
            if (roi != null) {
                ShapeColumns.add(table, image, roi, perimeter);
            }
            table.addValue("SD inside", s.deviation());
            table.addValue("Mean outside", s.backgroundMean() - offset);
            table.addValue("SD outside", s.backgroundDeviation());
            table.addValue("Criterion", s.criterion());
            table.addValue("Nodes", s.nodes());
            table.addValue("Iterations", s.iterations());
            table.addValue("Status", status);
            ShapeColumns.addUnit(table, image);
        };
    }

    @Override
    RowTable rowTable() {
        return start.isTrack()
                ? RowTable.of(SnakePlugin.COMMAND, "Track", null, image)
                : RowTable.of(SnakePlugin.COMMAND, "Target", "Track", image);
    }

    /** Returns the way in which the search ended. */
    private static String status(TargetStatistics s) {
        if (s.state() == TargetStatistics.State.RUNNING) {
            return "stopped";
        }
        // If all pixels of target and background are equal, no outline is better than another.
        boolean spread = s.deviation() > 0 || s.backgroundDeviation() > 0;
        boolean flat = !spread && !(Math.abs(s.mean() - s.backgroundMean()) > 0);
        return flat && s.state() == TargetStatistics.State.CONVERGED
                ? FLAT
                : s.state().toString();
    }

    /** Returns true if a target reached the border of its window inside the image. */
    private boolean isHeld(int[] from, int[] to) {
        Rectangle start = SimplePolygon.bounds(from);
        Rectangle end = SimplePolygon.bounds(to);
        // This is the library's window around a start that was clipped to the image.
        start = start.intersection(new Rectangle(image.getWidth(), image.getHeight()));
        int longer = Math.max(start.width, start.height);
        int room = (int) Math.max(MIN_MARGIN, Math.ceil(settings.number(SnakeSettings.MARGIN) * longer));
        start.grow(room, room);
        return end.x == start.x && start.x > 0
                || end.y == start.y && start.y > 0
                || end.x + end.width == start.x + start.width && end.x + end.width < image.getWidth()
                || end.y + end.height == start.y + start.height && end.y + end.height < image.getHeight();
    }

    /** Returns the start for the next slice: without nodes that came close to others on this one. */
    private int[] loosened(int[] nodes) {
        int[] fewer = NodeThinner.spread(nodes, settings.number(SnakeSettings.NODE_SPACING) * SHORT_EDGE);
        return SimplePolygon.isSimple(fewer) ? fewer : nodes;
    }

    private Roi roi(int[] nodes, SnakeTarget target, String name, int index) {
        int count = nodes.length / 2;
        int[] x = new int[count];
        int[] y = new int[count];
        for (int i = 0; i < count; i++) {
            x[i] = nodes[2 * i];
            y[i] = nodes[2 * i + 1];
        }
        Roi roi = new PolygonRoi(x, y, count, Roi.POLYGON);
        roi.setName(name);
        roi.setStrokeColor(SegmentColours.of(target.id - 1));
        roi.setProperty(SegmentRois.PROPERTY, SnakeStart.KIND);
        ResultImage.setPosition(roi, image, planes.position(index));
        return roi;
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        if (drawn != null) {
            labels.take(output, place, drawn);
        }
    }

    @Override
    ImagePlus end(Progress progress) {
        sort();
        if (labels == null) {
            return null;
        }
        ImagePlus made = labels.image();
        return finish(made, "\nIsoline targets: " + outcome() + (stopped ? " (stopped)" : ""));
    }

    @Override
    String escapeHint() {
        return "stop and keep the result";
    }

    @Override
    List<String> warnings() {
        List<String> said = new ArrayList<>();
        found.forEach(one -> unreached.remove(one.index));
        if (stopped) {
            said.add("stopped by Escape; the outputs show the state that was reached"
                    + (unreached.size() > 0
                            ? ", without " + count(unreached.size(), "slice") + " that the run did not reach."
                            : "."));
        }
        int vanished = ends.getOrDefault(TargetStatistics.State.VANISHED.toString(), 0);
        if (vanished > 0) {
            said.add(String.format(
                    "%s vanished: nothing was found at the start%s The table says \"vanished\"; there is no "
                            + "outline.",
                    count(vanished, "target"), start.isTrack() ? ", and nothing tracked on." : "."));
        }
        int flat = ends.getOrDefault(FLAT, 0);
        if (flat > 0) {
            said.add(String.format(
                    "nothing to segment: all pixels of %s and of the background are equal. The table says "
                            + "\"flat\"; the outline is still the start.",
                    count(flat, "target")));
        }
        int outside = ends.getOrDefault(TargetStatistics.State.LEFT_IMAGE.toString(), 0);
        if (outside > 0) {
            said.add("outside the image: " + count(outside, "start") + "; there is no outline.");
        }
        int limit = ends.getOrDefault(TargetStatistics.State.ITERATION_LIMIT.toString(), 0);
        if (limit > 0) {
            said.add(String.format(
                    "still moving after %s iterations: %s. Raise max_iterations.",
                    Setting.shortest(settings.number(SnakeSettings.MAX_ITERATIONS)), count(limit, "target")));
        }
        if (held > 0) {
            said.add(String.format(
                    "%s reached the border of the window: what is there may be larger, or nothing stood out. "
                            + "Draw starts that cover more of it, or raise margin.",
                    count(held, "target")));
        }
        tracks.warn(said);
        if (start.note() != null) {
            said.add(start.note());
        }
        return said;
    }

    private static String count(int number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }

    @Override
    String outcome() {
        StringBuilder text = new StringBuilder();
        int all = rows.size();
        text.append(count(all, "target"));
        ends.forEach((status, count) ->
                text.append(", ").append(count == all ? "" : count + " ").append(status));
        return text.toString();
    }
}
