// The macro of 'make demo': opens real images, computes their edge strength, draws their edges, segments a volume, outlines
// nuclei, and saves all results.
// Argument: the folder of the images | the folder for the results | the device (auto, cpu, cuda, cuda:N).
arguments = split(getArgument(), "|");
if (arguments.length != 3) exit("demo.ijm wants: images|results|device");
images = arguments[0] + "/";
results = arguments[1] + "/";
device = arguments[2];

setBatchMode(true);
print("ImageJ " + getVersion() + ", Java " + getInfo("java.version"));
run("Devices...", "device=" + device);
print("");

edgeStrength("horse", "horse.png", "Silhouette of a horse",
    "foreground=below",
    "shape: the dark pixels, everything else at its default: rho = 64 pixels, converged");
edgeStrength("horse-200", "horse.png", "Silhouette of a horse, 200 iterations",
    "foreground=below threshold=127 rho=32 mode=iterations iterations=200",
    "shape: pixels up to 127, rho = 32 pixels, 200 iterations");
edgeStrength("pattern", "pattern.png", "Line drawing: Seljuk-style strapwork",
    "foreground=below threshold=127 rho=8 mode=converged",
    "shape: pixels up to 127, rho = 8 pixels, converged");
edgeStrength("cell", "cell.png", "Microscopy: a living cell, quantitative phase",
    "foreground=above threshold=110 rho=32 mode=converged",
    "shape: pixels above 110, rho = 32 pixels, converged");
edgeStrength("brain", "brain.tif", "Stack: MRI of the brain, 20 slices, each by itself",
    "foreground=above threshold=200 rho=8 stack=slices mode=converged",
    "shape: pixels above 200, rho = 8 pixels, converged");
edgeStrength("brain-volume", "brain.tif", "The same stack as one volume",
    "foreground=above threshold=200 rho=8 stack=volume mode=converged",
    "shape: voxels above 200, rho = 8 voxels, 3D, converged");

edgeDrawing("edges-camera", "camera.png", "Photograph: edges", "", "everything at its default");
edgeDrawing("edges-camera-validated", "camera.png", "Photograph: edges that chance does not make",
    "profile=paper validation=false_alarms", "profile paper, validation by false alarms, everything else at its default");
edgeDrawing("edges-coins", "coins.png", "Greek coins: edges", "", "everything at its default");
edgeDrawing("edges-cell", "cell.png", "Microscopy: edges of a living cell", "", "everything at its default");
edgeDrawing("edges-brain", "brain.tif", "Stack: MRI of the brain, 20 slices, each by itself", "",
    "everything at its default");

levelSet("segmentation-brain", "brain.tif", "Volume: white matter of the brain, grown from two points",
    13, newArray(60, 136), newArray(138, 138), "stack=volume start=spheres",
    "3D with voxels of 1 x 1 x 2 mm, everything else at its default");
snake("outlines-nuclei", "nuclei.png", "Microscopy: fluorescent nuclei, each outlined from a start that was detected",
    "start=detect", "start detect, everything else at its default");
print("demo.ijm: done");

function edgeStrength(name, file, title, options, parameters) {
    open(images + file);
    input = getImageID();
    began = getTime();
    run("Edge Strength Function...", "device=" + device + " " + options);
    milliseconds = getTime() - began;
    if (getImageID() == input) exit("no result for " + file);

    // The plugin writes into the image's information what ran where; it is what Image > Show Info... shows.
    where = fact("Isoline device: ");
    steps = fact("Isoline iterations: ");
    seconds = parseFloat(fact("Isoline seconds: "));
    getDimensions(width, height, channels, slices, frames);
    size = "" + width + " x " + height;
    if (slices > 1) size = size + " x " + slices;
    if (indexOf(options, "mode=iterations") < 0) unit = " cycles"; else unit = " iterations";
    ran = size + " on " + where + ": " + steps + unit + ", " + d2s(seconds * 1000, 1) + " ms in the library, "
        + milliseconds + " ms in ImageJ";
    print(name + ": " + ran);

    saveAs("Tiff", results + name + "-esf.tif");
    close();
    selectImage(input);
    saveAs("Tiff", results + name + "-input.tif");
    close();
    File.saveString("title: " + title + "\nparameters: " + parameters + "\nran: " + ran + "\n", results + name + ".txt");
}

