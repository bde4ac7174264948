"""The examples of docs/python.md run, one after another, in a checkout."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "python.md"


def test_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    examples = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(examples) >= 5
    names = {}
    for example in examples:
        line = text.count("\n", 0, example.start())
        exec(compile("\n" * line + "\n" + example[1], str(PAGE), "exec"), names)
    assert names["mask"].any() and len(names["segments"]) > 10 and names["labels"].max() == 1
