"""NumPy's arrays on the processor and the emulator, against NumPy. Needs no GPU."""

import ctypes
import gc
import inspect
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import warpfold

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

DEVICES = ["cpu", "emulator"]


def check(seed: int, device: str, most: int):
    random = np.random.default_rng(seed)
    operation = cases.OPERATIONS[seed % len(cases.OPERATIONS)]
    dtype = str(random.choice(cases.TYPES))
    shape = cases.shape(random, most)
    array = cases.view(random, cases.values(random, dtype, int(np.prod(shape)), operation).reshape(shape))
    axis = cases.axis(random, array.ndim, operation)
    keepdims, ddof = bool(random.integers(2)), int(random.integers(4))
    options = {"axis": axis, "keepdims": keepdims, "device": device}
    if operation in ("var", "std"):
        options["ddof"] = ddof
    if not operation.startswith("arg"):
        options["deterministic"] = bool(random.integers(2))
    what = f"seed {seed}: {operation} of {dtype} {array.shape} strides {array.strides} {options}"
    wanted, tolerance = cases.expected(operation, array, axis, keepdims, ddof)
    found = getattr(warpfold, operation)(array, **options)
    if operation != "minmax":
        found, wanted = (found,), (wanted,)
    for each, want in zip(found, wanted):
        assert isinstance(each, (np.ndarray, np.generic)), what
        # Where all of it was done in a wider type.
        if want.dtype.kind == "f" and dtype.startswith("float"):
            assert each.dtype == array.dtype, what
        else:
            assert each.dtype == want.dtype, what
        cases.assert_same(np.asarray(each), np.asarray(want), tolerance, what)


@pytest.mark.parametrize("block", range(20))
def test_random_cases_on_the_processor(block):
    for seed in range(block * 60, block * 60 + 60):
        check(seed, "cpu", 3000 if seed % 10 else 1_000_000)


@pytest.mark.parametrize("block", range(10))
def test_random_cases_on_the_emulator(block):
    for seed in range(block * 30, block * 30 + 30):
        check(seed, "emulator", 2000)


@pytest.mark.parametrize("shape", [(70_001,), (300_000, 3), (3, 300_000), (2, 50_000, 3), (40, 30, 20, 10), (1 << 20,)])
def test_large_arrays(shape):
    array = np.random.default_rng(1).standard_normal(shape).astype("float32")
    for view in [array, array[::2], array[::-1], array.T, array.swapaxes(0, -1)[::3]]:
        for axis in [None, 0, -1]:
            wanted = np.sum(view.astype("float64"), axis=axis)
            most = np.sum(np.abs(view), axis=axis, dtype="float64")
            for deterministic in [False, True]:
                found = warpfold.sum(view, axis, deterministic=deterministic)
                cases.assert_same(np.asarray(found), np.asarray(wanted), 1e-5 * most, f"{view.shape} {axis}")
            if axis is None or view.ndim > 1:
                assert np.array_equal(warpfold.argmax(view, axis), np.argmax(view, axis))
            cases.assert_same(
                np.asarray(warpfold.var(view, axis)), np.asarray(np.var(view.astype("float64"), axis)), 1e-4, "var"
            )