// The edge map, the segments as ROIs in a ZIP file, and the table of segments.
function edgeDrawing(name, file, title, options, parameters) {
    open(images + file);
    input = getImageID();
    run("Clear Results");
    began = getTime();
    run("Edge Drawing...", "device=" + device + " " + options + " edge_map results_table roi_file=[" + results + name
        + "-segments.zip]");
    milliseconds = getTime() - began;
    if (getImageID() == input) exit("no edge map for " + file);

    where = fact("Isoline device: ");
    seconds = parseFloat(fact("Isoline seconds: "));
    getDimensions(width, height, channels, slices, frames);
    size = "" + width + " x " + height;
    if (slices > 1) size = size + " x " + slices;
    ran = size + " on " + where + ": " + nResults + " segments, " + d2s(seconds * 1000, 1) + " ms in the library, "
        + milliseconds + " ms in ImageJ";
    print(name + ": " + ran);

    saveAs("Results", results + name + "-segments.csv");
    saveAs("Tiff", results + name + "-edges.tif");
    close();
    selectImage(input);
    saveAs("Tiff", results + name + "-input.tif");
    close();
    File.saveString("title: " + title + "\nparameters: " + parameters + "\nran: " + ran + "\n", results + name + ".txt");
}

// The mask of the volume that grows from spheres around points on one slice.
function levelSet(name, file, title, slice, x, y, options, parameters) {
    open(images + file);
    input = getImageID();
    setSlice(slice);
    makeSelection("points", x, y);
    run("Clear Results");
    began = getTime();
    run("Level Set...", "device=" + device + " " + options + " mask_stack results_table");
    milliseconds = getTime() - began;
    if (getImageID() == input) exit("no mask for " + file);

    where = fact("Isoline device: ");
    seconds = parseFloat(fact("Isoline seconds: "));
    getDimensions(width, height, channels, slices, frames);
    ran = "" + width + " x " + height + " x " + slices + " on " + where + ": " + getResult("Iterations", 0)
        + " iterations to " + d2s(getResult("Volume", 0) / 1000, 1) + " cm^3, " + d2s(seconds * 1000, 1)
        + " ms in the library, " + milliseconds + " ms in ImageJ";
    print(name + ": " + ran);

    saveAs("Tiff", results + name + "-mask.tif");
    close();
    selectImage(input);
    run("Select None");
    saveAs("Tiff", results + name + "-input.tif");
    close();
    File.saveString("title: " + title + "\nparameters: " + parameters + "\nran: " + ran + "\n", results + name + ".txt");
}

// Labels, outlines and the table of objects.
function snake(name, file, title, options, parameters) {
    open(images + file);
    input = getImageID();
    run("Clear Results");
    began = getTime();
    run("Region Snake...", "device=" + device + " " + options
        + " label_image results_table roi_file=[" + results + name + "-outlines.zip]");
    milliseconds = getTime() - began;
    if (getImageID() == input) exit("no labels for " + file);

    where = fact("Isoline device: ");
    seconds = parseFloat(fact("Isoline seconds: "));
    ran = "" + getWidth() + " x " + getHeight() + " on " + where + ": " + nResults + " targets, " + d2s(seconds * 1000, 1)
        + " ms in the library, " + milliseconds + " ms in ImageJ";
    print(name + ": " + ran);

    saveAs("Results", results + name + ".csv");
    saveAs("Tiff", results + name + "-labels.tif");
    close();
    selectImage(input);
    saveAs("Tiff", results + name + "-input.tif");
    close();
    File.saveString("title: " + title + "\nparameters: " + parameters + "\nran: " + ran + "\n", results + name + ".txt");
}

function fact(key) {
    lines = split(getMetadata("Info"), "\n");
    for (i = 0; i < lines.length; i++)
        if (startsWith(lines[i], key)) return substring(lines[i], lengthOf(key));
    return "?";
}
