// Edge strength of every image in a folder, written as 32-bit TIFF into its subfolder "esf".
// Headless on a cluster, in Fiji:  ./fiji --headless -macro batch.ijm /data/drawings
// If it is run again, it leaves out the images that have a result already. A file that fails does not stop the others: at
// the end the Results table, which is saved as esf/failed.csv, names each with the reason.
folder = getArgument();
if (folder == "") folder = getDirectory("Choose a folder");
if (folder == "") exit("No folder was given.");
if (!endsWith(folder, "/")) folder = folder + "/";
if (!File.isDirectory(folder)) exit("There is no folder " + folder);
File.makeDirectory(folder + "esf");
table = folder + "esf/failed.csv";
if (File.exists(table)) deleted = File.delete(table);
setBatchMode(true);
run("Clear Results");
names = getFileList(folder);
for (i = 0; i < names.length; i++) {
    if (!matches(toLowerCase(names[i]), ".*\\.(png|tiff?|jpe?g)")) continue;
    // Its whole name is kept, so that a.png and a.tif have results of their own.
    result = folder + "esf/" + names[i] + ".tif";
    if (File.exists(result)) continue;
    why = openImage(folder + names[i]);
    if (why == "") {
        run("Edge Strength Function...", "rho=16 mode=converged foreground=below threshold=127 luminance");
        // The result has its name only when it is whole.
        saveAs("Tiff", folder + "esf/.part.tif");
        if (!File.rename(folder + "esf/.part.tif", result)) exit("Cannot write " + result);
        print(names[i] + " done");
    } else {
        setResult("File", nResults, names[i]);
        setResult("Reason", nResults - 1, why);
    }
    close("*");
}
if (nResults > 0) {
    updateResults();
    saveAs("Results", table);
    exit("Files that failed: " + nResults + ", see " + table);
}

// Opens an image, and returns "" or the reason why it cannot be processed.
function openImage(path) {
    // ImageJ would end the macro at a file whose beginning is that of no image, such as an empty one.
    if (call("ij.io.Opener.getFileFormat", path) == "unknown") return "its content is no image";
    // Without this line a damaged image would end the macro, too.
    IJ.redirectErrorMessages();
    open(path);
    if (nImages == 0) {
        message = "" + call("ij.IJ.getErrorMessage");
        if (message == "null") message = "ImageJ cannot open it";
        return message;
    }
    // ImageJ fills what a TIFF lacks with 0, without a message.
    getStatistics(area, mean, min, max);
    if (nSlices == 1 && min == max) return "all pixels are " + min + ": the file may be cut off";
    return "";
}
