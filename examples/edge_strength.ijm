// Argument: an image with dark lines. Saves its edge strength as a coloured picture beside it.
open(getArgument());
run("Edge Strength Function...", "rho=16 mode=converged foreground=below threshold=127");
run("Fire");
saveAs("PNG", getArgument() + "-esf.png");
