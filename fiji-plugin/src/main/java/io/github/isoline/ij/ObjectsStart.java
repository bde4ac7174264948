package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** The start of the objects of an image: the labels of another image, or selections. */
final class ObjectsStart {
    /** The most labels that a 16-bit image holds. */
    private static final int MOST_SHORT = 0xffff;

    private final HyperStackSelection planes;
    private final ImagePlus labels;
    private final StartRois rois;

    private ObjectsStart(HyperStackSelection planes, ImagePlus labels, StartRois rois) {
        this.planes = planes;
        this.labels = labels;
        this.rois = rois;
    }

    /**
     * Reads the start.
     *
     * @return null if starts are to be detected
     * @throws BadInput if there is nothing to start from, with what to do about it
     */
    static ObjectsStart of(HyperStackSelection planes, ObjectsSettings settings) throws BadInput {
        if (settings.is(Settings.START, ObjectsSettings.DETECT)) {
            return null;
        }
        if (settings.startsFromRois()) {
            return new ObjectsStart(planes, null, new StartRois(planes, settings));
        }
        ImagePlus labels = MaskChoice.find(
                planes.image,
                settings.workspace.images(),
                settings.text(ObjectsSettings.START_IMAGE),
                !settings.isVolume(),
                "start image",
                ObjectsSettings.START_IMAGE);
        return new ObjectsStart(planes, labels, null);
    }

    /** Returns the smallest type that holds all labels. */
    PixelBuffer.Type outputType() {
        boolean large = labels == null ? rois.count() > MOST_SHORT : Pixels.type(labels) == PixelBuffer.Type.F32;
        return large ? PixelBuffer.Type.F32 : PixelBuffer.Type.U16;
    }

    /** Returns the labels on some planes, as one volume; null if there is none. */
    PixelBuffer labels(Context context, int... part) throws IsolineException {
        PixelBuffer.Type type = labels == null ? PixelBuffer.Type.F32 : outputType();
        int[][] particles = labels == null ? null : particles(part);
        PixelBuffer buffer = Pixels.buffer(context, type, planes.image, part.length);
        boolean any = false;
        boolean full = false;
        try {
            for (int i = 0; i < part.length; i++) {
                if (labels == null) {
                    float[] plane = new float[planes.image.getWidth() * planes.image.getHeight()];
                    any |= rois.draw(part[i], plane);
                    buffer.write(i, plane);
                } else {
                    int[] values = particles == null ? values(part[i]) : particles[i];
                    any |= IntStream.of(values).anyMatch(value -> value != 0);
                    buffer.write(i, SnakeLabels.pixels(type, values));
                }
            }
            full = any;
        } finally {
            if (!full) {
                buffer.close();
            }
        }
        return full ? buffer : null;
    }

    private int[] values(int index) throws BadInput {
        return StartLabels.values(labels, MaskChoice.at(labels, planes, index));
    }

    /** Returns the labels of the particles of a mask on some planes, as one volume; null for an image of labels. */
    private int[][] particles(int... part) throws BadInput {
        byte[][] masks = new byte[part.length][];
        for (int i = 0; i < part.length; i++) {
            if (!StartLabels.isMask(labels, values(part[i]))) {
                return null;
            }
            masks[i] = (byte[]) Pixels.of(labels, MaskChoice.at(labels, planes, part[i]));
        }
        MaskObjects found = new MaskObjects(masks, planes.image.getWidth());
        if (found.count > MOST_SHORT) {
            throw new BadInput(
                    "The mask \"%s\" has %s particles, but objects of a mask have the labels 1 to %s. Make a label image"
                            + " of 32 bits of it, and start from that.",
                    labels.getTitle(), found.count, MOST_SHORT);
        }
        return found.labels;
    }

    /** Returns true if the starts are the labels of an image, which may have none. */
    boolean isOfImage() {
        return labels != null;
    }

    /** Returns what there is where there is no start. */
    String missing() {
        return labels == null
                ? "no area or point is within the image " + planes.looked() + "." + rois.elsewhere()
                : "the start image \"" + labels.getTitle() + "\" is 0 " + planes.looked() + ".";
    }

    /** Returns warnings about starts that have no object. */
    List<String> warnings() {
        return rois == null ? Collections.emptyList() : rois.warnings();
    }
}
