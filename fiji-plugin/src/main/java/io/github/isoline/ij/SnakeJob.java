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
import java.awt.Color;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Computes the outlines of objects from an ImagePlus and the polygons to start from. */
final class SnakeJob extends StackJob<SnakeSettings> {
    /** The status of a target where all pixels are equal. */
    private static final String FLAT = "flat";

    /** The share of the node spacing below which an edge of a tracked polygon loses a node. */
    private static final double SHORT_EDGE = 1.0 / 4;

    /** The status of a target all pixels of which belong to others with smaller numbers. */
    private static final String HIDDEN = "hidden";

    /** The noise model for binary images. */
    private static final String BERNOULLI = "bernoulli";

    /** The most targets that a message names. */
    private static final int MOST_NAMED = 20;

    /**
     * The colours of outlines at the border of the image, of those that touch others and of those that reached their
     * window.
     */
    private static final Color AT_IMAGE = Color.GRAY;

    private static final Color OVERLAPPING = Color.YELLOW;

    private static final Color AT_WINDOW = Color.WHITE;

    private final SnakeStart start;
    /** The values that the table has: those that ImageJ shows. */
    private final ShownValues shownValues;

    private final VoxelSize size;

    private final SnakeTracks tracks;
    private Params params;
    private SnakeLabels labels;
    private int largest;
    private RunOverlay pictures;

    /** Holds true if no plane has a target. */
    private boolean isEmpty;

    /** Holds the last polygons of every plane, for the pictures. */
    private final Map<Integer, Polygons> shown = new HashMap<>();

    /** The targets of the plane that was computed last; null if it had none. */
    private List<SnakeTarget> drawn;

    /** The planes that the run did not reach before Escape. */
    private final Set<Integer> unreached = new TreeSet<>();

    /** Holds the targets that ended at the border of their window, for messages. */
    private final List<String> held = new ArrayList<>();

    /** Holds the targets that share pixels with others. */
    private final List<String> overlapping = new ArrayList<>();

    /** The number of rows that the results table had before. */
    private int rowsBefore;

    /** Holds the targets by the way in which they ended. */
    private final Map<String, List<String>> ends = new TreeMap<>();

    /** Holds the rows and selections in the order in which they were found. */
    private final List<Found> found = new ArrayList<>();

    SnakeJob(ImagePlus image, SnakeSettings settings) throws BadInput {
        super(image, settings);
        // The slices are processed one at a time: each is a search of its own.
        callBytes = 1;
        size = new VoxelSize(image, false);
        // The levels of a binary image are 0 and 1, whatever its pixel values.
        boolean binary = settings.is(SnakeSettings.NOISE, BERNOULLI);
        shownValues = binary ? ShownValues.STORED : ShownValues.of(image);
        // The start is fixed here: the user may draw another selection while the job waits or runs.
        start = new SnakeStart(planes, settings);
        tracks = new SnakeTracks(planes, start);
    }