@pytest.mark.parametrize("dtype", cases.TYPES)
def test_types_are_those_of_numpy(dtype):
    array = np.ones((3, 4), dtype)
    for name in ["sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "any", "all", "cumsum", "cumprod"]:
        wanted = getattr(np, name)(array, axis=0)
        for device in DEVICES:
            found = getattr(warpfold, name)(array, axis=0, device=device)
            assert found.dtype == wanted.dtype, (name, device)
            assert np.array_equal(found, wanted), (name, device)
    assert warpfold.count_nonzero(array, axis=0).dtype == np.count_nonzero(array, axis=0).dtype
    assert type(warpfold.sum(array)) is type(np.sum(array))


def test_sums_of_integers_do_not_overflow_in_their_own_type():
    for device in DEVICES:
        assert warpfold.sum(np.full(3000, 127, "int8"), device=device) == 381_000
        assert warpfold.sum(np.full(300, 2**31 - 1, "int32"), device=device) == 300 * (2**31 - 1)
        assert warpfold.sum(np.full(300, 2**32 - 1, "uint32"), device=device) == 300 * (2**32 - 1)
        assert warpfold.prod(np.full(5, 100, "int8"), device=device) == 10**10
        assert warpfold.sum(np.full(300, 127, "int8"), dtype="int8", device=device) == np.full(300, 127, "int8").sum(dtype="int8")
        assert warpfold.sum(np.full(4, 2**62, "int64"), device=device) == 0


def test_dtype():
    array = np.arange(10, dtype="float32")
    for device in DEVICES:
        for dtype in ["float64", np.float64, np.dtype("f8"), float]:
            assert warpfold.sum(array, dtype=dtype, device=device).dtype == np.float64
    assert warpfold.sum(np.arange(10), dtype="float64") == 45.0
    assert warpfold.sum(np.ones(4, "float16"), dtype="float32").dtype == np.float32
    # 2^24 + 1 is no float32.
    odd = np.array([2.0**24, 1.0], "float32")
    halves = (np.random.default_rng(1).standard_normal((40, 300)) + 20).astype("float16")
    for device in DEVICES:
        assert warpfold.mean(odd, dtype="float64", device=device) == 8_388_608.5
        assert warpfold.cumsum(odd, dtype="float64", device=device)[1] == 16_777_217.0
        for axis in [None, 0, 1]:
            for name in ["sum", "mean", "var", "std"]:
                for array_of in [halves, halves.astype("float32")]:
                    found = getattr(warpfold, name)(array_of, axis, dtype="float64", device=device)
                    wanted = getattr(np, name)(array_of.astype("float64"), axis)
                    assert np.asarray(found).dtype == np.float64
                    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)
            found = warpfold.var(halves, axis, "float64", ddof=1, device=device)
            np.testing.assert_allclose(np.asarray(found), np.var(halves, axis, "float64", ddof=1), rtol=1e-12)
    assert warpfold.mean(np.arange(4), dtype="float64") == 1.5
    with pytest.raises(TypeError, match="not float32"):
        warpfold.mean(np.arange(4), dtype="float32")
    with pytest.raises(TypeError, match="not int32"):
        warpfold.sum(array, dtype="int32")
    with pytest.raises(TypeError, match="not float16"):
        warpfold.sum(array, dtype=np.float16)
    with pytest.raises(TypeError):
        warpfold.sum(np.arange(10), dtype="float64", device="emulator")


def test_variance_with_an_offset():
    array = (np.random.default_rng(0).standard_normal(100_000) + 1e8).astype("float64")
    assert abs(warpfold.var(array) - 1) < 0.05
    array = (np.random.default_rng(0).standard_normal(100_000) + 1e4).astype("float32")
    for device in DEVICES:
        assert abs(warpfold.var(array[:5000], device=device) - np.var(array[:5000].astype("float64"))) < 1e-3


def test_divisors():
    array = np.arange(7.0)
    for ddof in range(9):
        with np.errstate(all="ignore"), pytest.warns() if ddof > 6 else noop():
            wanted = np.var(array, ddof=ddof)
        for device in DEVICES:
            found = warpfold.var(array, ddof=ddof, device=device)
            assert found == wanted or abs(found - wanted) < 1e-12 or (np.isnan(found) and np.isnan(wanted)), ddof


class noop:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_deterministic_results_have_the_same_bits_everywhere():
    random = np.random.default_rng(5)
    for dtype in ["bool", "int8", "uint8", "int16", "int32", "uint64", "float16", "float32", "float64"]:
        array = cases.values(random, dtype, 20_000).reshape(40, 500)
        array = np.nan_to_num(array) if array.dtype.kind == "f" else array
        for name in ["sum", "mean", "var", "std", "norm", "logsumexp"]:
            for view in [array, array.T, array[:, ::-2], array[::3]]:
                for axis in [None, 0, 1]:
                    function = getattr(warpfold, name)
                    one, other = (function(view, axis=axis, deterministic=True, device=device) for device in DEVICES)
                    copied = function(np.ascontiguousarray(view), axis=axis, deterministic=True)
                    assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), (dtype, name, view.strides, axis)
                    assert np.asarray(one).tobytes() == np.asarray(copied).tobytes(), (dtype, name, view.strides, axis)


