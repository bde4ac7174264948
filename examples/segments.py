# Edges of the current image as segments, and a volume that grows from a point. For Fiji's script editor (language Python),
# or headless:
#   ImageJ-linux64 --headless --run segments.py
from ij import IJ
from ij.gui import PointRoi
from io.github.isoline import IsolineException
from io.github.isoline.ij import Isoline

image = IJ.getImage()

edges = Isoline.edgeDrawing(image, {"gradient_threshold": 30, "min_length": 20})
print("%d segments in %s" % (len(edges.rois), edges.image.title))

# A disc of 6 pixels in the middle grows over pixels that are about as bright.
centre = PointRoi(image.width // 2, image.height // 2)
grown = Isoline.levelSet(image, {"rois": centre, "radius": 6, "mask_stack": True, "results_table": True})
print("%s: %s" % (grown.image.title, grown.table.getHeadings()[-1]))

try:
    Isoline.edgeDrawing(image, {"gradient_treshold": 30})
except IsolineException as refused:
    print(refused.message)
