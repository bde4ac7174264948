"""Makes one GPU record of several, whose parts ran apart.

The records must come from one bundle and one kind of GPU, and nothing may be in two of them. The result passes if all
of them do. What none of them has, tests, sanitizer runs and benches, is taken from the earlier record, where it passed, and
says its commit and, of another kind of GPU, its device: for changes that do not touch what it tests or measures.
With --passed the records may be of runs that were cut off, or in which something failed: what passed is taken. What did not,
and is in no other record, is named in the result, `failed`, and not taken from the earlier record.
"""

import argparse
import json
import os
import sys

# Fields that must be the same in all records: the bundle, and the kind of GPU.
SAME = ("version", "commit", "kernels_tree", "src_tree", "dirty", "rustc", "built", "device", "compute_capability")
# Fields in which two machines of one kind may differ; the merged record lists all values.
MAY_DIFFER = ("driver", "device_memory", "cuda")
# Lists that are joined, and the fields that identify their entries.
LISTS = {"suites": ("name",), "sanitizer": ("tool", "program"), "benches": ("name",)}


def merged(names, records):
    """One record of all; ends the program where they do not fit together."""
    result = {}
    for key in SAME:
        values = [record[key] for record in records]
        if any(value != values[0] for value in values):
            told = ", ".join(f"{name}: {value}" for name, value in zip(names, values))
            sys.exit(f"merge: the records must have the same {key}, but they have {told}")
        result[key] = values[0]
    for key in MAY_DIFFER:
        result[key] = ", ".join(dict.fromkeys(record[key] for record in records))
    order = sorted(range(len(records)), key=lambda index: records[index]["ran"])
    names, records = [names[index] for index in order], [records[index] for index in order]
    result["ran"] = records[0]["ran"]
    result["runs"] = [{key: record[key] for key in ("ran", "parts", "outcome")} for record in records]
    result["parts"] = " ".join(record["parts"] for record in records)
    result["outcome"] = "pass" if all(record["outcome"] == "pass" for record in records) else "FAIL"
    for key, identity in LISTS.items():
        seen = {}
        for name, record in zip(names, records):
            for entry in record[key]:
                what = " ".join(entry[part] for part in identity)
                if what in seen:
                    sys.exit(f"merge: {what} is in {seen[what]} and in {name}; leave one of them out")
                seen[what] = name
        result[key] = [entry for record in records for entry in record[key]]
    notes = [record["sanitizer_note"] for record in records if "sanitizer_note" in record]
    if notes:
        result["sanitizer_note"] = notes[0]
    return result


def written(record):
    """Returns a record as text in the form that the run writes: each entry of a list on a line."""
    fields = []
    for key, value in record.items():
        if isinstance(value, list):
            lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in value)
            text = f"[\n{lines}\n  ]" if value else "[]"
        else:
            text = json.dumps(value, ensure_ascii=False)
        fields.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def add_rest(record, earlier, left_out):
    """Adds what only the earlier record has, but for what was left out, with its commit and, if it differs, its device."""
    origin = {"commit": earlier["commit"]}
    if record["device"] != earlier["device"]:
        origin["device"] = earlier["device"]
    for key, identity in LISTS.items():
        def name(entry, identity=identity):
            return " ".join(entry[part] for part in identity)
        names = {name(entry) for entry in record[key]}
        taken = [{**origin, **entry} for entry in earlier[key] if name(entry) not in names | left_out]
        failed = [name(entry) for entry in taken if entry["outcome"] not in ("pass", "clean")]
        if failed:
            sys.exit(f"merge: in the earlier record these failed: {', '.join(failed)}")
        record[key] += taken


def keep_passed(record):
    """Leaves out of a record what did not pass; returns the names of that."""
    left_out = []
    for key, identity in LISTS.items():
        for entry in list(record[key]):
            if entry["outcome"] not in ("pass", "clean"):
                left_out.append(" ".join(entry[part] for part in identity))
                record[key].remove(entry)
    return left_out


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT.json")
    parser.add_argument("records", metavar="RECORD.json", nargs="+")
    parser.add_argument("--rest-of", metavar="EARLIER.json")
    parser.add_argument("--passed", action="store_true")
    options = parser.parse_args()
    if os.path.exists(options.out) and "runs" not in load(options.out):
        sys.exit(f"merge: {options.out} is the record of a run, and is not written over; name the new file first")
    records = [load(name) for name in options.records]
    left_out = set()
    for name, record in zip(options.records, records):
        failed = keep_passed(record) if options.passed else []
        if failed:
            print(f"merge: left out of {name}: {', '.join(failed)}")
        left_out.update(failed)
    record = merged(options.records, records)
    left_out -= {" ".join(entry[part] for part in identity) for key, identity in LISTS.items() for entry in record[key]}
    if options.passed:
        record["outcome"] = "FAIL" if left_out else "pass"
    if left_out:
        record["failed"] = sorted(left_out)
    if options.rest_of:
        add_rest(record, load(options.rest_of), left_out)
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(written(record))
    print(f"merge: {record['outcome']}, {len(options.records)} records in {options.out}")


if __name__ == "__main__":
    main()
