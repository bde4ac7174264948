// Measures the volume of a brain's ventricles in 3D, from a point in each of the two.
run("Brain Sample");
image = getImageID();
setSlice(18);
makeSelection("points", newArray(92, 104), newArray(95, 95));
run("Clear Results");
run("Level Set...", "stack=volume start=spheres radius=auto range=auto mask_stack results_table overlay");
print("ventricle_volume: " + d2s(getResult("Volume", 0) / 1000, 1) + " cm^3, surface " + d2s(getResult("Surface", 0) / 100, 1)
    + " cm^2, converged " + getResult("Converged", 0));
selectImage(image);
run("Select None");
