package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Licences, notices and citations, as they are in the jar. */
class NoticesTest {
    private static final Path PROJECT =
            Paths.get(System.getProperty("isoline.test.data")).resolve("../..");

    private static String source(String file) throws IOException {
        return new String(Files.readAllBytes(PROJECT.resolve(file)), StandardCharsets.UTF_8);
    }

    @Test
    void licencesAreInTheJar() throws Exception {
        for (String file : new String[] {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES", "CITATION.cff"}) {
            assertEquals(source(file), Resource.text("/META-INF/" + file), file);
        }
    }

    @Test
    void noticesNameTheCratesThatAreLinked() {
        String notices = Resource.text("/META-INF/THIRD-PARTY-NOTICES");
        // The crates in the project's Cargo.toml; scripts/third_party.py compares with all that Cargo links.
        for (String crate : new String[] {"bytemuck", "cudarc", "dirs", "libc", "log", "lzma-rs", "ndarray", "pulp"}) {
            assertTrue(notices.matches("(?s).*\n" + crate + " [0-9.]+: [^\n]*(MIT|Apache)[^\n]*\n.*"), crate);
        }
        assertTrue(notices.contains("\nMozilla Public License Version 2.0\n"), "the text for option-ext");
        assertFalse(notices.contains("proptest"), "only tests need it");
    }

    @Test
    void nothingOfNvidiasIsRedistributed() throws Exception {
        String notices = Resource.text("/META-INF/THIRD-PARTY-NOTICES");
        assertTrue(notices.contains("Nothing of NVIDIA's is redistributed"));
        Path classes = Paths.get(HeadlessProcess.location(Help.class));
        try (java.util.stream.Stream<Path> files = Files.walk(classes)) {
            assertFalse(files.anyMatch(file -> file.toString().matches(".*(cuda[^/]*\\.h|\\.cuh?|\\.hpp|libcu[^/]*)")));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "edge-strength, Keleş, Özsen",
        "edge-drawing, Parallelizing Edge Drawing; A combined real-time edge; >EDPF:; >EDLines:; >EDCircles:, Keleş",
        "distance, Felzenszwalb, Keleş",
        "level-set, Mostofi; Chan T. F.; Caselles V., Keleş",
        "region-snake, Couturier, Keleş",
        "isolines, Lorensen, Keleş",
        "isosurface, Nielson, Keleş",
        "objects, Elsey, Keleş",
    })
    void helpSaysHowToCite(String page, String works, String other) {
        String help = Help.text(page);
        assertTrue(help.contains("<h3>How to cite</h3>"), help);
        assertTrue(help.contains("The Isoline authors: <i>Isoline</i>, version "), help);
        String references = help.substring(help.indexOf("How to cite"));
        for (String work : works.split("; ")) {
            assertTrue(references.contains(work), work + ": " + references);
        }
        assertFalse(references.contains(other), references);
        assertTrue(help.trim().endsWith("</html>"), help);
        assertFalse(help.matches("(?s).*<b>[^<]*_.*?</b>.*"), "fields are named as in the dialog, without underscores");
    }

    @Test
    void everyHelpIsRead() throws Exception {
        Set<String> pages = new HashSet<>();
        for (Isoline.Call<?> call : Isoline.OPERATIONS.values()) {
            pages.add(call.newSettings.create().kind.replace(' ', '-'));
        }
        String[] rows = getClass()
                .getDeclaredMethod("helpSaysHowToCite", String.class, String.class, String.class)
                .getAnnotation(CsvSource.class)
                .value();
        assertEquals(pages, Arrays.stream(rows).map(row -> row.split(",")[0]).collect(Collectors.toSet()));
    }

    @Test
    void helpOfTheDevicesCitesTheSoftwareAlone() {
        String help = Help.text("devices");
        assertTrue(help.contains("<i>Isoline</i>, version "), help);
        assertFalse(help.contains("Keleş"), help);
    }
}
