// Argument: an image with dark lines. Saves its edge strength as a coloured picture beside it.
image = getArgument();
if (image == "") image = File.openDialog("Choose an image");
open(image);
run("Edge Strength Function...", "rho=16 mode=converged foreground=below threshold=127");
run("Fire");
saveAs("PNG", image + "-esf.png");
