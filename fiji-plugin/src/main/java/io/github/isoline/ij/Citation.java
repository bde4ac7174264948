package io.github.isoline.ij;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Says how to cite Isoline, from the project's CITATION.cff in the jar. Only what that file has of YAML is understood:
 * a key and a value on a line, and lists whose items begin with a dash.
 */
final class Citation {
    static final String FILE = "/META-INF/CITATION.cff";

    private static final String SOFTWARE = "";

    private Citation() {}

    /** Returns a paragraph of HTML: the software, and the papers whose note is this operation. */
    static String html(String operation) {
        List<Map<String, String>> works = works(Resource.text(FILE));
        StringBuilder html = new StringBuilder("<h3>How to cite</h3>\n<p>");
        html.append(works.get(0).get("message")).append("</p>\n<ul>\n");
        for (Map<String, String> work : works) {
            String note = work.getOrDefault("notes", SOFTWARE);
            if (note.equals(SOFTWARE) || note.equals(operation)) {
                html.append("<li>").append(reference(work)).append("</li>\n");
            }
        }
        return html.append("</ul>\n").toString();
    }

    private static String reference(Map<String, String> work) {
        String text = work.get("authors");
        text += work.containsKey("year") ? " (" + work.get("year") + "): " : ": ";
        text += "<i>" + work.get("title") + "</i>";
        text += work.containsKey("version") ? ", version " + work.get("version") : "";
        text += work.containsKey("journal") ? ", " + work.get("journal") : "";
        String doi = work.get("doi");
        return text + (doi == null ? "" : ", <a href=\"https://doi.org/" + doi + "\">doi:" + doi + "</a>");
    }

    /** Returns the fields of the software, followed by those of each reference. */
    private static List<Map<String, String>> works(String cff) {
        List<Map<String, String>> works = new ArrayList<>();
        works.add(new LinkedHashMap<>());
        for (String line : cff.split("\r?\n")) {
            if (line.startsWith("  - type:")) {
                works.add(new LinkedHashMap<>());
            }
            Map<String, String> work = works.get(works.size() - 1);
            String[] field = line.trim().replaceFirst("^- ", "").split(": ", 2);
            if (field.length == 2) {
                String value = field[1].replaceAll("^\"|\"$", "");
                boolean given = field[0].equals("given-names");
                boolean author = given || field[0].equals("family-names") || field[0].equals("name");
                work.merge(author ? "authors" : field[0], value, (before, now) -> before + (given ? " " : ", ") + now);
            }
        }
        return works;
    }
}
