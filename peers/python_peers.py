"""torch and CuPy as contenders: the process that `peers/run/python.rs` starts and asks, a line of JSON for each question and answer.

It opens the input that another process has uploaded, and sums it on one stream, between two events, when it is asked to.
"""

import ctypes
import json
import sys

# How long the GPU waits while Python queues what is timed, some 0.2 ms; what Python needs beyond that counts.
HOLD_CYCLES = 400_000
IPC_LAZY_PEER_ACCESS = 1


def wrapped(number):
    """The number modulo 2^32, as a signed one of 32 bits."""
    return (int(number) + (1 << 31)) % (1 << 32) - (1 << 31)


def reason(error):
    """What went wrong, in a line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


class Shared:
    """Memory on the GPU, as torch and CuPy read it."""

    def __init__(self, address, n):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (n,), "typestr": "<i4", "version": 3}


class Torch:
    def __init__(self):
        import torch

        self.torch = torch
        self.version = f"torch {torch.__version__}"
        properties = torch.cuda.get_device_properties(0)
        self.flush = torch.empty(2 * properties.L2_cache_size, dtype=torch.uint8, device="cuda")
        self.contenders = {
            "torch.sum, dtype=int32": lambda: torch.sum(self.input, dtype=torch.int32),
            "torch.sum": lambda: torch.sum(self.input),
        }

    def open(self, shared):
        self.input = self.torch.as_tensor(shared, device="cuda")

    def events(self):
        return [self.torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def hold(self):
        self.torch.cuda._sleep(HOLD_CYCLES)

    def overwrite_l2(self):
        self.flush.zero_()

    def elapsed_ms(self, start, end):
        end.synchronize()
        return start.elapsed_time(end)


class CuPy:
    def __init__(self):
        import cupy

        self.cupy = cupy
        self.version = f"CuPy {cupy.__version__}"
        self.flush = cupy.empty(2 * cupy.cuda.Device().attributes["L2CacheSize"], dtype=cupy.uint8)
        self.wait = cupy.RawKernel(
            'extern "C" __global__ void hold(long long cycles)'
            "{ long long start = clock64(); while (clock64() - start < cycles); }",
            "hold",
        )
        self.contenders = {"cupy.sum, dtype=int32": lambda: cupy.sum(self.input, dtype=cupy.int32)}

    def open(self, shared):
        self.input = self.cupy.asarray(shared)

    def events(self):
        return [self.cupy.cuda.Event() for _ in range(2)]

    def hold(self):
        self.wait((1,), (1,), (self.cupy.int64(HOLD_CYCLES),))

    def overwrite_l2(self):
        self.flush.fill(0)

    def elapsed_ms(self, start, end):
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end)


class Peers:
    def __init__(self):
        self.libraries, self.left_out, self.results, self.address = [], [], {}, None
        for name, library in (("torch", Torch), ("CuPy", CuPy)):
            try:
                self.libraries.append(library())
            except Exception as error:
                self.left_out.append({"name": name, "reason": reason(error)})

    def greeting(self):
        return {
            "versions": [library.version for library in self.libraries],
            "contenders": [name for library in self.libraries for name in library.contenders],
            "left_out": self.left_out,
        }

    def library_of(self, name):
        return next(library for library in self.libraries if name in library.contenders)

    def open(self, handle, n):
        """Maps the memory that another process has made a handle of."""

        class Handle(ctypes.Structure):
            _fields_ = [("reserved", ctypes.c_ubyte * 64)]

        address = ctypes.c_uint64()
        handle = Handle((ctypes.c_ubyte * 64)(*handle))
        code = ctypes.CDLL("libcuda.so.1").cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, ctypes.c_uint(IPC_LAZY_PEER_ACCESS))
        if code != 0:
            raise RuntimeError(f"cuIpcOpenMemHandle failed with code {code}")
        self.address = address
        for library in self.libraries:
            library.open(Shared(address.value, n))
        return {}

    def close(self):
        for library in self.libraries:
            library.input = None
        if self.address is not None:
            ctypes.CDLL("libcuda.so.1").cuIpcCloseMemHandle(self.address)
            self.address = None
        return {}

    def time(self, name, cache):
        library = self.library_of(name)
        launch = library.contenders[name]
        start, end = library.events()
        if cache == "warm":
            launch()
        library.hold()
        if cache == "cold":
            library.overwrite_l2()
        start.record()
        self.results[name] = launch()
        end.record()
        return {"ms": library.elapsed_ms(start, end)}

    def answer(self, name):
        return {"sum": wrapped(self.results[name])}


def main():
    peers = Peers()
    print(json.dumps(peers.greeting()), flush=True)
    for line in sys.stdin:
        ((question, arguments),) = json.loads(line).items()
        try:
            answer = getattr(peers, question)(**arguments)
        except Exception as error:
            answer = {"failed": reason(error)}
        print(json.dumps(answer), flush=True)


main()
