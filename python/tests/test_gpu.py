"""Arrays of torch, CuPy and JAX in a GPU's memory. Skipped where there is no GPU, or none of the libraries.

Runs under pytest, and without it: `python tests/test_gpu.py` prints one line for each failure and one at the end, `--speed` also times.
"""

import os
import sys
import threading
import time

import numpy as np

import warpfold

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

try:
    import torch

    HAS_TORCH = torch.cuda.is_available()
except ImportError:
    HAS_TORCH = False
try:
    import cupy

    HAS_CUPY = cupy.cuda.runtime.getDeviceCount() > 0
except Exception:  # CuPy raises its own errors where there is no driver.
    HAS_CUPY = False
# JAX takes most of a GPU's memory unless it is told not to.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
try:
    import jax

    HAS_JAX = any(device.platform in ("gpu", "cuda") for device in jax.devices())
except Exception:  # JAX raises its own errors where its plug-in and the driver do not fit.
    HAS_JAX = False


class Skipped(Exception):
    """Why a test is not run."""


def needs(is_there, what):
    if is_there:
        return
    if "pytest" in sys.modules:
        import pytest

        pytest.skip(f"there is no {what}")
    raise Skipped(f"there is no {what}")


def has_numpy_type(array):
    return str(array.dtype) not in ("torch.bfloat16", "bfloat16")


def on_host(array):
    """As an array of NumPy; of bfloat16 as float32, which holds it exactly."""
    if HAS_TORCH and isinstance(array, torch.Tensor):
        return (array.float() if array.dtype == torch.bfloat16 else array).cpu().numpy()
    return cupy.asnumpy(array)


def torch_view(random, tensor):
    kind = int(random.integers(6))
    if kind == 1:
        return tensor.permute(tuple(int(axis) for axis in random.permutation(tensor.ndim)))
    if kind == 2:
        return tensor[tuple(slice(None, None, int(random.choice([1, 2, 3]))) for _ in range(tensor.ndim))]
    if kind == 3:
        return tensor[tuple(slice(int(length > 2), None) for length in tensor.shape)]
    if kind == 4:
        return tensor.expand(int(random.integers(1, 4)), *tensor.shape)
    if kind == 5 and tensor.ndim > 1:
        return tensor.transpose(0, -1)[..., ::2]
    return tensor


