package io.github.isoline.ij;

/** The help pages: they are in the jar, so that they are available without a network. */
final class Help {
    private static final String END = "</html>";

    private Help() {}

    /** Returns the HTML page help-NAME.html with how to cite, in the form that GenericDialog.addHelp displays. */
    static String text(String name) {
        return Resource.text("help-" + name + ".html").replace(END, Citation.html(name.replace('-', ' ')) + END);
    }
}
