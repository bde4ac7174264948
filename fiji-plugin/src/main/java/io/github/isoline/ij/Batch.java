package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.io.FileInfo;
import ij.io.Opener;
import ij.io.TiffDecoder;
import java.io.File;
import java.io.IOException;

/** Opens images and runs commands for macros that go on with the next file after a failure. */
public final class Batch {
    private static final int BITS_OF_BYTE = 8;

    private Batch() {}

    /**
     * Opens an image, which becomes the current one. At some damaged files ImageJ's own {@code open} ends the macro,
     * and of others it opens what is left without a message. In macros: {@code why =
     * call("io.github.isoline.ij.Batch.open", path)}.
     *
     * @return "" or the reason why there is no new image
     */
    public static String open(String path) {
        File file = new File(path).getAbsoluteFile();
        if (!file.isFile() || !file.canRead()) {
            return file.exists() ? "it cannot be read" : "there is no such file";
        }
        int type = new Opener().getFileType(path);
        if (type == Opener.UNKNOWN) {
            return "its content is in no image format that ImageJ reads itself; Bio-Formats may read it";
        }
        try {
            String problem = type == Opener.TIFF || type == Opener.TIFF_AND_DICOM ? missingPixels(file) : null;
            return problem == null ? show(path) : problem;
        } catch (OutOfMemoryError e) {
            return Host.reason(e);
        } catch (RuntimeException e) {
            return "its content is damaged" + (e.getMessage() == null ? "" : ": " + e.getMessage());
        }
    }

    /**
     * Runs a command of Isoline on the current image. A failure does not end the macro, as it would in {@code run}. In
     * macros: {@code why = call("io.github.isoline.ij.Batch.run", command, options)}.
     *
     * @param command the command as for {@code run}, such as {@code Signed Distance...}
     * @param options the options as for {@code run}
     * @return "" or the reason why the command failed; it ends with {@code ": cancelled"} after Escape
     */
    public static String run(String command, String options) {
        return Host.failureOf(() -> IJ.run(command, options));
    }

    private static String show(String path) {
        // Otherwise a damaged image would end the macro.
        IJ.redirectErrorMessages();
        ImagePlus image = IJ.openImage(path);
        if (image == null) {
            String message = IJ.getErrorMessage();
            return message == null ? "ImageJ cannot open it" : message.trim().replaceAll("\\s+", " ");
        }
        image.show();
        return "";
    }

    /** Returns a sentence about pixels beyond the end of a TIFF file; null if all are there. */
    private static String missingPixels(File file) {
        FileInfo[] images;
        try {
            images = new TiffDecoder(file.getParent() + File.separator, file.getName()).getTiffInfo();
        } catch (IOException e) {
            // ImageJ says more about it when it opens the file, or opens it in another way.
            return null;
        }
        for (FileInfo info : images == null ? new FileInfo[0] : images) {
            double end = end(info);
            if (end > file.length()) {
                return String.format(
                        "it is cut off or damaged: the last of %d x %d pixels%s is at byte %.0f of %d",
                        info.width,
                        info.height,
                        info.nImages > 1 ? " in " + info.nImages + " slices" : "",
                        end,
                        file.length());
            }
        }
        return null;
    }

    /** Returns the least number of bytes of a file with the pixels of an image. It may exceed every whole number. */
    private static double end(FileInfo info) {
        double size = (double) info.width * info.height;
        if (info.fileType == FileInfo.BITMAP) {
            size /= BITS_OF_BYTE;
        } else if (info.fileType != FileInfo.GRAY12_UNSIGNED && info.fileType != FileInfo.GRAY24_UNSIGNED) {
            size *= info.getBytesPerPixel();
        }
        boolean compressed = info.compression > FileInfo.COMPRESSION_NONE;
        int strips = info.stripOffsets == null || info.stripLengths == null ? 0 : info.stripOffsets.length;
        if (!compressed && (strips < 2 || info.nImages > 1)) {
            int slices = Math.max(1, info.nImages);
            return info.getOffset() + size * slices + (double) info.getGap() * (slices - 1);
        }
        double end = 0;
        for (int i = 0; i < strips; i++) {
            // Some programs write the length of a whole strip also for the last one.
            double length = Integer.toUnsignedLong(info.stripLengths[i]);
            length = compressed ? length : Math.min(length, size);
            size -= length;
            end = Math.max(end, Integer.toUnsignedLong(info.stripOffsets[i]) + length);
        }
        return end;
    }
}
