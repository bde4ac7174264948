// Argument: a mask or a stack of masks, white on black, or an image of bright objects, of which ImageJ finds a threshold.
// Saves the signed distances, in the image's unit, beside it.
stack = getArgument();
if (stack == "") stack = File.openDialog("Choose an image");
open(stack);
getDimensions(columns, rows, channels, slices, frames);
if (slices > 1) together = "volume"; else together = "slices";
if (is("binary")) inside = "bright";
else {
    inside = "thresholded";
    setAutoThreshold("Default dark");
}
run("Signed Distance...", "inside=" + inside + " all_channels all_frames stack=" + together);
saveAs("Tiff", stack + "-distance.tif");
if (nSlices > 1) Stack.getStatistics(voxels, mean, deepest, farthest);
else getStatistics(area, mean, deepest, farthest);
getVoxelSize(width, height, depth, unit);
print("from " + deepest + " to " + farthest + " " + unit);
