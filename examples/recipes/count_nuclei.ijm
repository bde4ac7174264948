// Counts nuclei and outlines each: an automatic start in every object, then region snakes.
run("Nuclei Sample");
image = getImageID();
run("Clear Results");
run("Region Snake...", "start=detect noise=poisson label_image results_table overlay");
areas = Table.getColumn("Area");
Array.getStatistics(areas, smallest, largest, mean);
print("count_nuclei: " + nResults + " outlines, mean area " + d2s(mean, 0) + " pixels");
selectImage(image);
