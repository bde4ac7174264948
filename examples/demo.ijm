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
    "foreground=below threshold=127 rho=32 mode=converged",
    "shape: pixels up to 127, rho = 32 pixels, converged");
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

edgeDrawing("edges-camera", "camera.png", "Photograph: edges of the paper's profile, validated",
    "profile=paper validation=false_alarms", "profile paper, validation by false alarms, everything else at its default");
edgeDrawing("edges-coins", "coins.png", "Greek coins: edges of the reference profile",
    "profile=reference gradient_threshold=36 gradient_operator=prewitt min_length=25",
    "profile reference, Prewitt, gradient threshold 36, segments of 25 pixels and more");
edgeDrawing("edges-cell", "cell.png", "Microscopy: a living cell, edges followed round their turns",
    "profile=paper gradient_threshold=40 anchor_threshold=6 min_length=12 follow_turns",
    "profile paper, follow turns, gradient threshold 40, anchor threshold 6, segments of 12 pixels and more");
edgeDrawing("edges-brain", "brain.tif", "Stack: MRI of the brain, 20 slices, each by itself",
    "profile=paper gradient_threshold=60 min_length=15",
    "profile paper, gradient threshold 60, segments of 15 pixels and more");

levelSet("segmentation-brain", "brain.tif", "Volume: white matter of the brain, grown from four spheres",
    13, newArray(74, 122, 60, 136), newArray(59, 59, 138, 138),
    "stack=volume start=spheres radius=8 range=values target=225 epsilon=30 alpha=0.2",
    "T = 225, epsilon = 30, alpha = 0.2, 3D with voxels of 1 x 1 x 2 mm; at the start spheres of 8 mm");
snake("outlines-nuclei", "nuclei.png", "Microscopy: fluorescent nuclei, each outlined from a rough circle",
    newArray(426, 296, 62, 318, 166, 317, 265, 133, 375, 215, 29, 314, 276, 249, 110, 437, 41, 315, 77, 263, 398,
        112, 464, 229, 382, 410, 418, 193, 134, 396, 488, 276, 44, 234, 282, 50, 178, 14, 57, 166, 464, 306, 464,
        455, 133, 199, 485, 166, 194, 373, 113, 290),
    newArray(455, 433, 39, 396, 141, 329, 171, 400, 162, 353, 54, 57, 295, 112, 480, 18, 117, 286, 19, 331, 408,
        19, 363, 207, 138, 497, 276, 226, 306, 328, 445, 65, 381, 62, 198, 459, 97, 141, 215, 496, 312, 248, 196,
        44, 63, 150, 165, 337, 463, 446, 100, 378),
    6, "node_spacing=10 node_cost=0.5",
    "52 targets from circles of radius 6 (blue), gaussian noise, node spacing 10, node cost 0.5");
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
    if (indexOf(options, "converged") >= 0) unit = " cycles"; else unit = " iterations";
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

// Labels and outlines of things from a circle in each of them.
function snake(name, file, title, x, y, radius, options, parameters) {
    open(images + file);
    input = getImageID();
    newImage("starts", "8-bit black", getWidth(), getHeight(), 1);
    for (i = 0; i < x.length; i++) {
        setColor(i + 1);
        fillOval(x[i] - radius, y[i] - radius, 2 * radius, 2 * radius);
    }
    starts = getImageID();
    selectImage(input);
    run("Clear Results");
    began = getTime();
    run("Region Snake...", "device=" + device + " start=labels start_image=starts " + options
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
    selectImage(starts);
    saveAs("Tiff", results + name + "-starts.tif");
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
