"""torch and CuPy as contenders: the process that `peers/run/process.rs` starts and asks, a line of JSON for each question and answer.

It opens the input that another process has uploaded, and sums it on one stream, between two events, when it is asked to.
"""

import ctypes
import json
import sys

# How long the GPU waits while Python queues what is timed, some 0.2 ms; what Python needs beyond that counts.
HOLD_CYCLES = 400_000
LAUNCHES_BEFORE_IDLE = 3
IPC_LAZY_PEER_ACCESS = 1


# By the names in Rust: the type of an element in memory, and what torch and CuPy call it.
TYPES = {
    "i32": ("<i4", "int32"),
    "i64": ("<i8", "int64"),
    "f32": ("<f4", "float32"),
    "f64": ("<f8", "float64"),
}


def in_type(number, element_type):
    """The number as one of the type: an integer modulo 2^32 or 2^64, as a signed one."""
    if element_type[0] == "f":
        return float(number)
    half = 1 << (int(element_type[1:]) - 1)
    return (int(number) + half) % (2 * half) - half


def reason(error):
    """What went wrong, in a line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def opened(handle):
    """The address of memory that another process has made a handle of."""

    class Handle(ctypes.Structure):
        _fields_ = [("reserved", ctypes.c_ubyte * 64)]

    address = ctypes.c_uint64()
    handle = Handle((ctypes.c_ubyte * 64)(*handle))
    code = ctypes.CDLL("libcuda.so.1").cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, ctypes.c_uint(IPC_LAZY_PEER_ACCESS))
    if code != 0:
        raise RuntimeError(f"cuIpcOpenMemHandle failed with code {code}")
    return address


class Shared:
    """Memory on the GPU, as torch and CuPy read it."""

    def __init__(self, address, n, element_type):
        typestr = TYPES[element_type][0]
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (n,), "typestr": typestr, "version": 3}


class Torch:
    def __init__(self):
        import torch

        self.torch = torch
        self.version = f"torch {torch.__version__}"
        properties = torch.cuda.get_device_properties(0)
        self.flush = torch.empty(2 * properties.L2_cache_size, dtype=torch.uint8, device="cuda")

    def open(self, shared, name):
        """Its contenders: without a type, it adds up integers of 32 bits in 64."""
        self.input = self.torch.as_tensor(shared, device="cuda")
        dtype = getattr(self.torch, name)
        contenders = {"torch.sum": lambda: self.torch.sum(self.input)}
        if name == "int32":
            contenders["torch.sum, dtype=int32"] = lambda: self.torch.sum(self.input, dtype=dtype)
        return contenders

    def events(self):
        return [self.torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def wait(self):
        self.torch.cuda.synchronize()

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
        self.busy = cupy.RawKernel(
            'extern "C" __global__ void hold(long long cycles)'
            "{ long long start = clock64(); while (clock64() - start < cycles); }",
            "hold",
        )

    def open(self, shared, name):
        """Its contenders: without a type, it adds up integers of 32 bits in 64."""
        self.input = self.cupy.asarray(shared)
        dtype = getattr(self.cupy, name)
        if name == "int32":
            return {"cupy.sum, dtype=int32": lambda: self.cupy.sum(self.input, dtype=dtype)}
        return {"cupy.sum": lambda: self.cupy.sum(self.input)}

    def events(self):
        return [self.cupy.cuda.Event() for _ in range(2)]

    def wait(self):
        self.cupy.cuda.get_current_stream().synchronize()

    def hold(self):
        self.busy((1,), (1,), (self.cupy.int64(HOLD_CYCLES),))

    def overwrite_l2(self):
        self.flush.fill(0)

    def elapsed_ms(self, start, end):
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end)


class Peers:
    def __init__(self):
        self.libraries, self.left_out, self.contenders, self.results, self.address = [], [], {}, {}, None
        for name, library in (("torch", Torch), ("CuPy", CuPy)):
            try:
                self.libraries.append(library())
            except Exception as error:
                self.left_out.append({"name": name, "reason": reason(error)})

    def greeting(self):
        return {
            "versions": [library.version for library in self.libraries],
            "left_out": self.left_out,
        }

    def open(self, handle, n, element_type):
        """Maps the memory that another process has made a handle of; answers with who adds it up."""

        address = opened(handle)
        self.address, self.element_type = address, element_type
        shared, name = Shared(address.value, n, element_type), TYPES[element_type][1]
        for library in self.libraries:
            for contender, launch in library.open(shared, name).items():
                self.contenders[contender] = (library, launch)
        return {"contenders": list(self.contenders)}

    def close(self):
        self.contenders, self.results = {}, {}
        for library in self.libraries:
            library.input = None
        if self.address is not None:
            ctypes.CDLL("libcuda.so.1").cuIpcCloseMemHandle(self.address)
            self.address = None
        return {}

    def time(self, name, finds):
        library, launch = self.contenders[name]
        start, end = library.events()
        if finds == "idle":
            for _ in range(LAUNCHES_BEFORE_IDLE):
                launch()
                library.wait()
        else:
            if finds == "warm":
                launch()
            library.hold()
            if finds == "cold":
                library.overwrite_l2()
        start.record()
        self.results[name] = launch()
        end.record()
        return {"ms": library.elapsed_ms(start, end)}

    def answer(self, name):
        return {"sum": in_type(self.results[name], self.element_type)}


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


if __name__ == "__main__":
    main()
