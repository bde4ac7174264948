// Tracks two cells that grow through a film: their areas in the first and the last frame. The film is drawn here, with photon noise.
random("seed", 1);
frames = 12;
newImage("growing cells", "8-bit black", 160, 120, frames);
Stack.setDimensions(1, 1, frames);
for (frame = 1; frame <= frames; frame++) {
    setSlice(frame);
    setColor(90);
    fillOval(28 - frame, 38 - frame, 40 + 2 * frame, 40 + 2 * frame);
    setColor(130);
    fillOval(102 - frame / 2, 58 - frame / 2, 30 + frame, 30 + frame);
    for (y = 0; y < getHeight(); y++)
        for (x = 0; x < getWidth(); x++) {
            mean = 20 + getPixel(x, y);
            setPixel(x, y, mean + sqrt(mean) * random("gaussian"));
        }
}
image = getImageID();
run("Set Scale...", "distance=1 known=0.5 unit=um");
Stack.setFrameInterval(600);
setSlice(1);
makeSelection("points", newArray(48, 117), newArray(58, 73));
run("Clear Results");
run("Region Snake...", "start=roi radius=8 stack=track largest_step=2 noise=poisson results_table overlay");
areas = newArray(2);
for (row = 0; row < nResults; row++) {
    track = getResult("Track", row);
    if (getResult("Slice", row) == 1) areas[track - 1] = getResult("Area", row);
    if (getResult("Slice", row) == frames)
        print("growth_in_a_film: cell " + track + " grows from " + d2s(areas[track - 1], 0) + " to "
            + d2s(getResult("Area", row), 0) + " um^2");
}
selectImage(image);
setSlice(frames);
run("Select None");
