package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Isosurface;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Computes the isosurface of each volume of an ImagePlus. */
final class IsosurfaceJob extends StackJob<IsosurfaceSettings> {
    private final List<Isosurface> surfaces = new ArrayList<>();
    private VoxelSize size;
    private Params params;

    IsosurfaceJob(ImagePlus image, IsosurfaceSettings settings) throws BadInput {
        super(image, settings);
    }

    @Override
    void begin(Progress progress) throws IsolineException {
        size = new VoxelSize(image, true);
        params = settings.toParams(image, IsosurfaceSettings.LEVEL);
    }

    @Override
    PixelBuffer.Type outputType() {
        return null;
    }

    @Override
    Report call(Context context, PixelBuffer input, PixelBuffer output, int[] part, Progress progress)
            throws IsolineException {
        input.setSpacing(size.x, size.y, size.z);
        Isosurface surface = Isosurface.run(context, params, input, part.length, progress);
        surfaces.add(surface);
        rows.add(table -> {
            addPosition(table, planes, part[0], false);
            table.addValue("Level", level(surface));
            table.addValue("Surface area", surface.area());
            table.addValue("Volume", surface.volume());
            table.addValue("Mean curvature", surface.meanCurvature());
            table.addValue("Pieces", surface.pieces());
            table.addValue("Euler", surface.euler());
            table.addValue("Closed", surface.isClosed() ? 1 : 0);
            table.addValue("Vertices", surface.vertexCount());
            table.addValue("Triangles", surface.triangleCount());
            ShapeColumns.addUnit(table, image);
        });
        return surface.report();
    }

    @Override
    ImagePlus end() {
        return null;
    }

    @Override
    void writeFiles() throws IsolineException {
        MeshFile.save(surfaces, settings.files(image));
    }

    @Override
    void deliverOthers() throws IsolineException {
        if (settings.is(Settings.RESULTS_TABLE)) {
            deliverRows();
        }
        if (settings.is(IsosurfaceSettings.VIEWER) && triangles() > 0) {
            // Without the viewer, or without room in it, the other outputs are there all the same.
            showSurfaces();
        }
    }

    /** Adds the surfaces to the 3D Viewer: those of a channel as one, with a point in time for each frame. */
    private void showSurfaces() throws BadInput {
        Viewer3D viewer = Viewer3D.open(triangles(), image.getCalibration());
        for (int c = 0; c < planes.channels(); c++) {
            List<Isosurface> frames = new ArrayList<>();
            for (int i = c; i < surfaces.size(); i += planes.channels()) {
                frames.add(surfaces.get(i));
            }
            int[] position = planes.position(planes.indices()[c]);
            boolean equal =
                    frames.stream().mapToDouble(Isosurface::level).distinct().count() == 1;
            String name =
                    image.getTitle() + ", level " + (equal ? Setting.shortest(level(frames.get(0))) : Settings.AUTO);
            name += image.getNChannels() > 1 ? ", channel " + position[0] : "";
            name += image.getNFrames() > planes.frames() ? ", frame " + position[2] : "";
            viewer.add(frames, name, c);
        }
    }

    /** Returns the level of a surface as ImageJ shows the image's values. */
    private double level(Isosurface surface) {
        return ShownValues.of(image).of(surface.level());
    }

    private long triangles() {
        return surfaces.stream().mapToLong(Isosurface::triangleCount).sum();
    }

    @Override
    RowTable rowTable() {
        return RowTable.of(Isoline.ISOSURFACE.command, image, Collections.singletonList("Surface area"));
    }

    @Override
    String outcome() {
        return RunLog.count((int) Math.min(Integer.MAX_VALUE, triangles()), "triangle");
    }

    @Override
    List<String> warnings() {
        boolean empty = surfaces.stream().anyMatch(surface -> surface.triangleCount() == 0);
        String none = "no voxels above and below the level are neighbours, so there is no surface.";
        return said(size.warning, empty ? none : null);
    }
}
