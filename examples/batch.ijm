// Edge strength of every image in a folder, written as 32-bit TIFF into its subfolder "esf".
// Headless on a cluster, in Fiji:  ./fiji --headless -macro batch.ijm /data/drawings
folder = getArgument();
if (folder == "") folder = getDirectory("Choose a folder");
if (!endsWith(folder, "/")) folder = folder + "/";
File.makeDirectory(folder + "esf");
setBatchMode(true);
names = getFileList(folder);
for (i = 0; i < names.length; i++) {
    if (!matches(toLowerCase(names[i]), ".*\\.(png|tiff?|jpe?g)")) continue;
    open(folder + names[i]);
    run("Edge Strength Function...", "rho=16 mode=converged foreground=below threshold=127 luminance");
    // Its whole name is kept, so that a.png and a.tif have results of their own.
    saveAs("Tiff", folder + "esf/" + names[i] + ".tif");
    print(names[i] + " done");
    close("*");
}
