// Argument: a stack of masks, white on black. Saves its signed distances, in the stack's unit, beside it.
open(getArgument());
run("Signed Distance...", "inside=bright stack=volume all_channels all_frames");
saveAs("Tiff", getArgument() + "-distance.tif");
Stack.getStatistics(voxels, mean, deepest, farthest);
getVoxelSize(width, height, depth, unit);
print("from " + deepest + " to " + farthest + " " + unit);