def by_torch(operation, tensor, found, axis, keepdims, ddof):
    """What torch itself gives, and what of warpfold's result is to be the same, for each result."""
    axes = range(tensor.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    dims = tuple(sorted(each % tensor.ndim for each in axes))
    # Torch reduces few types of unsigned integers. The numbers are small.
    exact = tensor if tensor.dtype.is_floating_point else tensor.to(torch.int64)
    real = tensor if tensor.dtype.is_floating_point else tensor.double()
    options = {"dim": dims, "keepdim": keepdims}
    if operation in ("argmin", "argmax"):
        # Of equals torch may give any: the element at the index is what is compared.
        most = getattr(torch, "a" + operation[3:])(exact, **options)
        if axis is None:
            return [(exact.flatten()[found], most)]
        index = found if keepdims else found.unsqueeze(axis)
        at_index = exact.gather(axis, index)
        return [(at_index if keepdims else at_index.squeeze(axis), most)]
    if operation == "minmax":
        return [(found[0], torch.amin(exact, **options)), (found[1], torch.amax(exact, **options))]
    if operation in ("min", "max"):
        return [(found, getattr(torch, "a" + operation)(exact, **options))]
    if operation == "sum":
        return [(found, torch.sum(exact, **options))]
    if operation == "prod":
        product = exact
        for dim in reversed(dims):
            product = torch.prod(product, dim, keepdim=keepdims)
        return [(found, product)]
    if operation in ("any", "all"):
        return [(found, getattr(torch, operation)(exact != 0, **options))]
    if operation == "count_nonzero":
        return [(found, torch.sum(exact != 0, **options))]
    if operation == "norm":
        return [(found, torch.linalg.vector_norm(real, **options))]
    if operation in ("var", "std"):
        options["correction"] = ddof
    return [(found, getattr(torch, operation)(real, **options))]


def check(seed, library):
    random = np.random.default_rng(seed)
    operation = cases.OPERATIONS[seed % len(cases.OPERATIONS)]
    dtype = str(random.choice(cases.TYPES + (["bfloat16"] if library == "torch" else [])))
    shape = cases.shape(random, 3000 if seed % 10 else 2_000_000)
    values = cases.values(random, "float32" if dtype == "bfloat16" else dtype, int(np.prod(shape)), operation).reshape(shape)
    if library == "torch":
        array = torch_view(random, torch.from_numpy(values).to(getattr(torch, dtype)).cuda())
    else:
        array = cases.view(random, cupy.asarray(values))
    axis = cases.axis(random, array.ndim, operation)
    keepdims, ddof = bool(random.integers(2)), int(random.integers(3))
    options = {"axis": axis, "keepdims": keepdims}
    if operation in ("var", "std"):
        options["ddof"] = ddof
    if not operation.startswith("arg"):
        options["deterministic"] = bool(random.integers(2))
    stream, given = None, int(random.integers(3))
    strides = array.stride() if library == "torch" else array.strides
    what = f"seed {seed}: {library}: {operation} of {dtype} {tuple(array.shape)} strides {strides} {options}"
    try:
        if given == 1:
            stream = torch.cuda.Stream() if library == "torch" else cupy.cuda.Stream(non_blocking=True)
            found = getattr(warpfold, operation)(array, stream=stream, **options)
            stream.synchronize()
        else:
            found = getattr(warpfold, operation)(array, **options)
    except ValueError as refusal:
        # More axes than a kernel goes through: said, and never wrong.
        assert "axes that do not lie side by side" in str(refusal), f"{what}: {refusal}"
        return "refused"
    host = on_host(array)
    wanted, tolerance = cases.expected(operation, host, axis, keepdims, ddof)
    if dtype == "bfloat16" and host.dtype == np.float32:
        tolerance = tolerance * (cases.TOLERANCE["bfloat16"] / cases.TOLERANCE["float32"])
    is_pair = operation == "minmax"
    for each, want in zip(found if is_pair else (found,), wanted if is_pair else (wanted,)):
        assert type(each) is type(array), what
        assert each.device == array.device, what
        got, want = on_host(each), np.asarray(want)
        if want.dtype.kind == "f" and dtype.startswith(("float", "bfloat")):
            assert str(each.dtype).removeprefix("torch.") == dtype, what
        else:
            assert got.dtype == want.dtype, what
        cases.assert_same(got, want, tolerance, what)
    if library == "torch":
        for ours, theirs in by_torch(operation, array, found, axis, keepdims, ddof):
            compared = "float64" if theirs.dtype.is_floating_point else "int64"
            cases.assert_same(on_host(ours).astype(compared), on_host(theirs).astype(compared), 2 * tolerance, what + " by torch")
    return "right"


def test_random_cases_of_torch():
    needs(HAS_TORCH, "torch with a GPU")
    found = [check(seed, "torch") for seed in range(230)]
    assert found.count("right") >= 200, found.count("refused")


def test_random_cases_of_cupy():
    needs(HAS_CUPY, "CuPy with a GPU")
    found = [check(seed, "cupy") for seed in range(1000, 1200)]
    assert found.count("right") > 170, found.count("refused")


def test_the_current_stream_is_waited_for():
    needs(HAS_TORCH, "torch with a GPU")
    x = torch.zeros(1 << 24, device="cuda")
    for stream in [torch.cuda.current_stream(), torch.cuda.Stream()]:
        x.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000_000)
            x.fill_(2)
            start = time.perf_counter()
            total = warpfold.sum(x)
            queued_ms = (time.perf_counter() - start) * 1e3
            doubled = total * 2
            # Reuses the memory before the sum has been made, if the order were not kept.
            x.zero_()
        stream.synchronize()
        assert doubled.item() == 2.0 * 2 * (1 << 24)
    print(f"queued in {queued_ms:.3f} ms while the stream was busy")


