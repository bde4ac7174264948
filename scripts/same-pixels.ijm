// Compares the results that demo.ijm saved on two devices: the same pixels, or for a converged result the same to 1e-4.
// Argument: a folder | another one. Prints a line an image and 'N the same, N different'.
folders = split(getArgument(), "|");
if (folders.length != 2) exit("same-pixels.ijm wants: folder|folder");
setBatchMode(true);
names = getFileList(folders[0]);
same = 0;
different = 0;
for (i = 0; i < names.length; i++) {
    name = names[i];
    if (!endsWith(name, ".tif") || endsWith(name, "-input.tif")) continue;
    allowed = 0;
    // The parameters are in the text beside the image: horse.txt with horse-esf.tif.
    told = folders[0] + "/" + substring(name, 0, lastIndexOf(name, "-")) + ".txt";
    if (indexOf(File.openAsString(told), "converged") >= 0) allowed = 1e-4;
    first = folders[0] + "/" + name;
    second = folders[1] + "/" + name;
    if (File.exists(second)) off = difference(first, second, allowed);
    else off = "it is missing in the second folder";
    if (off == "") {
        same++;
        print("same: " + name);
    } else {
        different++;
        print("DIFFERENT: " + name + ": " + off);
    }
}
print("" + same + " the same, " + different + " different");

// Returns the differences in words, or nothing.
function difference(first, second, allowed) {
    open(first);
    a = getImageID();
    getDimensions(width, height, channels, slices, frames);
    depth = bitDepth();
    open(second);
    b = getImageID();
    getDimensions(width2, height2, channels2, slices2, frames2);
    if (width != width2 || height != height2 || channels != channels2 || slices != slices2 || frames != frames2
            || depth != bitDepth()) {
        close("*");
        return "size or type";
    }
    if (depth == 24) {
        run("RGB Stack");
        selectImage(a);
        run("RGB Stack");
    }
    off = 0;
    for (slice = 1; slice <= channels * slices * frames; slice++) {
        selectImage(a);
        setSlice(slice);
        selectImage(b);
        setSlice(slice);
        imageCalculator("Difference create 32-bit", a, b);
        getStatistics(area, mean, smallest, largest);
        close();
        off = maxOf(off, largest);
    }
    close("*");
    if (off <= allowed) return "";
    return "by up to " + off;
}
