#!/usr/bin/env python3
"""Executes the forms of arithmetic instructions in `emulator/tests/data/arithmetic.h200.tsv` on a GPU, and writes the table with what
the GPU gave.

    cargo run --release --package warpfold-emulator-tests --example arithmetic_forms -- FOLDER
    python3 peers/arithmetic.py FOLDER emulator/tests/data/arithmetic.h200.tsv OUT.tsv

Needs CuPy and a GPU of compute capability 9.0 or higher. A row is a form: PTX with `d` for the result and `a`, `b`, `c` for the
operands, their types, and the first 16 digits of the SHA-256 digest of what it gave 1024 threads, 64 bits each. Forms that the
emulator executes otherwise are listed, with the operands of the first thread that differs.
"""

import argparse
import csv
import hashlib
import pathlib

import cupy
import numpy

COUNT = 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    with open(arguments.table, newline="") as file:
        rows = list(csv.DictReader(file, dialect="excel-tab"))
    module = cupy.RawModule(path=str(arguments.folder / "forms.ptx"))
    operands = numpy.fromfile(arguments.folder / "operands.bin", "<u8").reshape(len(rows), 3, COUNT)
    emulated = numpy.fromfile(arguments.folder / "emulated.bin", "<u8").reshape(len(rows), COUNT)
    different = 0
    for number, row in enumerate(rows):
        results = cupy.zeros(COUNT, "<u8")
        module.get_function(f"form_{number}")((1,), (COUNT,), (cupy.asarray(operands[number]), results))
        given = results.get()
        row["digest"] = hashlib.sha256(given.tobytes()).hexdigest()[:16]
        wrong = numpy.nonzero(given != emulated[number])[0]
        if wrong.size:
            different += 1
            first = wrong[0]
            of = " ".join(f"{operand:#x}" for operand in operands[number, :, first])
            print(f"{row['instruction']} {wrong.size} times, first of {of}: "
                  f"{given[first]:#x}, emulated {emulated[number, first]:#x}")
    with open(arguments.out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], dialect="excel-tab", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{different} of {len(rows)} forms differ")


if __name__ == "__main__":
    main()
