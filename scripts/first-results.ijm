// Argument: a folder. Runs a command with its defaults on each of five sample images, as somebody would who tries it for the
// first time, and saves the image with the result as PNG.
folder = getArgument();

run("Coins Sample");
run("Edge Drawing...", "overlay");
picture("coins");

run("Nuclei Sample");
run("Region Snake...", "start=detect overlay");
picture("nuclei");

run("Cell Sample");
makeOval(400, 350, 50, 50);
run("Level Set...", "overlay");
picture("cell");

run("Brain Sample");
setSlice(13);
makeSelection("points", newArray(60, 136), newArray(138, 138));
run("Level Set...", "stack=volume start=spheres overlay");
picture("brain");

run("Retina Sample");
run("Edge Drawing...", "overlay");
picture("retina");

function picture(name) {
    run("Select None");
    run("Flatten", "slice");
    saveAs("PNG", folder + "/first-" + name + ".png");
    close();
}