def test_empty_arrays():
    for device in DEVICES:
        empty = np.zeros((0, 3), "float32")
        assert warpfold.sum(empty, device=device) == 0
        assert np.array_equal(warpfold.sum(empty, axis=0, device=device), np.zeros(3, "float32"))
        assert warpfold.sum(empty, axis=1, device=device).shape == (0,)
        assert warpfold.max(empty, axis=1, device=device).shape == (0,)
        assert warpfold.prod(empty, device=device) == 1
        assert warpfold.norm(empty.ravel(), np.inf, device=device) == 0
        assert warpfold.all(empty, device=device) and not warpfold.any(empty, device=device)
        assert np.isnan(warpfold.mean(empty, device=device))
        assert warpfold.logsumexp(empty, device=device) == -np.inf
        for name in ["min", "max", "minmax", "argmin", "argmax"]:
            with pytest.raises(ValueError):
                getattr(warpfold, name)(empty, device=device)
        assert warpfold.cumsum(empty, device=device).shape == (0,)
        assert warpfold.dot(empty[:, 0], empty[:, 0], device=device) == 0


def test_nan_and_signed_zeros():
    array = np.array([1, np.nan, 3, np.nan], "float32")
    for device in DEVICES:
        assert warpfold.argmax(array, device=device) == warpfold.argmin(array, device=device) == 1
        assert np.isnan(warpfold.max(array, device=device)) and np.isnan(warpfold.min(array, device=device))
        assert warpfold.argmin(np.array([0.0, -0.0]), device=device) == 0
        assert warpfold.count_nonzero(array, device=device) == 4
        assert warpfold.any(np.array([np.nan]), device=device)


@pytest.mark.parametrize("dtype", cases.TYPES)
def test_dot_products(dtype):
    random = np.random.default_rng(3)
    for count in [1, 7, 64, 5000]:
        left, right = (np.nan_to_num(cases.values(random, dtype, 2 * count)) for _ in range(2))
        for stride in [1, 2, -1, -2]:
            x, y = left[::stride][:count], right[::stride][:count]
            wanted = np.dot(x.astype("float64"), y.astype("float64")) if x.dtype.kind == "f" else np.dot(x, y)
            most = np.dot(np.abs(x.astype("float64")), np.abs(y.astype("float64"))) + 1
            if not np.isfinite(most):
                continue
            for device in DEVICES:
                for deterministic in [False, True]:
                    found = warpfold.dot(x, y, deterministic=deterministic, device=device)
                    assert found.dtype == x.dtype
                    tolerance = 2 * cases.TOLERANCE.get(dtype, 0) * most
                    cases.assert_same(np.asarray(found), np.asarray(wanted), tolerance, f"{dtype} {count} {stride} {device}")


def test_the_dot_product_of_truth_values_is_whether_any_are_both_true():
    for count in [0, 1, 255, 256, 65536]:
        array = np.ones(count, bool)
        for device in DEVICES:
            assert warpfold.dot(array, array, device=device) == (count > 0), (count, device)


@pytest.mark.parametrize("dtype", cases.TYPES)
def test_running_sums_and_products(dtype):
    random = np.random.default_rng(4)
    array = np.nan_to_num(cases.values(random, dtype, 3 * 40 * 5), posinf=1, neginf=1).reshape(3, 40, 5)
    for view in [array, array.T, array[:, ::-1], array[:, ::2, 1:], array.ravel()]:
        for axis in [None, *range(-1, view.ndim)]:
            for device in DEVICES:
                wanted = np.cumsum(view, axis=axis)
                found = warpfold.cumsum(view, axis=axis, device=device)
                assert found.dtype == wanted.dtype
                most = np.sum(np.abs(view.astype("float64")))
                wider = np.cumsum(view.astype("float64"), axis=axis) if view.dtype.kind == "f" else wanted
                cases.assert_same(found, wider, cases.TOLERANCE.get(dtype, 0) * most, f"{dtype} {view.strides} {axis} {device}")
                short = view[..., :3]
                wanted = np.cumprod(short, axis=-1)
                found = warpfold.cumprod(short, axis=-1, device=device)
                assert found.dtype == wanted.dtype
                wider = np.cumprod(short.astype("float64"), axis=-1) if view.dtype.kind == "f" else wanted
                cases.assert_same(found, wider, cases.TOLERANCE.get(dtype, 0) * (np.abs(wider.astype("float64")) + 1), "cumprod")
    assert warpfold.cumsum(np.arange(3, dtype="int8"), dtype="int32").dtype == np.int32