    @Override
    void begin(Progress progress) throws IsolineException {
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
        isEmpty = most == 0;
        if (isEmpty && !start.isOfImage()) {
            throw new BadInput(
                    "There is nothing to start from: %s has no area %s.%s",
                    start.describe(), planes.looked(), start.elsewhere());
        }
        if (settings.is(SnakeSettings.LABEL_IMAGE)) {
            // The whole result is allocated now: running out of memory is better found before the work.
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
        List<SnakeTarget> targets = tracks.targets(settings.isCompeting(), part);
        if (stopped) {
            unreached.add(index);
            return null;
        }
        if (targets.isEmpty()) {
            tracks.keep(index, targets, targets);
            return null;
        }
        try (Snake snake = Snake.start(context, input, SnakeTarget.polygons(targets), params)) {
            search(snake, index, progress);
            TargetStatistics[] statistics = snake.statistics();
            int width = image.getWidth();
            int height = image.getHeight();
            boolean isSmooth = settings.is(SnakeSettings.SMOOTH);
            SnakePixels pixels = SnakePixels.of(context, snake, output, statistics, isSmooth, width, height);
            Polygons polygons = snake.polygons();
            SnakeCurves curves = null;
            if (isSmooth) {
                curves = new SnakeCurves(polygons, statistics, pixels, settings, width, height);
                if (output != null) {
                    pixels.write(output);
                }
            }
            take(index, targets, polygons, statistics, pixels, curves);
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
    private void take(
            int index,
            List<SnakeTarget> targets,
            Polygons polygons,
            TargetStatistics[] statistics,
            SnakePixels pixels,
            SnakeCurves curves)
            throws BadInput {
        List<SnakeTarget> on = new ArrayList<>();
        Object values = curves == null ? null : pixels(index);
        for (int i = 0; i < targets.size(); i++) {
            SnakeTarget target = targets.get(i);
            if (target.isRival) {
                continue;
            }
            int[] nodes = polygons.get(i);
            boolean there = statistics[i].isThere();
            String name = target.name(image, index);
            TargetStatistics told = statistics[i];
            SnakeShape shape = curves == null
                    ? null
                    : curves.shape(i, values, image.getWidth(), settings.is(SnakeSettings.NOISE, BERNOULLI), size);
            if (shape == null) {
                // A target that its neighbours limit is a part of its polygon.
                boolean isPart = there && settings.isCompeting() && SimplePolygon.pixels(nodes) > told.pixels();
                Roi whole = there ? polygon(nodes) : null;
                Roi roi = isPart ? pixels.outline(i + 1, SimplePolygon.bounds(nodes)) : whole;
                shape = new SnakeShape(roi, told, there ? SimplePolygon.perimeter(nodes, size.x, size.y) : 0);
            }
            if (there) {
                dress(shape.roi, target, name, index, told);
                tracks.addRival(index, target.rival(nodes));
            }
            boolean isHidden = there && pixels != null && pixels.isHidden(i + 1);
            String status = isHidden ? HIDDEN : status(told);
            found.add(new Found(index, target, name, shape.roi, row(index, target, name, told, shape, status)));
            String number = target.told(image, index);
            ends.computeIfAbsent(status, end -> new ArrayList<>()).add(number);
            if (there && told.touchesWindow()) {
                held.add(number);
            }
            if (there && told.overlaps() && !settings.isCompeting()) {
                overlapping.add(number);
            }
            if (there) {
                on.add(target.next(loosened(nodes), name, index));
            }
        }
        tracks.keep(index, targets, on);
    }

    /** A target on one plane: its selection, null if it is not there, and its row. */
    static final class Found {
        final int index;
        final int id;

        /** The plane of the outline that this one continues; 0 for none. */
        final int parentIndex;

        final String name;
        final Roi roi;
        final Consumer<ResultsTable> row;

        /** The number of its row among those of the run, from 1 on. */
        int number;

        Found(int index, SnakeTarget target, String name, Roi roi, Consumer<ResultsTable> row) {
            this.index = index;
            this.id = target.id;
            this.parentIndex = target.parentIndex;
            this.name = name;
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
            one.number = rows.size();
            if (one.roi != null) {
                rois.add(one.roi);
            }
        }
    }

    @Override
    void addRows(ResultsTable table) throws IsolineException {
        rowsBefore = table.size();
        super.addRows(table);
    }

    @Override
    void deliverOthers() throws IsolineException {
        super.deliverOthers();
        if (start.isTrack() && settings.is(SnakeSettings.LINKS)) {
            new SnakeLinks(planes, found).deliver(settings.workspace.links(), rowsBefore);
        }
    }

    private Consumer<ResultsTable> row(
            int index, SnakeTarget target, String name, TargetStatistics s, SnakeShape shape, String status) {
        return table -> {
            double area = shape.pixels * size.x * size.y;
            table.addValue("Target", target.id);
            table.addValue("Name", name);
            if (start.isTrack()) {
                table.addValue("Track", target.id);
                table.addValue("Parent", target.parent);
            }
            addPosition(table, planes, index, true);
            table.addValue("Area", area);
            double mean = shownValues.of(shape.mean);
            table.addValue("Mean", mean);
            table.addValue("IntDen", mean * area);
            table.addValue("RawIntDen", mean * shape.measured);
            ShapeColumns.add(table, image, shape.roi, shape.perimeter);
            table.addValue("SD inside", shownValues.difference(shape.deviation));
            table.addValue("Mean outside", shownValues.of(s.backgroundMean()));
            table.addValue("SD outside", shownValues.difference(s.backgroundDeviation()));
            table.addValue("Criterion", s.criterion());
            table.addValue("Nodes", s.nodes());
            table.addValue("Iterations", s.iterations());
            table.addValue("Overlaps", s.overlaps() ? 1 : 0);
            table.addValue("Touches image", s.touchesImage() ? 1 : 0);
            table.addValue("Touches window", s.touchesWindow() ? 1 : 0);
            table.addValue("Status", status);
            ShapeColumns.addUnit(table, image);
        };
    }

    @Override
    RowTable rowTable() {
        return start.isTrack()
                ? RowTable.of(Isoline.REGION_SNAKE.command, image, Collections.singletonList("Track"))
                : RowTable.of(Isoline.REGION_SNAKE.command, image, Collections.singletonList("Target"), "Track");
    }

    /** Returns the way in which the search ended. */
    private static String status(TargetStatistics s) {
        if (s.state() == TargetStatistics.State.RUNNING) {
            return "stopped";
        }
        boolean flat = s.isFlat() && s.state() == TargetStatistics.State.CONVERGED;
        return flat ? FLAT : s.state().toString();
    }

    /** Returns the start for the next slice: without nodes that came close to others on this one. */
    private int[] loosened(int[] nodes) {
        int[] fewer = NodeThinner.spread(nodes, settings.startSpacing() * SHORT_EDGE);
        return SimplePolygon.isSimple(fewer) ? fewer : nodes;
    }

    /** Returns a polygon as an area. */
    static Roi polygon(int... nodes) {
        int count = nodes.length / 2;
        int[] x = new int[count];
        int[] y = new int[count];
        for (int i = 0; i < count; i++) {
            x[i] = nodes[2 * i];
            y[i] = nodes[2 * i + 1];
        }
        return new PolygonRoi(x, y, count, Roi.POLYGON);
    }

    /** Gives a selection its name, position and colour. */
    private void dress(Roi roi, SnakeTarget target, String name, int index, TargetStatistics told) {
        Color colour = SegmentColours.of(target.id - 1);
        colour = told.touchesImage() ? AT_IMAGE : colour;
        colour = told.overlaps() ? OVERLAPPING : colour;
        RoiOutput.dress(roi, name, told.touchesWindow() ? AT_WINDOW : colour, settings.kind, planes, index);
    }

    @Override
    void take(PixelBuffer output, int slot, int place) {
        if (drawn != null) {
            labels.take(output, place, drawn);
        }
    }

    @Override
    ImagePlus end() {
        sort();
        if (labels == null) {
            return null;
        }
        ImagePlus made = labels.image();
        return finish(made, "\nIsoline targets: " + outcome() + (stopped ? " (stopped)" : ""));
    }

    @Override
    boolean keepsStopped() {
        return true;
    }

    @Override
    List<String> warnings() {
        List<String> said = new ArrayList<>();
        found.forEach(one -> unreached.remove(one.index));
        if (stopped) {
            said.add("stopped by Escape; the outputs show the state that was reached"
                    + (unreached.size() > 0
                            ? ", without " + RunLog.count(unreached.size(), "slice") + " that the run did not reach."
                            : "."));
        }
        warn(
                said,
                TargetStatistics.State.VANISHED.toString(),
                (count, names) -> String.format(
                        "%s vanished: nothing was found at the start%s The table says \"vanished\"; there is no "
                                + "outline, and no pixel has the %s.",
                        count, start.isTrack() ? ", and nothing tracked on." : ".", names));
        warn(
                said,
                HIDDEN,
                (count, names) -> String.format(
                        "%s hidden: no pixel has the %s, since all belong to targets with smaller numbers, too. The table "
                                + "says \"hidden\". Choose overlap=excluded, so that each pixel belongs to one target.",
                        count, names));
        warn(
                said,
                FLAT,
                (count, names) -> String.format(
                        "nothing to segment: all pixels of %s (%s) and of the background are equal. The table says "
                                + "\"flat\"; the outline is the start, with fewer nodes.",
                        count, names));
        warn(
                said,
                TargetStatistics.State.LEFT_IMAGE.toString(),
                (count, names) -> "outside the image: " + count.replace("target", "start") + "; there is no outline.");
        warn(
                said,
                TargetStatistics.State.ITERATION_LIMIT.toString(),
                (count, names) -> String.format(
                        "still moving after %s iterations: %s (%s). Raise max_iterations.",
                        Setting.shortest(settings.number(SnakeSettings.MAX_ITERATIONS)), count, names));
        if (!overlapping.isEmpty()) {
            said.add(String.format(
                    "%s %s pixels with others (%s; yellow; column \"Overlaps\"). In the label image the smallest number has "
                            + "them. Choose overlap=excluded, so that each pixel belongs to one target.",
                    RunLog.count(overlapping.size(), "target"),
                    overlapping.size() == 1 ? "shares" : "share",
                    numbers(overlapping)));
        }
        if (!held.isEmpty()) {
            said.add(String.format(
                    "%s reached the border of the window (%s; white; column \"Touches window\"): what is there may be larger, or nothing stood out. "
                            + "Draw starts that cover more of it, or raise margin.",
                    RunLog.count(held.size(), "target"), numbers(held)));
        }
        tracks.warn(said);
        if (isEmpty) {
            said.add(String.format(
                    "there is nothing to start from %s (%s), so that there is no target.",
                    planes.looked(), start.describe()));
        }
        if (start.note() != null) {
            said.add(start.note());
        }
        return said;
    }

    /** Adds what is said of the targets that ended in one way, if there are any. */
    private void warn(List<String> said, String status, BinaryOperator<String> text) {
        List<String> ended = ends.getOrDefault(status, Collections.emptyList());
        if (!ended.isEmpty()) {
            said.add(text.apply(RunLog.count(ended.size(), "target"), numbers(ended)));
        }
    }

    private static String numbers(List<String> targets) {
        String first = targets.stream().limit(MOST_NAMED).collect(Collectors.joining(", "));
        return (targets.size() == 1 ? "number " : "numbers ") + first + (targets.size() > MOST_NAMED ? ", ..." : "");
    }

    @Override
    String outcome() {
        StringBuilder text = new StringBuilder();
        int all = rows.size();
        text.append(RunLog.count(all, "target"));
        ends.forEach((status, ids) -> text.append(", ")
                .append(ids.size() == all ? "" : ids.size() + " ")
                .append(status));
        return text.toString();
    }
}
