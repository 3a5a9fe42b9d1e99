"""Times `warpfold` beside NumPy on arrays in this computer's memory, and verifies each result first.

Needs both: `pip install numpy` and the wheel of `cargo xtask wheel`. Prints a table: milliseconds, medians, and NumPy's time divided by ours.
"""

import os
import sys
import time

import numpy
import warpfold

BYTES = 1 << 27
REPEAT = 15

CALLS = [
    ("sum", {}),
    ("max", {}),
    ("argmax", {}),
    ("var", {}),
    ("sum", {"axis": 1}),
    ("max", {"axis": 1}),
    ("argmax", {"axis": 1}),
    ("var", {"axis": 1}),
    ("sum", {"axis": 0}),
    ("max", {"axis": 0}),
    ("var", {"axis": 0}),
]


def milliseconds(call):
    """The median of some calls, after one that is not timed."""
    call()
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[REPEAT // 2] * 1e3


def main():
    print(f"{os.cpu_count()} cores, NumPy {numpy.__version__}, medians of {REPEAT}")
    print("| | type | shape | NumPy, ms | warpfold, ms | |\n|---|---|---|--:|--:|--:|")
    random = numpy.random.default_rng(1)
    slower = 0
    for element in ["float32", "float64", "int32", "uint8"]:
        columns = 1 << 10
        rows = BYTES // numpy.dtype(element).itemsize // columns
        values = random.integers(0, 100, (rows, columns)).astype(element)
        # In float64, since NumPy's own float32 variance of columns is off by more than 1e-4.
        exact = values.astype("float64") if element == "float32" else values
        for name, options in CALLS:
            theirs, ours = getattr(numpy, name), getattr(warpfold, name)
            expected, found = theirs(exact, **options), ours(values, **options)
            if not numpy.allclose(found, expected, rtol=1e-4):
                sys.exit(f"{name} of {element} with {options} is wrong")
            of_numpy = milliseconds(lambda: theirs(values, **options))
            of_warpfold = milliseconds(lambda: ours(values, **options))
            shape = {None: "all", 1: "rows", 0: "columns"}[options.get("axis")]
            ratio = of_numpy / of_warpfold
            slower += ratio < 1
            print(f"| {name} | {element} | {shape} | {of_numpy:.2f} | {of_warpfold:.2f} | {ratio:.2f} × |")
    print(f"slower in {slower}")


if __name__ == "__main__":
    main()
