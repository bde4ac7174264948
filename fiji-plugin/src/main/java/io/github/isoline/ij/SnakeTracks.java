package io.github.isoline.ij;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The targets of each plane: those that start there and, where they are tracked, those that continue from a
 * neighbouring plane. Tracks go in a first pass from their starts to the last plane, and in a second one back to the
 * first plane. Independent planes have the first pass alone.
 */
final class SnakeTracks {
    private final HyperStackSelection planes;
    private final SnakeStart start;

    /** Holds the targets that start on each plane. */
    private final Map<Integer, List<SnakeTarget>> starts = new HashMap<>();

    /** Holds for each track the targets that continue on its next plane in the direction of the pass. */
    private final Map<String, List<SnakeTarget>> next = new HashMap<>();

    /** Holds the targets that continue backwards from the plane on which they started. */
    private final Map<Integer, List<SnakeTarget>> begun = new HashMap<>();

    /** Holds the outlines that the first pass found on each plane. */
    private final Map<Integer, List<SnakeTarget>> rivals = new HashMap<>();

    private boolean backwards;

    /** The first plane of the second pass, as the job takes it; null if there is no second pass. */
    private int[] turn;

    /** The plane after which no target was left to track, and before which; 0 if there was always one. */
    private int lostAfter;

    private int lostBefore;

    SnakeTracks(HyperStackSelection planes, SnakeStart start) {
        this.planes = planes;
        this.start = start;
    }

    /** Sets the targets that start on a plane. */
    void begin(int index, List<SnakeTarget> targets) {
        starts.put(index, targets);
    }

    /** Returns the planes in the order of the search; some come twice. */
    List<int[]> order(List<int[]> forwards) {
        List<int[]> order = new ArrayList<>(forwards);
        int last = 0;
        for (int i = 0; start.isTrack() && i < forwards.size(); i++) {
            last = starts.get(forwards.get(i)[0]).isEmpty() ? last : i;
        }
        for (int i = last; last > 0 && i >= 0; i--) {
            int[] again = forwards.get(i).clone();
            turn = i == last ? again : turn;
            order.add(again);
        }
        return order;
    }

    /** Adds an outline of the first pass, from which targets that compete in the second one must not take pixels. */
    void addRival(int index, SnakeTarget found) {
        if (start.isTrack() && !backwards) {
            rivals.computeIfAbsent(index, plane -> new ArrayList<>()).add(found);
        }
    }

    /**
     * Returns the targets of a plane, which comes in the order of the search.
     *
     * @param compete true if rivals, too, which come first: the pixels that several starts have are theirs
     */
    List<SnakeTarget> targets(boolean compete, int... part) {
        if (part == turn) {
            backwards = true;
            next.clear();
        }
        List<SnakeTarget> targets = new ArrayList<>();
        if (start.isTrack()) {
            targets.addAll(next.getOrDefault(start.track(part[0]), Collections.emptyList()));
        }
        if (backwards && compete && !targets.isEmpty()) {
            targets.addAll(0, rivals.getOrDefault(part[0], Collections.emptyList()));
        }
        if (!backwards) {
            targets.addAll(starts.get(part[0]));
        }
        return targets;
    }

    /** Keeps those of the targets tried on this plane that were found, for the next plane of the pass. */
    void keep(int index, List<SnakeTarget> tried, List<SnakeTarget> found) {
        if (!start.isTrack()) {
            return;
        }
        List<SnakeTarget> on = new ArrayList<>(found);
        if (backwards) {
            on.addAll(begun.getOrDefault(index, Collections.emptyList()));
        } else {
            begun.put(index, new ArrayList<>(found));
            begun.get(index).removeIf(target -> !isIn(starts.get(index), target));
        }
        next.put(start.track(index), on);
        if (!tried.isEmpty() && on.isEmpty() && start.hasNext(index, backwards)) {
            lostAfter = lostAfter == 0 && !backwards ? index : lostAfter;
            lostBefore = lostBefore == 0 && backwards ? index : lostBefore;
        }
    }

    private static boolean isIn(List<SnakeTarget> targets, SnakeTarget one) {
        return targets.stream().anyMatch(target -> target.id == one.id);
    }

    /** Adds a sentence for the log if there was nothing left to track. */
    void warn(List<String> warnings) {
        if (lostAfter > 0) {
            warnings.add("after " + planes.name(lostAfter)
                    + " nothing was left to track, unless other targets start later.");
        }
        if (lostBefore > 0) {
            warnings.add("before " + planes.name(lostBefore)
                    + " nothing was left to track, unless other targets start earlier.");
        }
    }
}