def test_a_given_stream_waits_for_the_current_one():
    needs(HAS_TORCH, "torch with a GPU")
    one, other = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(1 << 22, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(one):
        torch.cuda._sleep(100_000_000)
        x.fill_(3)
        totals = [warpfold.sum(x, stream=other), warpfold.sum(x, stream=other.cuda_stream)]
    other.synchronize()
    assert [total.item() for total in totals] == [3.0 * (1 << 22)] * 2


def test_a_tensor_that_nobody_keeps_is_kept_for_the_given_stream():
    needs(HAS_TORCH, "torch with a GPU")
    other = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        torch.cuda._sleep(100_000_000)
    total = warpfold.sum(torch.full((1 << 22,), 3.0, device="cuda"), stream=other)
    # Of the same size, so that torch would take the memory that was the tensor's.
    after = [torch.full((1 << 22,), 5.0, device="cuda") for _ in range(4)]
    torch.cuda.synchronize()
    assert total.item() == 3.0 * (1 << 22)
    assert all(each[0].item() == 5.0 for each in after)


def test_a_lazily_negated_tensor():
    needs(HAS_TORCH, "torch with a GPU")
    negated = torch.complex(torch.zeros(1000), torch.ones(1000)).cuda().conj().imag
    assert negated.is_neg()
    assert warpfold.sum(negated).item() == -1000.0
    assert warpfold.dot(negated, negated.resolve_neg()).item() == 1000.0


class Alone:
    """A tensor of a library that says nothing of how its arrays are made."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_a_library_that_makes_no_arrays():
    needs(HAS_TORCH, "torch with a GPU")
    x = torch.arange(60.0, device="cuda").reshape(3, 20)
    # On the default stream, which `Alone` is ordered with.
    torch.cuda.synchronize()
    low, high = warpfold.minmax(Alone(x), axis=1)
    assert low.shape == high.shape == (3,)
    assert low.numpy().tolist() == [0, 20, 40] and high.numpy().tolist() == [19, 39, 59]
    assert torch.from_dlpack(high).tolist() == [19, 39, 59]
    low, high = warpfold.minmax(Alone(x))
    assert (float(low), float(high)) == (0, 59)
    assert warpfold.sum(Alone(x), axis=0).numpy().tolist() == x.sum(0).tolist()


def test_the_current_stream_of_cupy_is_waited_for():
    needs(HAS_CUPY, "CuPy with a GPU")
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.zeros(1 << 22, "float32")
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(2000):
            x += 1
        total = warpfold.sum(x)
        x[:] = 0
    stream.synchronize()
    assert float(total) == 2000.0 * (1 << 22)


def test_streams_share_the_workspace_in_turn():
    needs(HAS_TORCH, "torch with a GPU")
    streams = [torch.cuda.Stream() for _ in range(4)]
    arrays = [torch.full((1 << 22,), float(number), device="cuda") for number in range(4)]
    torch.cuda.synchronize()
    found = []
    for _ in range(50):
        for stream, array in zip(streams, arrays):
            with torch.cuda.stream(stream):
                found.append(warpfold.sum(array))
    torch.cuda.synchronize()
    assert [total.item() for total in found] == [float(number) * (1 << 22) for number in range(4)] * 50


def test_wider_dtypes():
    needs(HAS_TORCH, "torch with a GPU")
    random = np.random.default_rng(11)
    for dtype in ["float16", "bfloat16", "float32"]:
        x = torch.from_numpy(random.standard_normal((301, 1023)) + 30).to(getattr(torch, dtype)).cuda()
        wide = x.double()
        for axis in [None, 0, 1]:
            dim = [0, 1] if axis is None else axis
            wanted = {
                "sum": wide.sum(dim),
                "mean": wide.mean(dim),
                "var": wide.var(dim, correction=0),
                "std": wide.std(dim, correction=0),
            }
            for name, theirs in wanted.items():
                for deterministic in [False, True]:
                    ours = getattr(warpfold, name)(x, axis, dtype="float64", deterministic=deterministic)
                    np.testing.assert_allclose(on_host(ours), theirs.cpu().numpy(), rtol=1e-11, err_msg=f"{name} of {dtype}")
        sums = on_host(warpfold.cumsum(x, 1, dtype="float64"))
        np.testing.assert_allclose(sums, wide.cumsum(1).cpu().numpy(), rtol=1e-11, err_msg=f"cumsum of {dtype}")


def test_many_threads():
    needs(HAS_TORCH, "torch with a GPU")
    x = torch.arange(100_000, device="cuda")
    found = []

    def work():
        for _ in range(20):
            found.append(int(warpfold.sum(x)))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [100_000 * 99_999 // 2] * 120


def test_deterministic_results_have_the_bits_of_the_processor():
    needs(HAS_TORCH, "torch with a GPU")
    random = np.random.default_rng(9)
    for dtype in ["float16", "float32", "float64"]:
        array = random.standard_normal((300, 777)).astype(dtype)
        tensor = torch.from_numpy(array).cuda()
        for name in ["sum", "mean", "var", "norm", "logsumexp", "prod"]:
            for axis in [None, 0, 1]:
                ours = getattr(warpfold, name)(tensor, axis=axis, deterministic=True)
                host = getattr(warpfold, name)(array, axis=axis, deterministic=True)
                transposed = getattr(warpfold, name)(tensor.T.contiguous().T, axis=axis, deterministic=True)
                assert on_host(ours).tobytes() == np.asarray(host).tobytes(), (dtype, name, axis)
                assert on_host(transposed).tobytes() == np.asarray(host).tobytes(), (dtype, name, axis)


def test_dot_products_and_running_sums():
    needs(HAS_TORCH, "torch with a GPU")
    random = np.random.default_rng(10)
    for dtype in cases.TYPES:
        x, y = (np.nan_to_num(cases.values(random, dtype, 10_000), posinf=1, neginf=1) for _ in range(2))
        left, right = torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda()
        tolerance = cases.TOLERANCE.get(dtype, 0)
        for step in [1, 3]:
            dot = warpfold.dot(left[::step], right[::step])
            wide = "float64" if x.dtype.kind == "f" else dtype
            wanted = np.dot(x[::step].astype(wide), y[::step].astype(wide))
            most = np.sum(np.abs(x.astype("float64") * y.astype("float64")))
            cases.assert_same(on_host(dot), np.asarray(wanted), 2 * tolerance * most, f"dot of {dtype}")
        matrix, on_gpu = x.reshape(50, 200), left.reshape(50, 200)
        for axis in [None, 0, 1]:
            found, wanted = warpfold.cumsum(on_gpu, axis=axis), np.cumsum(matrix.astype(wide), axis=axis)
            most = np.sum(np.abs(matrix.astype("float64")))
            cases.assert_same(on_host(found), wanted, tolerance * most, f"cumsum of {dtype} along {axis}")


def test_arrays_of_numpy_go_to_the_gpu_and_back():
    needs(HAS_TORCH or HAS_CUPY, "torch or CuPy with a GPU")
    array = np.random.default_rng(11).integers(-100, 100, (60, 500)).astype("int16")
    for view in [array, array.T, array[::-1, ::2]]:
        for axis in [None, 0, 1]:
            found = warpfold.sum(view, axis=axis, device="gpu")
            assert np.array_equal(found, view.sum(axis=axis)) and found.dtype == np.int64
    assert warpfold.dot(array[0], array[1], device="gpu") == np.dot(array[0], array[1])
    assert np.array_equal(warpfold.cumsum(array, device="gpu"), np.cumsum(array))


def test_what_is_refused_is_said():
    needs(HAS_TORCH, "torch with a GPU")
    x = torch.ones(1000, device="cuda")
    for error, call in [
        (TypeError, lambda: warpfold.sum(x.to(torch.complex64))),
        (ValueError, lambda: warpfold.sum(x, device="cpu")),
        (ValueError, lambda: warpfold.sum(x, device="emulator")),
        (ValueError, lambda: warpfold.dot(x, np.ones(1000, "float32"))),
        ((BufferError, RuntimeError), lambda: warpfold.sum(x.clone().requires_grad_())),
        (TypeError, lambda: warpfold.sum(x, stream="default")),
    ]:
        try:
            call()
        except error as refusal:
            assert str(refusal)
        else:
            raise AssertionError("this should be refused")
    # Nothing of that has harmed the device.
    assert warpfold.sum(x).item() == 1000
    graph = torch.cuda.CUDAGraph()
    refusal = None
    try:
        with torch.cuda.graph(graph):
            y = x + 1
            warpfold.sum(y)
    except RuntimeError as error:
        refusal = error
    assert "captured" in str(refusal), refusal
    torch.cuda.synchronize()
    assert warpfold.sum(x).item() == 1000


def test_the_current_gpu_stays():
    needs(HAS_TORCH and torch.cuda.device_count() > 1, "torch with two GPUs")
    x = torch.ones(1000, device="cuda:1")
    assert torch.cuda.current_device() == 0
    total = warpfold.sum(x)
    assert total.device == x.device and total.item() == 1000
    assert torch.cuda.current_device() == 0
    assert torch.ones(3, device="cuda").device.index == 0
    assert warpfold.sum(torch.ones(10, device="cuda:0")).item() == 10


def test_arrays_of_jax():
    needs(HAS_JAX, "JAX with a GPU")
    x = jax.numpy.arange(24.0).reshape(2, 3, 4)
    for name in ["sum", "max", "mean", "argmax", "var"]:
        for axis in [None, 0, 1, 2]:
            found = getattr(warpfold, name)(x, axis=axis)
            assert isinstance(found, jax.Array), type(found)
            assert np.allclose(np.asarray(found), np.asarray(getattr(jax.numpy, name)(x, axis=axis)))


def test_results_of_no_library():
    needs(HAS_TORCH, "torch with a GPU")

    class Lent:
        """A tensor without the name of its library."""

        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, **arguments):
            return self.tensor.__dlpack__(stream=arguments.get("stream"))

    x = torch.arange(12, dtype=torch.float32, device="cuda").reshape(3, 4)
    total, rows = warpfold.sum(Lent(x)), warpfold.sum(Lent(x), axis=1)
    assert isinstance(total, warpfold.Array) and total.shape == () and float(total) == 66.0 and total.item() == 66.0
    assert np.array_equal(rows.numpy(), x.sum(1).cpu().numpy()) and rows.dtype == "float32"
    back = torch.from_dlpack(rows)
    del rows
    assert back.is_cuda and torch.equal(back, x.sum(1))
    least, greatest = (float(each) for each in (warpfold.min(Lent(x)), warpfold.max(Lent(x))))
    assert (least, greatest) == (0.0, 11.0)


def speed():
    """Medians of calls with results on the GPU, beside torch's."""
    needs(HAS_TORCH, "torch with a GPU")

    def time_ms(call, count=30):
        for _ in range(3):
            call()
        times = []
        for _ in range(count):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        return sorted(times)[count // 2]

    x = torch.rand(1 << 28, device="cuda")
    for what, ours, theirs in [
        ("sum of 2^28 f32", lambda: warpfold.sum(x), lambda: torch.sum(x)),
        ("sum of rows of 64", lambda: warpfold.sum(x.view(-1, 64), 1), lambda: torch.sum(x.view(-1, 64), 1)),
        ("argmax of rows of 64", lambda: warpfold.argmax(x.view(-1, 64), 1), lambda: torch.argmax(x.view(-1, 64), 1)),
        ("var of rows of 4096", lambda: warpfold.var(x.view(-1, 4096), 1), lambda: torch.var(x.view(-1, 4096), 1)),
        ("sum of 2^10 f32", lambda: warpfold.sum(x[:1024]), lambda: torch.sum(x[:1024])),
    ]:
        print(f"{what}: {time_ms(ours):.4f} ms, torch {time_ms(theirs):.4f} ms")
    small, count = x[:1024], 2000
    for what, call in [("warpfold", lambda: warpfold.sum(small)), ("torch", lambda: torch.sum(small))]:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        print(f"one call of sum of 2^10 after the other, {what}: {(time.perf_counter() - start) / count * 1e6:.1f} µs")


def main():
    tests = [item for name, item in list(globals().items()) if name.startswith("test_")]
    right, failed, skipped = 0, 0, []
    for test in tests:
        start = time.perf_counter()
        try:
            test()
            right += 1
            # At once, so that a run that is cut off has said how far it came.
            print(f"right {test.__name__}: {time.perf_counter() - start:.1f} s", flush=True)
        except Skipped as reason:
            skipped.append(str(reason))
        except Exception as error:
            failed += 1
            place = error.__traceback__
            while place.tb_next:
                place = place.tb_next
            print(f"FAILED {test.__name__}: {type(error).__name__} at line {place.tb_lineno}: {error}", flush=True)
    if "--speed" in sys.argv and failed == 0:
        try:
            speed()
        except Skipped as reason:
            skipped.append(str(reason))
    reasons = f" ({'; '.join(sorted(set(skipped)))})" if skipped else ""
    print(f"{warpfold.devices()}: {right} passed, {failed} failed, {len(skipped)} skipped{reasons}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
