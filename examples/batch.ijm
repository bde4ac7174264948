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
    // ImageJ's own open() would end the macro at a damaged file, or fill what is missing with 0; run() would end it at
    // an error of the command.
    why = call("io.github.isoline.ij.Batch.open", folder + names[i]);
    if (why == "") {
        getStatistics(area, mean, min, max);
        if (nSlices == 1 && min == max) why = "all pixels are " + min + ": the file may be damaged";
    }
    if (why == "") {
        options = "rho=16 mode=converged foreground=below threshold=127 luminance";
        why = call("io.github.isoline.ij.Batch.run", "Edge Strength Function...", options);
        if (endsWith(why, ": cancelled")) exit(why);
    }
    if (why == "") {
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
