#!/usr/bin/env python3
"""Checks the words of the files: no word that docs/glossary.md rules out, no comment that opens as a fragment.

Usage: check_words.py [PATH...]; without arguments it checks all files but the glossary. A word is ruled out if it
stands in backticks in the last column of a table of the glossary. Prints file:line and the term to use instead; the
status is 1 if there is any.
"""
import pathlib
import re
import subprocess
import sys

GLOSSARY = pathlib.Path("docs/glossary.md")

# The words with which a comment must not begin, because they open a fragment and not a sentence.
OPENERS = "What|Of|Whether|Which|Where|As|How|Likewise|And|Or"

# The marks that may stand before the text of a comment's line, by the ending of the file's name.
SLASHES = r"//[/!]?|/\*+!?|\*(?!/)"
HASHES = r"#+"
DOCSTRINGS = r'#+|"""'
MARKS = {
    **dict.fromkeys((".rs", ".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".java", ".js"), SLASHES),
    **dict.fromkeys((".sh", ".toml", ".yml"), HASHES),
    ".py": DOCSTRINGS,
}


def ruled_out(glossary):
    """Returns a pattern for each word that is ruled out, with the term to use instead."""
    words = {}
    for line in glossary.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) < 2 or cells[0] == "term" or set(cells[0]) == {"-"}:
            continue
        for word in re.findall(r"`([^`]+)`", cells[-1]):
            words[word] = cells[0]
    # The spaces of a phrase may be a line break with the mark of a comment; an underscore ends a word.
    gap = r"\s+(?:(?:" + SLASHES + "|" + HASHES + r")\s+)?"
    return [
        (re.compile(r"(?<![a-z])" + gap.join(map(re.escape, word.split())) + r"(?![a-z])", re.IGNORECASE), word, term)
        for word, term in words.items()
    ]


def complaints(path, text, words):
    """Yields the line number and the message of everything to correct in a file."""
    for pattern, word, term in words:
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, f'"{word}": use "{term}"'
    marks = MARKS.get(path.suffix)
    if marks:
        for match in re.finditer(rf"^[ \t]*(?:{marks})[ \t]?({OPENERS})\b", text, re.MULTILINE):
            line = text.count("\n", 0, match.start(1)) + 1
            yield line, f'a comment opens with "{match.group(1)}": write a sentence whose subject is the item'


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    words = ruled_out((root / GLOSSARY).read_text(encoding="utf-8"))
    assert words, f"{GLOSSARY} rules out no word"
    paths = sys.argv[1:] or [f":!{GLOSSARY}"]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *paths], cwd=root, check=True, capture_output=True, text=True
    )
    found = 0
    for name in filter(None, listed.stdout.split("\0")):
        path = root / name
        if not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not text
        for line, message in sorted(complaints(path, text, words)):
            print(f"{name}:{line}: {message}")
            found += 1
    if found:
        sys.exit(f"check_words: {found} to correct; the terms are in {GLOSSARY}")


if __name__ == "__main__":
    main()
