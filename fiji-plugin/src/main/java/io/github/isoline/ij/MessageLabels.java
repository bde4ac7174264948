package io.github.isoline.ij;

import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Messages in the words of a dialog. */
final class MessageLabels {
    /** Matches a macro key, or "key=word". */
    private static final Pattern KEY = Pattern.compile("\\b([a-z]+(?:_[a-z]+)*)\\b(?:=([a-z]+)\\b)?");

    private MessageLabels() {}

    /**
     * Returns a message with the labels of the dialog: macro keys become the labels of their fields, and key=word the
     * choice in it.
     *
     * @param fields the keys that have a field
     */
    static String in(String message, Settings settings, Set<String> fields) {
        Matcher matcher = KEY.matcher(message);
        boolean listsOutputs = message.startsWith(Settings.NO_OUTPUT);
        StringBuffer text = new StringBuffer();
        while (matcher.find()) {
            String word = matcher.group(1);
            String words = matcher.group();
            if (fields.contains(word)) {
                Setting setting = settings.setting(word);
                boolean chosen = matcher.group(2) != null;
                // A single word may be an ordinary word of the sentence.
                boolean isKey = matcher.start() == 0 || chosen || word.indexOf('_') > 0;
                if (isKey || listsOutputs && setting.output) {
                    words = chosen ? setting.label + " \"" + matcher.group(2) + "\"" : setting.label;
                }
            }
            matcher.appendReplacement(text, Matcher.quoteReplacement(words));
        }
        return matcher.appendTail(text).toString();
    }
}
