"""The words of the tree: no term that docs/glossary.md rules out, and no comment that begins with a fragment.

The glossary's last column holds words that are not used for a thing; those in `code type` are not used anywhere. A comment
is a full sentence: it does not open with one of OPENERS.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GLOSSARY = "docs/glossary.md"
COMMENTED = {".rs", ".c", ".h", ".cpp", ".cu", ".cuh", ".java"}
SUFFIXES = COMMENTED | {".html", ".properties", ".config", ".md", ".py", ".sh", ".ijm"}
OPENERS = ["What", "Of", "Whether", "Which", "Where", "As", "How", "Likewise", "And", "Or"]


def banned():
    """The words in code type of the last column of the glossary's tables."""
    rows = [line for line in (ROOT / GLOSSARY).read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return sorted({word for row in rows for word in re.findall(r"`([^`]+)`", row.rstrip("| ").rsplit("|", 1)[-1])})


def texts():
    """Every text file under version control or to be added to it, but for the glossary and this program."""
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    for name in listing.stdout.splitlines():
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file() and name not in (GLOSSARY, "scripts/check_words.py"):
            yield name, path.suffix, path.read_text(encoding="utf-8").splitlines()


def main():
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, banned()))})\b", re.IGNORECASE)
    # The first line of a comment: the line before it is none.
    comment = re.compile(r"\s*(?://[/!]?|/?\*+)\s*(\w*)")
    problems = 0
    for name, suffix, lines in texts():
        before = None
        for number, line in enumerate(lines, 1):
            found = [f'the word "{word}"' for word in words.findall(line)]
            opened = comment.match(line) if suffix in COMMENTED else None
            if opened and (before is None or not before[1]) and opened[1] in OPENERS:
                found.append(f'a comment that begins with "{opened[1]}"')
            before = opened
            for problem in found:
                problems += 1
                print(f"check_words: {name}:{number}: {problem}", file=sys.stderr)
    if problems:
        sys.exit(f"check_words: {problems} places to rewrite; {GLOSSARY} has the words to use")


if __name__ == "__main__":
    main()
