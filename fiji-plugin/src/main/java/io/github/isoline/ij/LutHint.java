package io.github.isoline.ij;

import ij.ImagePlus;
import java.util.List;

/** Sentences about images whose pixel values, which all commands take, are not the brightness that is seen. */
final class LutHint {
    private LutHint() {}

    /** Returns the sentence about 8-bit colours, for the log and for dialogs; null for another image. */
    static String palette(ImagePlus image) {
        return image.getType() == ImagePlus.COLOR_256
                ? "this is an 8-bit colour image: its pixel values are the numbers of the colours in its palette, not"
                        + " their brightness. Convert it with Image > Type > RGB Color, and take it as luminance"
                        + " (option luminance)."
                : null;
    }

    /** Adds what a dialog says of an image, if there is anything. */
    static void add(ImagePlus image, List<String> lines) {
        for (String attention : StackJob.said(palette(image), ShownValues.warning(image))) {
            lines.add(Host.wrap("Attention: " + attention));
        }
        if (image.isInvertedLut()) {
            lines.add("This image has an inverting LUT: its dark pixels have the high values.");
        }
    }
}
