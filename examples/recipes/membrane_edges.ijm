// Finds the membrane of a cell as a closed line, and measures its length. Short edges are dropped.
run("Cell Sample");
image = getImageID();
run("Clear Results");
run("Edge Drawing...", "profile=reference gradient_threshold=40 min_length=200 results_table overlay");
for (row = 0; row < nResults; row++)
    print("membrane_edges: line " + (row + 1) + ", length " + d2s(getResult("Length", row), 1) + " um, closed "
        + getResult("Closed", row));
selectImage(image);
