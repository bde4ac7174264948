// Outlines nuclei that touch: ImageJ's watershed gives a start in each, then region snakes compete for the pixels.
run("Nuclei Sample");
image = getImageID();
run("Duplicate...", "title=starts");
starts = getImageID();
run("Gaussian Blur...", "sigma=2");
setAutoThreshold("Li dark");
setOption("BlackBackground", true);
run("Convert to Mask");
run("Watershed");
selectImage(image);
run("Clear Results");
run("Region Snake...", "start=labels start_image=" + starts + " noise=poisson overlap=excluded"
    + " label_image results_table overlay");
meeting = 0;
for (row = 0; row < nResults; row++)
    meeting += getResult("Overlaps", row);
print("touching_nuclei: " + nResults + " targets, " + meeting + " of them meet a neighbour");
selectImage(image);
