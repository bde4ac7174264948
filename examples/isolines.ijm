// Argument: an image or a stack. Saves its isolines at nine levels beside it: the curves as ROIs, and a table of them.
image = getArgument();
if (image == "") image = File.openDialog("Choose an image");
open(image);
run("Clear Results");
run("Isolines...", "level_count=9 results_table roi_file=[" + image + "-isolines.zip]");
saveAs("Results", image + "-isolines.csv");
closed = 0;
for (row = 0; row < nResults; row++) closed += getResult("Closed", row);
print(nResults + " isolines, of which " + closed + " are closed");
