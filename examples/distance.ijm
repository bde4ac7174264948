// Argument: a stack of masks, white on black. Saves its signed distances, in the stack's unit, beside it.
stack = getArgument();
if (stack == "") stack = File.openDialog("Choose an image");
open(stack);
run("Signed Distance...", "inside=bright stack=volume all_channels all_frames");
saveAs("Tiff", stack + "-distance.tif");
Stack.getStatistics(voxels, mean, deepest, farthest);
getVoxelSize(width, height, depth, unit);
print("from " + deepest + " to " + farthest + " " + unit);
