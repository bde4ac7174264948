"""Relative links in the documents lead to files, and their anchors to headings, of this tree."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(text):
    """The anchors of a document's headings, made as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def main():
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    problems = []
    for name in listing.stdout.splitlines():
        document = ROOT / name
        for target, anchor in LINK.findall(document.read_text(encoding="utf-8")):
            path = (document.parent / target).resolve() if target else document
            if not path.exists():
                problems.append(f"{name}: there is no {target}")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
                problems.append(f"{name}: {target} has no heading #{anchor}")
    for problem in problems:
        print(f"check_links: {problem}", file=sys.stderr)
    if problems:
        sys.exit("check_links: correct the links")


if __name__ == "__main__":
    main()
