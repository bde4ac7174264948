package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.LibraryLog;
import io.github.isoline.Progress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The warnings that the library logs during a run, such as that it goes on in a temporary file because memory is short.
 * Those with the same words but other numbers, such as one for each part of a stack, count once.
 */
final class LibraryWarnings {
    /** The most lines in the log with the same words: there may be one for each of thousands of images. */
    private static final int MOST_LINES = 10;

    private static final Map<String, Integer> LINES = new HashMap<>();

    private final Set<String> known = new HashSet<>();
    private final List<String> kept = new ArrayList<>();
    private Consumer<String> taker = kept::add;

    /** Returns the warnings of the run until now that are not logged. */
    List<String> kept() {
        take();
        return kept;
    }

    /** Makes warnings lines of ImageJ's log, as soon as they come. */
    void log(String command, ImagePlus image) {
        taker = text -> {
            int lines;
            synchronized (LINES) {
                lines = LINES.merge(words(text), 1, Integer::sum);
            }
            if (lines <= MOST_LINES) {
                RunLog.warn(command, image, text + (lines < MOST_LINES ? "" : " (Later ones like this are left out.)"));
            }
        };
    }

    /** Takes the warnings that have come until now. Of commands that compute at the same time any may take one. */
    void take() {
        for (String text : LibraryLog.take()) {
            if (known.add(words(text))) {
                taker.accept(text);
            }
        }
    }

    /** Returns the same progress, which may be null, but each of its steps takes warnings, too. */
    Progress taking(Progress progress) {
        return progress == null
                ? null
                : (fraction, stage) -> {
                    take();
                    return progress.step(fraction, stage);
                };
    }

    private static String words(String text) {
        return text.replaceAll("[0-9.]+", "");
    }
}
