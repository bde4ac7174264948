// Edges of the current image as segments, and outlines of what its maxima lie in. For Fiji's script editor, or headless:
//   ImageJ-linux64 --headless --run segments.groovy
import ij.IJ
import ij.gui.OvalRoi
import ij.measure.ResultsTable
import ij.plugin.filter.MaximumFinder
import io.github.isoline.ij.Isoline

def image = IJ.getImage()

def edges = Isoline.edgeDrawing(image, [gradient_threshold: 30, min_length: 20])
def longest = edges.rois.max { it.length }
println "${edges.rois.size()} segments, the longest is ${longest?.name}"

// Circles around the maxima of the smoothed image are the starts. The prominence is in pixel values.
def smooth = image.getProcessor().duplicate()
smooth.blurGaussian(4)
def maxima = new MaximumFinder().getMaxima(smooth, 10, true)
def starts = (0..<maxima.npoints).collect { i -> new OvalRoi(maxima.xpoints[i] - 5, maxima.ypoints[i] - 5, 10, 10) }
def table = new ResultsTable()
def found = Isoline.regionSnake(image, [rois: starts, noise: 'poisson', results_table: table, label_image: true])
println "${table.size()} targets, labels up to ${(int) found.image.getProcessor().stats.max}"
found.warnings.each { println it }
