// Times commands of the plugin for benches/plugin.py.
// Argument: a file with a line a command: its name; its options; times to run it; the file of the image; the file of an
// image "start", or -. Prints "timed;" and for each run the milliseconds of the command, and those of them in the library.
setBatchMode(true);
rows = split(File.openAsString(getArgument()), "\n");
for (i = 0; i < rows.length; i++) {
    row = split(rows[i], ";");
    if (row[4] != "-") {
        open(row[4]);
        rename("start");
    }
    open(row[3]);
    image = getImageID();
    line = "timed";
    for (run_number = 0; run_number < row[2]; run_number++) {
        selectImage(image);
        began = getTime();
        run(row[0], row[1]);
        milliseconds = getTime() - began;
        if (getImageID() == image) exit("no result of " + row[0]);
        line = line + ";" + milliseconds + ";" + 1000 * parseFloat(fact("Isoline seconds: "));
        close();
    }
    print(line);
    close("*");
}

function fact(key) {
    lines = split(getMetadata("Info"), "\n");
    for (j = 0; j < lines.length; j++)
        if (startsWith(lines[j], key)) return substring(lines[j], lengthOf(key));
    return "?";
}
