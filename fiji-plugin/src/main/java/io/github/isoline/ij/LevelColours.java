package io.github.isoline.ij;

import io.github.isoline.Polylines;
import java.awt.Color;

/** The colours of levels: from blue, the lowest of the curves, over green to red, the highest; one alone is yellow. */
final class LevelColours {
    /** The hue of the lowest level; that of the highest is 0, red. */
    private static final float BLUE = 2 / 3f;

    private double low = Double.POSITIVE_INFINITY;
    private double high = Double.NEGATIVE_INFINITY;

    /** Extends the range of the levels by those of some curves. */
    void add(Polylines curves) {
        for (int i = 0; i < curves.count(); i++) {
            low = Math.min(low, curves.level(i));
            high = Math.max(high, curves.level(i));
        }
    }

    Color of(double level) {
        return low < high ? Color.getHSBColor(BLUE * (float) ((high - level) / (high - low)), 1, 1) : Color.YELLOW;
    }
}
