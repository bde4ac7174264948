package io.github.isoline.ij;

import ij.ImagePlus;
import ij.io.Opener;
import ij.measure.Calibration;
import ij.plugin.PlugIn;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;

/**
 * Plugins > Isoline > Sample images: opens an image of the jar. Image > Show Info says what it is, where it comes from
 * and its licence, as the file README.md beside it does.
 */
public final class SampleImage implements PlugIn {
    private static final String FOLDER = "samples/";
    private static final Pattern PIXEL = Pattern.compile("([0-9.]+) \u00b5m per pixel");

    @Override
    public void run(String file) {
        Host.guard("Sample image", () -> open(file).show());
    }

    /** Returns an image of the jar. */
    static ImagePlus open(String file) throws BadInput {
        ImagePlus image = decoded(file);
        String info = provenance(Resource.text(FOLDER + "README.md"), file);
        image.setProperty("Info", info);
        Matcher pixel = PIXEL.matcher(info);
        if (pixel.find()) {
            Calibration calibration = image.getCalibration();
            calibration.pixelWidth = Double.parseDouble(pixel.group(1));
            calibration.pixelHeight = calibration.pixelWidth;
            calibration.setUnit("\u00b5m");
        }
        return image;
    }

    private static ImagePlus decoded(String file) throws BadInput {
        ByteArrayInputStream in = new ByteArrayInputStream(Resource.bytes(FOLDER + file));
        if (file.endsWith(".tif")) {
            return new Opener().openTiff(in, file);
        }
        try {
            return new ImagePlus(file, ImageIO.read(in));
        } catch (IOException e) {
            throw new BadInput("The sample image %s cannot be read: %s", file, e.getMessage());
        }
    }

    /** Returns a file's row in the table of README.md as lines, with the notice that the row may refer to. */
    private static String provenance(String readme, String file) {
        String name = file.replace(".png", "");
        StringBuilder notice = new StringBuilder();
        String[] row = {};
        for (String line : readme.split("\r?\n")) {
            if (line.startsWith("| `" + name + "` |")) {
                row = line.replace("`", "").split(" *\\| *");
            } else if (line.startsWith("> ")) {
                notice.append(line.substring(2)).append('\n');
            }
        }
        String text = file + ": " + row[2] + "\nSource: " + row[4] + "\nLicence: " + row[5] + "\n";
        return row[5].equals("notice below") ? text + notice : text;
    }
}
