"""Reductions of every shape by torch, CuPy, Triton or JAX: the process that `peers/run/shapes/asked.rs` starts and asks, with the
library's name as its argument. Each question and each answer is a line of JSON.

It opens the values that another process has uploaded, reduces them between two events when it is asked to, and copies results to memory
of the other process, which verifies them.
"""

import json
import os
import sys
import time

import python_peers

# Launches of a graph, as in peers/run/shapes/contender.rs.
OF_GRAPH = 20
# Calls before a capture: they compile, and allocate what the capture then finds.
BEFORE_CAPTURE = 3

# How the array interface writes types; bf16, which it does not know, as integers of as many bits.
TYPES = {"f32": "<f4", "bf16": "<i2", "i8": "|i1", "results": "|u1"}
# What results are, by the names of their types in NumPy and torch.
RESULTS = {
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "int8": "i8",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
}


class Memory:
    """Memory on the GPU, as torch and CuPy read it."""

    def __init__(self, address, count, typestr):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (count,), "typestr": typestr, "version": 3}


def shared(what, address, size):
    typestr = TYPES[what]
    return Memory(address, size // int(typestr[2:]), typestr)


class Torch(python_peers.Torch):
    """Calls of torch."""

    def __init__(self):
        super().__init__()
        self.memory = {}

    def adopt(self, what, address, size):
        tensor = self.torch.as_tensor(shared(what, address, size), device="cuda")
        self.memory[what] = tensor.view(self.torch.bfloat16) if what == "bf16" else tensor

    def solutions(self, kind, operator, element_type, rows, columns):
        torch, values = self.torch, self.memory[element_type]
        matrix = values[: rows * columns]
        # One row is an array.
        if kind == "columns" or rows > 1:
            matrix = matrix.view(rows, columns)
        dim = 0 if kind == "columns" else -1
        if kind == "scan":
            return {"torch.cumsum": lambda: torch.cumsum(matrix, dim)} if operator == "sum" else {}
        if operator == "dot":
            left, right = values[:columns], values[columns : 2 * columns]
            return {"torch.dot": lambda: torch.dot(left, right)}
        if operator == "sum":
            found = {"torch.sum": lambda: torch.sum(matrix, dim)}
            # Without a type, integers are added up in 64 bits, and results of bf16 are bf16.
            wide = {"i8": torch.int32, "bf16": torch.float32}.get(element_type)
            if wide is not None:
                found[f"torch.sum, dtype={str(wide).split('.')[1]}"] = lambda: torch.sum(matrix, dim, dtype=wide)
            return found
        if operator == "mean" and element_type == "i8":
            return {"torch.mean, dtype=float32": lambda: torch.mean(matrix, dim, dtype=torch.float32)}
        calls = {
            "max": ("torch.amax", lambda: torch.amax(matrix, dim)),
            "argmax": ("torch.argmax", lambda: torch.argmax(matrix, dim)),
            "mean": ("torch.mean", lambda: torch.mean(matrix, dim)),
            "variance": ("torch.var", lambda: torch.var(matrix, dim, correction=0)),
            "log-sum-exp": ("torch.logsumexp", lambda: torch.logsumexp(matrix, dim)),
        }
        return dict([calls[operator]]) if operator in calls else {}

    def captured(self, launch):
        torch = self.torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(BEFORE_CAPTURE):
                launch()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(OF_GRAPH):
                result = launch()

        def replay():
            graph.replay()
            return result

        return replay

    def bytes_of(self, result):
        return result.reshape(-1).contiguous().view(self.torch.uint8)

    def spoil(self, result):
        self.bytes_of(result).fill_(255)

    def leave(self, result):
        self.memory["results"][: result.numel() * result.element_size()].copy_(self.bytes_of(result))
        self.wait()
        return {"of": RESULTS[str(result.dtype).split(".")[1]], "count": result.numel()}

    def time(self, launch):
        """The milliseconds of a launch that finds nothing in the cache, and what it leaves."""
        start, end = self.events()
        self.hold()
        self.overwrite_l2()
        start.record()
        result = launch()
        end.record()
        return self.elapsed_ms(start, end), result

    def time_graph(self, launch):
        launch()
        start, end = self.events()
        self.hold()
        start.record()
        result = launch()
        end.record()
        return self.elapsed_ms(start, end) / OF_GRAPH, result

    def forget(self):
        self.torch.cuda.empty_cache()


class CuPy(python_peers.CuPy):
    """Calls of CuPy."""

    def __init__(self):
        super().__init__()
        self.memory = {}
        self.stream = self.cupy.cuda.Stream(non_blocking=True)
        self.stream.use()

    def adopt(self, what, address, size):
        self.memory[what] = self.cupy.asarray(shared(what, address, size))

    def solutions(self, kind, operator, element_type, rows, columns):
        if element_type == "bf16":
            # It has no such type.
            return {}
        cupy, values = self.cupy, self.memory[element_type]
        matrix, axis = values[: rows * columns], None
        # One row is an array, and all of it is asked for without an axis.
        if kind == "columns" or rows > 1:
            matrix, axis = matrix.reshape(rows, columns), 0 if kind == "columns" else 1
        if kind == "scan":
            return {"cupy.cumsum": lambda: cupy.cumsum(matrix, axis=axis)} if operator == "sum" else {}
        if operator == "dot":
            left, right = values[:columns], values[columns : 2 * columns]
            return {"cupy.dot": lambda: cupy.dot(left, right)}
        if operator == "log-sum-exp":
            from cupyx.scipy.special import logsumexp

            return {"cupyx.scipy.special.logsumexp": lambda: logsumexp(matrix, axis=axis)}
        # Without a type, integers are added up in 64 bits, and means of them are f64.
        of_sum = ("cupy.sum, dtype=int32", {"dtype": cupy.int32}) if element_type == "i8" else ("cupy.sum", {})
        calls = {
            "sum": (of_sum[0], lambda: cupy.sum(matrix, axis=axis, **of_sum[1])),
            "max": ("cupy.max", lambda: cupy.max(matrix, axis=axis)),
            "argmax": ("cupy.argmax", lambda: cupy.argmax(matrix, axis=axis)),
            "mean": ("cupy.mean", lambda: cupy.mean(matrix, axis=axis)),
            "variance": ("cupy.var", lambda: cupy.var(matrix, axis=axis)),
        }
        return dict([calls[operator]]) if operator in calls else {}

    def captured(self, launch):
        for _ in range(BEFORE_CAPTURE):
            launch()
        self.stream.synchronize()
        self.stream.begin_capture()
        # What was allocated meanwhile must not be given to others.
        results = []
        try:
            for _ in range(OF_GRAPH):
                results.append(launch())
        finally:
            graph = self.stream.end_capture()

        def replay():
            graph.launch(self.stream)
            return results[-1]

        return replay

    def bytes_of(self, result):
        return self.cupy.ascontiguousarray(result).reshape(-1).view(self.cupy.uint8)

    def spoil(self, result):
        self.bytes_of(result).fill(255)

    def leave(self, result):
        self.memory["results"][: result.nbytes] = self.bytes_of(result)
        self.wait()
        return {"of": RESULTS[result.dtype.name], "count": result.size}

    time, time_graph = Torch.time, Torch.time_graph

    def forget(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


class Triton(Torch):
    """Kernels in Triton, as people write them."""

    def __init__(self):
        super().__init__()
        import triton
        import triton_shapes

        self.kernels = triton_shapes
        self.version = f"Triton {triton.__version__}"

    def solutions(self, kind, operator, element_type, rows, columns):
        if kind not in ("rows", "columns"):
            return {}
        matrix = self.memory[element_type][: rows * columns].view(rows, columns)
        return self.kernels.solutions(self.torch, kind, operator, matrix)

    def captured(self, launch):
        raise RuntimeError("it is not captured")


class Jax:
    """Calls of JAX, compiled. Its streams cannot be given events: the host's clock times it, on an idle GPU."""

    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        platform = jax.devices()[0].platform
        if platform not in ("gpu", "cuda"):
            raise RuntimeError(f"it runs on {platform}")
        self.jax = jax
        self.cupy = CuPy()
        self.version = f"JAX {jax.__version__}"
        self.notes = ["JAX hands out no stream to time its calls on: their times are those of the host's clock around a call and its end"]

    def adopt(self, what, address, size):
        self.cupy.adopt(what, address, size)

    def solutions(self, kind, operator, element_type, rows, columns):
        if kind not in ("rows", "columns") or element_type == "bf16" or operator == "dot":
            return {}
        jax, axis = self.jax, 0 if kind == "columns" else 1
        from jax.scipy.special import logsumexp

        matrix = jax.dlpack.from_dlpack(self.cupy.memory[element_type][: rows * columns].reshape(rows, columns))
        of = {
            "sum": jax.numpy.sum,
            "max": jax.numpy.max,
            "argmax": jax.numpy.argmax,
            "mean": jax.numpy.mean,
            "variance": jax.numpy.var,
            "log-sum-exp": logsumexp,
        }
        if operator not in of:
            return {}
        call = jax.jit(lambda values: of[operator](values, axis=axis))
        return {f"jax.numpy, {operator}": lambda: call(matrix).block_until_ready()}

    def time(self, launch):
        self.cupy.overwrite_l2()
        self.cupy.wait()
        start = time.perf_counter()
        result = launch()
        return (time.perf_counter() - start) * 1e3, result

    def captured(self, launch):
        raise RuntimeError("it is not captured")

    def spoil(self, result):
        """Each call leaves its results in memory of its own."""

    def leave(self, result):
        return self.cupy.leave(self.cupy.cupy.from_dlpack(result))

    def forget(self):
        pass


LIBRARIES = {"torch": Torch, "CuPy": CuPy, "Triton": Triton, "JAX": Jax}


class Peers:
    def __init__(self, name):
        self.library, self.left_out, self.contenders, self.results = None, [], {}, {}
        try:
            self.library = LIBRARIES[name]()
        except Exception as error:
            self.left_out.append({"name": name, "reason": python_peers.reason(error)})

    def greeting(self):
        library = self.library
        return {
            "versions": [library.version] if library else [],
            "notes": getattr(library, "notes", []),
            "left_out": self.left_out,
        }

    def share(self, what, handle, bytes):
        self.library.adopt(what, python_peers.opened(handle).value, bytes)
        return {}

    def begin(self, kind, operator, element_type, rows, columns, is_graph):
        self.is_graph = is_graph
        if is_graph and isinstance(self.library, (Triton, Jax)):
            return {"contenders": []}
        self.contenders = self.library.solutions(kind, operator, element_type, rows, columns)
        self.are_captured = set()
        return {"contenders": list(self.contenders)}

    def spoil(self, name):
        result = self.results.pop(name, None)
        if result is not None:
            self.library.spoil(result)
        return {}

    def time(self, name):
        library = self.library
        if self.is_graph and name not in self.are_captured:
            self.contenders[name] = library.captured(self.contenders[name])
            self.are_captured.add(name)
        # What the last launch has left goes first, so that the next finds its memory and allocates none.
        self.results.pop(name, None)
        timed = library.time_graph if self.is_graph else library.time
        ms, self.results[name] = timed(self.contenders[name])
        return {"ms": ms}

    def leave(self, name):
        return self.library.leave(self.results[name])

    def end(self):
        self.contenders, self.results = {}, {}
        self.library.forget()
        return {}


def main():
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peers = Peers(sys.argv[1])
    print(json.dumps(peers.greeting()), file=answers, flush=True)
    for line in sys.stdin:
        ((question, arguments),) = json.loads(line).items()
        try:
            answer = getattr(peers, question)(**arguments)
        except Exception as error:
            answer = {"failed": python_peers.reason(error)}
        print(json.dumps(answer), file=answers, flush=True)


main()
