// Argument: an image. Saves its edge map, its segments as ROIs and a table of them beside it.
image = getArgument();
if (image == "") image = File.openDialog("Choose an image");
open(image);
title = getTitle();
run("Clear Results");
run("Edge Drawing...", "gradient_threshold=30 min_length=20 edge_map results_table roi_file=[" + image + "-segments.zip]");
print(title + ": " + nResults + " segments, the longest of " + longest() + " pixels");
saveAs("Results", image + "-segments.csv");
saveAs("PNG", image + "-edges.png");

function longest() {
    most = 0;
    for (i = 0; i < nResults; i++)
        most = maxOf(most, getResult("Points", i));
    return most;
}
