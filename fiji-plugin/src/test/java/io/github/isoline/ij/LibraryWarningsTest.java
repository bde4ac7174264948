package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.LibraryLog;
import io.github.isoline.LibraryLogTest;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Warnings of the library reach the user, or the script. */
class LibraryWarningsTest extends HeadlessTest {
    private static final String OPTIONS = "threshold=127";

    private final ImagePlus image = open("coins.png");

    @BeforeEach
    void takeEarlierOnes() {
        LibraryLog.take();
    }

    private static void provoke(long... addresses) {
        try {
            LibraryLogTest.provoke(addresses);
        } catch (IsolineException e) {
            throw new AssertionError(e);
        }
    }

    private static List<String> lines(String log, String words) {
        return Arrays.stream(log.split("\n"))
                .filter(line -> line.contains(words))
                .collect(Collectors.toList());
    }

    @Test
    void oneLineForEachRunAndTenAtMost() {
        String code = "run(\"Signed Distance...\", \"" + OPTIONS + "\");";
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < 12; i++) {
            provoke(0x10, 0x20);
            all.append(macro(image, code).log);
        }
        String log = all.toString();
        List<String> lines = lines(log, "isoline_buffer_free ignores the address ");
        assertEquals(10, lines.size(), log);
        String begin = "Signed Distance (coins.png): warning: isoline_buffer_free ignores the address 0x10: ";
        assertTrue(lines.stream().allMatch(line -> line.startsWith(begin)), log);
        assertEquals(lines.subList(9, 10), lines(log, "Later ones like this are left out."), log);
    }

    @Test
    void scriptGetsThemWithTheResult() throws IsolineException {
        provoke(0x10, 0x20);
        String log = captured(() -> {
                    try {
                        Result result = Isoline.signedDistance(image, OPTIONS);
                        assertEquals(
                                1,
                                result.getWarnings().size(),
                                result.getWarnings().toString());
                        assertTrue(result.getWarnings().get(0).startsWith("isoline_buffer_free ignores"));
                    } catch (IsolineException e) {
                        throw new AssertionError(e);
                    }
                    return "";
                })
                .log;
        assertEquals("", log);
        assertTrue(Isoline.signedDistance(image, OPTIONS).getWarnings().isEmpty());
    }

    @Test
    void runThatIsCancelledHasLoggedThem() throws IsolineException {
        EdgeStrengthJob job =
                new EdgeStrengthJob(image, Settings.fromMacro(new EdgeStrengthSettings(), OPTIONS + " device=cpu"));
        job.libraryWarnings.log("Test", image);
        String log = captured(() -> {
                    IsolineException e = assertThrows(
                            IsolineException.class,
                            () -> job.run((fraction, stage) -> {
                                // The words differ from those of the other tests.
                                provoke(0xab);
                                return false;
                            }));
                    assertTrue(e.isCancelled(), e.getMessage());
                    return "";
                })
                .log;
        assertEquals(1, lines(log, "Test (coins.png): warning: ").size(), log);
    }

    @Test
    void commandsOwnWordsAreNotSaidTwice() throws IsolineException {
        Result result = Isoline.edgeStrength(image, OPTIONS + " max_cycles=1 tolerance=1e-9");
        assertEquals(1, result.getWarnings().size(), result.getWarnings().toString());
        assertTrue(result.getWarnings().get(0).startsWith("the tolerance 1.0E-9 was not reached"));
    }
}
