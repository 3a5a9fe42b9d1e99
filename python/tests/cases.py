"""Random cases of reductions, and what they should give: shared by the tests with and without a GPU."""

from __future__ import annotations

import numpy as np

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]

OPERATIONS = [
    "sum",
    "prod",
    "min",
    "max",
    "minmax",
    "argmin",
    "argmax",
    "mean",
    "var",
    "std",
    "norm",
    "logsumexp",
    "any",
    "all",
    "count_nonzero",
]

#: Relative to the magnitudes that go into a result, by the type that it is computed in.
TOLERANCE = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-12}


def values(random, dtype: str, count: int, operation: str = "sum"):
    """Small numbers, so that there are ties, and for products powers of two, which neither overflow in any order nor are rounded; now and then
    a NaN or an infinity."""
    if dtype == "bool":
        return random.random(count) < 0.7
    if dtype.startswith("u"):
        return random.integers(0, 7, count).astype(dtype)
    if dtype.startswith("int"):
        return random.integers(-3, 8, count).astype(dtype)
    numbers = random.standard_normal(count)
    if random.random() < 0.5:
        numbers = np.round(numbers)
    if operation == "prod":
        numbers = random.choice([1.0, -1.0, 0.5, 2.0], count, p=[0.5, 0.498, 0.001, 0.001])
    if random.random() < 0.1 and count:
        numbers[random.integers(count)] = random.choice([np.nan, np.inf, -np.inf])
    return numbers.astype(dtype)


def shape(random, most: int = 3000) -> tuple:
    """Of up to four axes, some of them short or of length 1."""
    axes = int(random.integers(1, 5))
    lengths = [1, 2, 3, 5, 8, 17, 33, 64, 129, 1000]
    while True:
        found = tuple(int(random.choice(lengths)) for _ in range(axes))
        if np.prod(found) <= most:
            return found


def view(random, array):
    """The array or a view of it, with strides of every kind. Works for arrays of NumPy and CuPy."""
    kind = int(random.integers(7))
    if kind == 1:
        return array.transpose(tuple(int(axis) for axis in random.permutation(array.ndim)))
    if kind == 2:
        return array[tuple(slice(None, None, int(random.choice([1, 2, 3]))) for _ in range(array.ndim))]
    if kind == 3:
        return array[tuple(slice(None, None, int(random.choice([1, -1]))) for _ in range(array.ndim))]
    if kind == 4:
        return array[tuple(slice(int(length > 2), None) for length in array.shape)]
    if kind == 5:
        # Repeated along a new first axis, without more memory.
        module = __import__(type(array).__module__.split(".")[0])
        return module.broadcast_to(array, (int(random.integers(1, 4)), *array.shape))
    if kind == 6 and array.ndim > 1:
        return array.swapaxes(0, -1)[..., ::-1]
    return array


def axis(random, axes: int, operation: str):
    """None, a number or several."""
    kind = int(random.integers(4))
    if kind == 0:
        return None
    if kind == 3 and not operation.startswith("arg") and axes > 1:
        several = random.permutation(axes)[: int(random.integers(1, axes + 1))]
        return tuple(int(each) - axes * int(random.integers(2)) for each in several)
    return int(random.integers(-axes, axes))


def expected(operation: str, array, axis, keepdims: bool, ddof: int):
    """What NumPy gives for an array of its own, and what differences there may be."""
    floats = array.dtype.kind == "f"
    wide = array.astype("float64") if floats else array
    tolerance = TOLERANCE[array.dtype.name] if floats else 1e-12
    options = {"axis": axis, "keepdims": keepdims}
    with np.errstate(all="ignore"):
        magnitude = np.abs(array.astype("float64"))
        total = np.sum(magnitude, **options)
        largest = np.max(magnitude, **options)
        if operation == "minmax":
            return (np.min(array, **options), np.max(array, **options)), 0 * total
        if operation in ("min", "max", "argmin", "argmax", "any", "all", "count_nonzero"):
            found = getattr(np, operation)(array, **options)
            return found, 0 * total
        if operation == "sum":
            # The usual sum, of floats a wider one, in the usual type.
            usual = np.sum(array[:0], dtype=None).dtype
            return np.sum(wide, **options).astype(usual), tolerance * total
        if operation == "prod":
            usual = np.prod(array[:0], dtype=None).dtype
            found = np.prod(wide, **options).astype(usual)
            return found, 100 * tolerance * np.abs(found.astype("float64"))
        if operation == "mean":
            return np.mean(wide, **options), tolerance * (largest + 1)
        if operation in ("var", "std"):
            found = getattr(np, operation)(wide, ddof=ddof, **options)
            return found, 10 * tolerance * (largest**2 + 1)
        if operation == "norm":
            return np.sqrt(np.sum(wide.astype("float64") ** 2, **options)), tolerance * (total + 1)
        if operation == "logsumexp":
            return logsumexp(wide.astype("float64"), **options), tolerance * (largest + 10)
    raise AssertionError(operation)


def logsumexp(array, axis, keepdims):
    """ln Σ eˣ, as SciPy has it."""
    most = np.max(array, axis=axis, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    found = np.log(np.sum(np.exp(array - most), axis=axis, keepdims=True)) + most
    if not keepdims:
        found = found.reshape(np.sum(array, axis=axis).shape)
    return found


def assert_same(found, wanted, tolerance, what: str):
    """Compares two arrays of NumPy; a NaN is only the same as a NaN."""
    assert found.shape == wanted.shape, f"{what}: shape {found.shape} instead of {wanted.shape}"
    if wanted.dtype.kind != "f":
        assert np.array_equal(found, wanted), f"{what}: {found} instead of {wanted}"
        return
    found, wanted = found.astype("float64"), wanted.astype("float64")
    # What is too large for the result's own type.
    limit = np.broadcast_to(np.asarray(tolerance, "float64"), wanted.shape)
    with np.errstate(all="ignore"):
        near = np.abs(found - wanted) <= np.nan_to_num(limit, nan=np.inf, posinf=np.inf)
    same = near | (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    assert same.all(), f"{what}: {found[~same][:4]} instead of {wanted[~same][:4]}, at most {limit[~same][:4]} apart"