def test_norms():
    array = np.random.default_rng(6).standard_normal((7, 9))
    for axis in [0, 1, -1]:
        for order in [None, 1, 2, np.inf]:
            found = warpfold.norm(array, order, axis)
            assert np.allclose(found, np.linalg.norm(array, order, axis)), (order, axis)
    assert np.isclose(warpfold.norm(array), np.linalg.norm(array))
    assert np.isclose(warpfold.norm(array, axis=(0, 1)), np.linalg.norm(array, axis=(0, 1)))
    for order in [1, 2, np.inf]:
        with pytest.raises(ValueError, match="matrices"):
            warpfold.norm(array, order)
    with pytest.raises(ValueError, match="ord"):
        warpfold.norm(array, 3, 0)


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="there is no ml_dtypes, so no bfloat16 in NumPy")
    array = np.arange(64, dtype="float32").astype(ml_dtypes.bfloat16).reshape(8, 8)
    for device in DEVICES:
        found = warpfold.sum(array, axis=0, device=device)
        assert found.dtype == array.dtype
        assert np.array_equal(found, array.astype("float32").sum(axis=0).astype(ml_dtypes.bfloat16))
        assert warpfold.argmax(array, device=device) == 63


def test_what_is_refused_is_said():
    array = np.ones((2, 3), "float32")
    refused = [
        (TypeError, "complex", lambda: warpfold.sum(np.ones(3, "complex64"))),
        (TypeError, "elements of type", lambda: warpfold.sum(np.array([None]))),
        (TypeError, "byte order", lambda: warpfold.sum(np.ones(3, ">f4"))),
        (TypeError, "masked", lambda: warpfold.sum(np.ma.masked_array([1, 2], [True, False]))),
        (TypeError, "__dlpack__", lambda: warpfold.sum("text")),
        (TypeError, "__dlpack__", lambda: warpfold.sum(None)),
        (ValueError, "out of bounds", lambda: warpfold.sum(array, 2)),
        (ValueError, "out of bounds", lambda: warpfold.sum(array, -3)),
        (ValueError, "out of bounds", lambda: warpfold.sum(np.float32(3), 1)),
        (ValueError, "twice", lambda: warpfold.sum(np.float32(3), (0, -1))),
        (ValueError, "no values", lambda: warpfold.max(np.ones((0, 5, 0)), axis=0)),
        (ValueError, "twice", lambda: warpfold.sum(array, (0, -2))),
        (ValueError, "empty tuple", lambda: warpfold.sum(array, ())),
        (TypeError, "axis", lambda: warpfold.sum(array, 1.5)),
        (TypeError, "integer", lambda: warpfold.argmax(array, (0, 1))),
        (ValueError, "no streams", lambda: warpfold.sum(array, stream=1)),
        (ValueError, "names no device", lambda: warpfold.sum(array, device="tpu")),
        (ValueError, "same length", lambda: warpfold.dot(array, array)),
        (ValueError, "same length", lambda: warpfold.dot(array[0], array[0, :2])),
        (TypeError, "not multiplied", lambda: warpfold.dot(array[0], array[0].astype("f8"))),
        (OverflowError, "negative", lambda: warpfold.var(array, ddof=-1)),
    ]
    for kind, text, call in refused:
        with pytest.raises(kind, match=text) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_a_copy_that_no_memory_has_room_for_is_a_memory_error():
    # One value, seen so often that a copy has more bytes than there are addresses: it is refused, and the interpreter lives on.
    for dtype, call in [
        ("float32", lambda x: warpfold.sum(x, deterministic=True)),
        ("int8", lambda x: warpfold.sum(x, dtype="float64", deterministic=True)),
        ("float32", lambda x: warpfold.dot(x, x, deterministic=True)),
    ]:
        x = np.broadcast_to(np.ones(1, dtype), (1 << 50,))
        with pytest.raises(MemoryError, match="there is no memory for"):
            call(x)
    assert warpfold.sum(np.ones(5)) == 5


def test_a_lazily_negated_tensor_of_torch():
    torch = pytest.importorskip("torch", reason="there is no torch")
    negated = torch.complex(torch.zeros(1000), torch.ones(1000)).conj().imag
    assert negated.is_neg()
    assert warpfold.sum(negated).item() == -1000


