package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * A stand-in for Fiji's 3D Viewer, which is not on Maven Central and needs OpenGL. Its classes, in the resources of the
 * tests, have the names and the signatures of the viewer's own, as far as the plugin calls them (those of version
 * 4.0.5), and print what they are given. They are compiled when a test installs them: on the tests' own class path
 * every test would have a viewer.
 */
final class StandInViewer {
    static final String VECMATH = "org.scijava.vecmath";

    /** The package of points and colours before version 4. */
    static final String OLD_VECMATH = "javax.vecmath";

    private StandInViewer() {}

    /**
     * Makes a jar of it.
     *
     * @param folder for what is compiled
     * @param vecmath the package of points and colours
     */
    static void install(Path folder, Path jar, String vecmath) throws IOException, URISyntaxException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        assumeTrue(compiler != null, "this Java has no compiler");
        Path work = Files.createTempDirectory(folder, "viewer");
        Path classes = Files.createDirectory(work.resolve("classes"));
        Path sources = Paths.get(HeadlessProcess.location(StandInViewer.class), "viewer");
        List<File> files = new ArrayList<>();
        for (Path source : files(sources)) {
            String text = new String(Files.readAllBytes(source), StandardCharsets.UTF_8).replace(VECMATH, vecmath);
            Path named =
                    Files.createDirectory(work.resolve("source" + files.size())).resolve(source.getFileName());
            Files.write(named, text.getBytes(StandardCharsets.UTF_8));
            files.add(named.toFile());
        }
        StringWriter errors = new StringWriter();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            List<String> options =
                    Arrays.asList("-nowarn", "-d", classes.toString(), "-cp", HeadlessProcess.location(ij.IJ.class));
            boolean compiled = compiler.getTask(
                            errors, manager, null, options, null, manager.getJavaFileObjectsFromFiles(files))
                    .call();
            assertTrue(compiled, errors.toString());
        }
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            for (Path file : files(classes)) {
                out.putNextEntry(
                        new JarEntry(classes.relativize(file).toString().replace(File.separatorChar, '/')));
                Files.copy(file, out);
            }
        }
    }

    private static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(Files::isRegularFile).collect(Collectors.toList());
        }
    }
}
