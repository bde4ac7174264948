// Argument: an image with bright things on dark ground. Takes blocks of 8 x 8 pixels that are brighter than the rest for rough
// starts, lets region snakes find the borders, and saves labels, outlines as ROIs and a table beside the image.
image = getArgument();
if (image == "") image = File.openDialog("Choose an image");
open(image);
title = getTitle();
original = getImageID();
getStatistics(area, mean, min, max, deviation);
newImage("starts", "8-bit black", getWidth(), getHeight(), 1);
starts = getImageID();
for (y = 0; y < getHeight(); y += 8)
    for (x = 0; x < getWidth(); x += 8) {
        selectImage(original);
        makeRectangle(x, y, 8, 8);
        getStatistics(area, brightness);
        selectImage(starts);
        setColor(255 * (brightness > mean + deviation / 2));
        fillRect(x, y, 8, 8);
    }
selectImage(original);
run("Clear Results");
run("Region Snake...", "start=labels start_image=" + starts + " node_spacing=8 label_image results_table"
    + " roi_file=[" + image + "-outlines.zip]");
found = 0;
for (row = 0; row < nResults; row++)
    if (getResultString("Status", row) == "converged") found++;
print(title + ": " + found + " of " + nResults + " outlined");
saveAs("Results", image + "-outlines.csv");
saveAs("Tiff", image + "-labels.tif");
