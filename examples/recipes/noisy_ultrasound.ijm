// Outlines a dark cyst in speckle, as ultrasound has it, from a rough oval. The image is drawn here: its intensities are
// exponentially distributed, which is gamma noise of one look.
random("seed", 1);
newImage("speckle", "32-bit black", 256, 200, 1);
setColor(100);
fillRect(0, 0, 256, 200);
setColor(40);
fillOval(70, 50, 110, 84);
truth = 0;
for (y = 0; y < getHeight(); y++)
    for (x = 0; x < getWidth(); x++) {
        mean = getPixel(x, y);
        if (mean == 40) truth++;
        setPixel(x, y, -mean * log(1 - random()));
    }
setMinAndMax(0, 250);
image = getImageID();
makeOval(100, 75, 40, 30);
run("Clear Results");
run("Region Snake...", "start=roi noise=gamma looks=1 background=image results_table overlay");
print("noisy_ultrasound: " + d2s(getResult("Area", 0), 0) + " pixels, drawn with " + truth);
selectImage(image);
run("Select None");