def test_lists_numbers_and_read_only_arrays():
    assert warpfold.sum([1, 2, 3]) == 6
    assert warpfold.max((1.5, 2.5)) == 2.5
    for axis in [None, 0, -1]:
        assert warpfold.sum(np.float32(3), axis=axis) == 3
        assert warpfold.argmax(np.float32(3), axis=axis) == 0
        assert np.array_equal(warpfold.cumsum(np.float32(3), axis=axis), [3])
    assert warpfold.sum(7) == 7
    array = np.arange(5)
    array.flags.writeable = False
    assert warpfold.sum(array) == 10


def test_fields_of_records_and_odd_addresses():
    records = np.zeros(10, dtype=[("a", "u1"), ("b", "<f8")])
    records["b"] = np.arange(10)
    assert warpfold.sum(records["b"]) == 45
    odd = np.frombuffer(b"\0" + np.arange(9, dtype="int64").tobytes(), dtype="u1")[1:].view("int64")
    assert warpfold.sum(odd) == 36


# Tensors of no library, to see what is checked.


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name_of_capsule = ctypes.pythonapi.PyCapsule_GetName
name_of_capsule.restype = ctypes.c_char_p
name_of_capsule.argtypes = [ctypes.py_object]


class Made:
    """An array of a library that does not exist, which describes itself as it is told."""

    def __init__(self, array, versioned=None, **described):
        self.array, self.deleted, self.versioned = array, 0, versioned
        self.described, self.capsule = described, None

    def __dlpack_device__(self):
        return self.described.get("device", (1, 0))

    def __dlpack__(self, **arguments):
        described = self.described
        if self.versioned is None and "max_version" in arguments:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        shape = described.get("shape", self.array.shape)
        strides = described.get("strides", [each // self.array.itemsize for each in self.array.strides])
        self.numbers = (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(shape))(*(strides or shape))

        def delete(_):
            self.deleted += 1

        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(delete)
        code, bits, lanes = described.get("dtype", (2, 32, 1))
        offset = described.get("byte_offset", 0)
        tensor = Tensor(
            described.get("data", self.array.ctypes.data - (offset if offset < 2**32 else 0)),
            *described.get("tensor_device", self.__dlpack_device__()),
            described.get("ndim", len(shape)),
            code,
            bits,
            lanes,
            self.numbers[0],
            self.numbers[1] if strides else None,
            offset,
        )
        if self.versioned is None:
            self.managed, name = Managed(tensor, None, self.deleter), b"dltensor"
        else:
            self.managed, name = ManagedVersioned(*self.versioned, None, self.deleter, 0, tensor), b"dltensor_versioned"
        self.capsule = new_capsule(ctypes.addressof(self.managed), described.get("name", name), None)
        return self.capsule


@pytest.mark.parametrize("versioned", [None, (1, 0), (1, 7)])
def test_tensors_of_any_library(versioned):
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for view in [array, array.T, array[:, ::-1, ::2], np.array(7, "float32")]:
        made = Made(view, versioned)
        found = warpfold.sum(made)
        assert float(found) == view.sum()
        assert made.deleted == 1, "the deleter is called once"
        used = b"used_dltensor" if versioned is None else b"used_dltensor_versioned"
        assert name_of_capsule(made.capsule) == used
        del found, made
        gc.collect()
    for devices in [dict(device=(3, 0)), dict(device=(3, 0), tensor_device=(1, 0)), dict(tensor_device=(1, 5))]:
        assert warpfold.sum(Made(array, versioned, **devices)) == array.sum(), devices
    compact = Made(array, versioned, strides=None)
    assert np.array_equal(warpfold.sum(compact, axis=1), array.sum(axis=1))
    shifted = Made(array, versioned, byte_offset=64)
    assert warpfold.sum(shifted) == array.sum()


class OfNamespace(Made):
    """An array of a library whose functions the array names, and which has no others."""

    class namespace:
        @staticmethod
        def from_dlpack(made):
            return OfNamespace(np.from_dlpack(made))

    def __array_namespace__(self):
        return self.namespace


def test_running_sums_of_a_library_with_a_namespace():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for axis in [None, 0, 1, 2, -3]:
        for device in DEVICES:
            found = warpfold.cumsum(OfNamespace(array), axis=axis, device=device)
            assert isinstance(found, OfNamespace)
            assert np.array_equal(found.array, np.cumsum(array, axis=axis)), axis


def test_tensors_are_not_trusted():
    array = np.arange(6, dtype="float32")
    wrong = [
        dict(dtype=(2, 32, 4)),
        dict(dtype=(5, 64, 1)),
        dict(dtype=(2, 8, 1)),
        dict(dtype=(3, 64, 1)),
        dict(dtype=(99, 32, 1)),
        dict(dtype=(6, 1, 1)),
        dict(device=(7, 0)),
        dict(device=(2, -1)),
        dict(tensor_device=(2, 0)),
        dict(ndim=-1),
        dict(ndim=1000),
        dict(shape=[-1]),
        dict(shape=[2**62]),
        dict(shape=[2**40, 2**40], strides=[0, 0]),
        dict(shape=[0, 2**62, 2**62], strides=[1, 1, 1]),
        dict(strides=[2**62]),
        dict(strides=[-(2**63)]),
        dict(data=0),
        dict(data=array.ctypes.data + 2),
        dict(byte_offset=2**64 - 1),
        dict(name=b"used_dltensor"),
        dict(name=b"something"),
    ]
    for described in wrong:
        made = Made(array, **described)
        with pytest.raises((TypeError, ValueError, BufferError)) as raised:
            warpfold.sum(made)
        assert "\n" not in str(raised.value) and len(str(raised.value)) > 20, described
        is_taken = made.capsule is not None and "name" not in described
        assert made.deleted == is_taken, (described, "what was taken is given back")
    with pytest.raises(BufferError, match="DLPack 2"):
        warpfold.sum(Made(array, (2, 0)))
    with pytest.raises(TypeError, match="no capsule"):
        warpfold.sum(type("Odd", (), {"__dlpack__": lambda self, **_: 1, "__dlpack_device__": lambda self: (1, 0)})())


def test_a_gpu_that_is_not_there_is_said():
    if not warpfold.devices().startswith("emulator"):
        pytest.skip("there is a GPU")
    array = np.ones(6, "float32")
    for call in [lambda: warpfold.sum(array, device="gpu"), lambda: warpfold.sum(Made(array, device=(2, 0)))]:
        with pytest.raises(RuntimeError) as raised:
            call()
        assert "driver" in str(raised.value) or "GPU" in str(raised.value)


def test_other_threads_go_on_meanwhile():
    array = np.ones(1 << 24, "float32")
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before, start = counted[0], time.perf_counter()
    for _ in range(20):
        warpfold.var(array)
    went_on = counted[0] - before
    done.set()
    thread.join()
    assert went_on > 20, (went_on, time.perf_counter() - start)


def test_many_threads():
    array = np.arange(100_000, dtype="int64")
    found = []
    work = lambda: found.extend([warpfold.sum(array), warpfold.sum(array[:300], device="emulator")])
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(found)) == [array[:300].sum(), array.sum()] and len(found) == 16


def in_child(queue):
    array = np.ones(1 << 20, "float32")
    queue.put([float(each) for each in some_results(array)])


def some_results(array):
    """By all cores, by one, with as many results as all would share, and on the emulator."""
    matrix = array[: 3 * 4096].reshape(3, 4096)
    yield warpfold.sum(array)
    yield warpfold.sum(array[:10])
    yield warpfold.max(matrix, axis=0).sum()
    yield warpfold.sum(array[: 1 << 14].reshape(8192, 2), axis=1).sum()
    yield warpfold.sum(array[:100_000], device="emulator")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork():
    expected = [1 << 20, 10, 4096, 1 << 14, 100_000]
    assert list(some_results(np.ones(1 << 20, "float32"))) == expected
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == expected
    finally:
        child.kill()
        child.join()


def test_an_interpreter_that_exits_does_not_wait_for_a_thread():
    program = """
import numpy, threading, time, warpfold
array = numpy.ones(1000, "float32")
def work():
    while True: warpfold.sum(array)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_the_stub_has_what_the_module_has():
    import ast

    folder = os.path.dirname(warpfold.__file__)
    with open(os.path.join(folder, "__init__.pyi"), encoding="utf-8") as file:
        stub = ast.parse(file.read())
    in_stub = {each.name: each for each in stub.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    public = {name for name in dir(warpfold) if not name.startswith("_") and name != "warpfold"}
    assert public == {name for name in in_stub if not name.startswith("_")}
    for name in public:
        item = getattr(warpfold, name)
        assert item.__doc__, name
        if isinstance(in_stub[name], ast.FunctionDef):
            arguments = in_stub[name].args
            names = [each.arg for each in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
            assert names == list(inspect.signature(item).parameters), name


def test_the_example_of_the_readme():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    assert blocks
    exec(blocks[0], {})
