// Argument: a stack of z slices. Saves its isosurface beside it, as triangles in STL and with its measures in a table.
image = getArgument();
if (image == "") image = File.openDialog("Choose a stack");
open(image);
run("Clear Results");
run("Isosurface...", "level=auto results_table file=[" + image + "-surface.stl]");
saveAs("Results", image + "-surface.csv");
print(getResult("Triangles", 0) + " triangles, area " + getResult("Surface area", 0) + ", volume " + getResult("Volume", 0));
