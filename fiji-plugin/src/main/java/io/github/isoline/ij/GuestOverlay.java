package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Overlay;
import ij.gui.Roi;
import java.awt.Color;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * Shows temporary elements among those of an image's overlay. The overlay itself is unchanged and is restored
 * afterwards. Only the event thread may use it.
 */
final class GuestOverlay {
    private static final String PROPERTY = "isoline-guest";

    private static final Color START = new Color(0x20e0ff);
    private static final double START_WIDTH = 1.5;

    private final ImagePlus image;
    private Overlay own;
    private boolean ownHidden;
    private Overlay shown;
    private Set<Roi> known;

    GuestOverlay(ImagePlus image) {
        this.image = image;
    }

    /** Returns true for a temporary element. */
    static boolean isGuest(Roi roi) {
        return roi.getProperty(PROPERTY) != null;
    }

    /** Makes a selection an element for one plane, which has no label and is not saved with the image. */
    static Roi element(Roi roi, String name, HyperStackSelection planes, int index) {
        roi.setName(name);
        roi.setIsCursor(true);
        ResultImage.setPosition(roi, planes.image, planes.position(index));
        return roi;
    }

    /** Gives the outline of a start its colour. */
    static Roi start(Roi outline) {
        outline.setStrokeColor(START);
        outline.setStrokeWidth(START_WIDTH);
        return outline;
    }

    /** Shows these elements instead of those shown before. */
    void show(Roi... guests) {
        if (shown == null) {
            own = image.getOverlay();
            ownHidden = image.getHideOverlay();
            // Elements that the user has hidden stay hidden.
            shown = own == null || ownHidden ? new Overlay() : own.duplicate();
            shown.selectable(false);
            known = Collections.newSetFromMap(new IdentityHashMap<>());
            known.addAll(Arrays.asList(shown.toArray()));
            addAll(guests);
            image.setOverlay(shown);
        } else {
            removeGuests(shown);
            addAll(guests);
        }
        image.draw();
    }

    private void addAll(Roi... guests) {
        for (Roi guest : guests) {
            guest.setProperty(PROPERTY, "1");
            shown.add(guest);
        }
    }

    private static void removeGuests(Overlay overlay) {
        for (Roi element : overlay.toArray()) {
            if (isGuest(element)) {
                overlay.remove(element);
            }
        }
    }

    /** Restores the image's overlay, with the elements that were added to it in the meantime. */
    void restore() {
        if (shown == null) {
            return;
        }
        if (image.getOverlay() == shown) {
            for (Roi added : shown.toArray()) {
                if (!known.contains(added) && !isGuest(added)) {
                    own = own == null ? new Overlay() : own;
                    own.add(added);
                }
            }
            image.setOverlay(own);
            image.setHideOverlay(ownHidden);
        } else if (image.getOverlay() != null) {
            // The image has another overlay now, which must not be replaced.
            removeGuests(image.getOverlay());
        }
        shown = null;
        own = null;
        known = null;
    }
}
