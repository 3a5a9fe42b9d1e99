#!/usr/bin/env python3
"""Reads off machine code what ptxas makes of each conditional branch of PTX files, and writes one CSV file.

    python3 peers/branches.py OUT.csv [--arch sm_90] FILE.ptx …

Needs ptxas and nvdisasm, but no GPU. Each row is a branch: the file, its line, and `kept`, where a conditional branch comes from
that line, `exit`, where a conditional exit or return does, or `predicated`, where neither does.
"""

import argparse
import csv
import pathlib
import re
import subprocess
import tempfile

BRANCH = re.compile(r"^\s*@!?%\w+\s+bra\s")
LINE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt[^"]*", line (\d+)')
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(@\S+)?\s*([A-Z0-9.]+)")


def guarded_by_line(ptx, arch):
    """The guarded machine instructions that come from each line."""
    with tempfile.TemporaryDirectory() as folder:
        machine_code = pathlib.Path(folder) / "out.cubin"
        # Relocatable: calls of the device's runtime are for the linker.
        subprocess.run(["ptxas", f"-arch={arch}", "-lineinfo", "-c", ptx, "-o", machine_code], check=True)
        text = subprocess.run(["nvdisasm", "-c", "--print-line-info-ptx", machine_code], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    found, line = {}, None
    for row in text.splitlines():
        if row.startswith(".text."):
            line = None
        elif place := LINE.match(row):
            line = int(place[1])
        elif (instruction := INSTRUCTION.match(row)) and instruction[1]:
            found.setdefault(line, []).append(instruction[2].split(".")[0])
    if not found:
        raise SystemExit(f"{ptx}: nvdisasm shows no lines of the PTX")
    return found


def branches(ptx, arch):
    guarded = guarded_by_line(ptx, arch)
    for line, text in enumerate(ptx.read_text().splitlines(), 1):
        if BRANCH.match(text):
            names = guarded.get(line, [])
            fate = "kept" if "BRA" in names else "exit" if {"EXIT", "RET"} & set(names) else "predicated"
            yield {"file": ptx.name, "line": line, "fate": fate}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = [row for ptx in arguments.files for row in branches(ptx, arguments.arch)]
    with open(arguments.out, "w", newline="") as file:
        writer = csv.DictWriter(file, ["file", "line", "fate"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
