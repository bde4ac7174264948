// Argument: a macro of examples/recipes | a PNG file. Runs the macro and saves the image that it leaves, with its overlay.
arguments = split(getArgument(), "|");
runMacro(arguments[0]);
run("Flatten", "slice");
saveAs("PNG", arguments[1]);
