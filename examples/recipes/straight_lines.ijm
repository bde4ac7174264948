// Finds the straight lines of a photograph, and the direction of the longest.
run("Camera Sample");
image = getImageID();
run("Clear Results");
run("Edge Drawing...", "find=lines shortest_line=30 results_table overlay");
longest = 0;
for (row = 1; row < nResults; row++)
    if (getResult("Length", row) > getResult("Length", longest)) longest = row;
print("straight_lines: " + nResults + " lines, the longest of " + d2s(getResult("Length", longest), 1) + " pixels at "
    + d2s(getResult("Angle", longest), 1) + " degrees");
selectImage(image);
