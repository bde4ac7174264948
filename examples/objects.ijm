// Argument: an image or a volume of bright objects, such as nuclei. Saves their labels as a TIFF and their table as a CSV beside it.
image = getArgument();
if (image == "") image = File.openDialog("Choose an image");
open(image);
stack = "slices";
if (nSlices > 1) stack = "volume";
run("Clear Results");
run("Grow Objects...", "stack=" + stack + " start=detect threshold=auto prominence=auto alpha=0.5 label_image results_table");
saveAs("Tiff", image + "-labels.tif");
saveAs("Results", image + "-objects.csv");
