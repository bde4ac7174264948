// Argument: a stack with bright things in it. Grows a surface from two spheres into what is as bright as their pixels; saves
// the mask, the outlines as ROIs and a table of volume and surface beside the stack.
stack = getArgument();
if (stack == "") stack = File.openDialog("Choose an image");
open(stack);
title = getTitle();
setSlice(floor(nSlices / 2) + 1);
makeSelection("points", newArray(getWidth() * 0.3, getWidth() * 0.7), newArray(getHeight() / 2, getHeight() / 2));
run("Clear Results");
run("Level Set...", "stack=volume start=spheres radius=8 range=values target=200 epsilon=30 alpha=0.02"
    + " mode=iterations iterations=60 mask_stack results_table roi_file=[" + stack + "-outlines.zip]");
print(title + ": " + getResult("Volume", 0) + " " + getResultString("Unit", 0) + "^3 after "
    + getResult("Iterations", 0) + " iterations");
saveAs("Results", stack + "-level-set.csv");
saveAs("Tiff", stack + "-mask.tif");
