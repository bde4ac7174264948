package io.github.isoline.ij;

import ij.ImagePlus;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntToDoubleFunction;

/** A label image, or a mask, whose objects region snakes start from. */
final class StartLabels {
    /** The largest label: up to it 32-bit pixels represent all whole numbers. */
    private static final int MOST_LABELS = 1 << 24;

    private final HyperStackSelection planes;
    private final ImagePlus labels;
    private final StartOutlines outlines;
    private final Set<String> notes;

    /** @param notes receives remarks about what was not used */
    StartLabels(HyperStackSelection planes, SnakeSettings settings, StartOutlines outlines, Set<String> notes)
            throws BadInput {
        this.planes = planes;
        this.outlines = outlines;
        this.notes = notes;
        labels = MaskChoice.find(
                planes.image,
                settings.workspace.images(),
                settings.text(SnakeSettings.START_IMAGE),
                true,
                "start image",
                SnakeSettings.START_IMAGE);
    }

    /** Returns the targets on a plane: the objects by their numbers, or the parts of a mask. */
    List<SnakeTarget> on(int index) throws BadInput {
        int[] values = values(labels, MaskChoice.at(labels, planes, index));
        boolean mask = isMask(labels, values);
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
        byId.forEach((id, part) -> found.add(SnakeStart.numbered(id, outlines.thin(part))));
        return found;
    }

    /** Returns true if pixels of 8 bits are 0 or 255, as in ImageJ's own masks: each connected part is an object. */
    static boolean isMask(ImagePlus labels, int... values) {
        if (labels.getBitDepth() != Byte.SIZE) {
            return false;
        }
        for (int value : values) {
            if (value != 0 && value != 0xff) {
                return false;
            }
        }
        return true;
    }

    /** Returns the labels on a plane of a label image, whose values must be labels. */
    static int[] values(ImagePlus labels, int at) throws BadInput {
        IntToDoubleFunction stored = Pixels.labels(labels, at);
        int[] values = new int[labels.getWidth() * labels.getHeight()];
        for (int i = 0; i < values.length; i++) {
            double value = stored.applyAsDouble(i);
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

    /** Returns the title, for the dialog. */
    String describe() {
        return "\"" + labels.getTitle() + "\"";
    }
}
