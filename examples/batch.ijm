// Edge strength of every image in a folder, written as 32-bit TIFF into its subfolder "esf".
// Headless on a cluster, in Fiji:  ./fiji --headless -macro batch.ijm /data/drawings
// If it is run again, it leaves out the images that have a result already. Damaged images are named at the end.
folder = getArgument();
if (folder == "") folder = getDirectory("Choose a folder");
if (!endsWith(folder, "/")) folder = folder + "/";
if (!File.isDirectory(folder)) exit("There is no folder " + folder);
File.makeDirectory(folder + "esf");
setBatchMode(true);
damaged = "";
names = getFileList(folder);
for (i = 0; i < names.length; i++) {
    if (!matches(toLowerCase(names[i]), ".*\\.(png|tiff?|jpe?g)")) continue;
    // Its whole name is kept, so that a.png and a.tif have results of their own.
    result = folder + "esf/" + names[i] + ".tif";
    if (File.exists(result)) continue;
    // Without this line a damaged image would end the macro.
    IJ.redirectErrorMessages();
    open(folder + names[i]);
    if (nImages == 0) {
        damaged = damaged + "\n" + names[i];
        continue;
    }
    run("Edge Strength Function...", "rho=16 mode=converged foreground=below threshold=127 luminance");
    // The result has its name only when it is whole.
    saveAs("Tiff", folder + "esf/.part.tif");
    if (!File.rename(folder + "esf/.part.tif", result)) exit("Cannot write " + result);
    print(names[i] + " done");
    close("*");
}
if (damaged != "") exit("These files cannot be opened:" + damaged);
