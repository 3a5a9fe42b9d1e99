"""Reductions of arrays at the speed of the memory.

Arrays of NumPy are reduced on the processor's cores, and give arrays of NumPy, or scalars where no axis is left. Arrays of torch, CuPy, JAX and
other libraries with DLPack are reduced where they are, on an NVIDIA GPU too, and give arrays of the same library in the same memory.

Arguments that the functions share:

axis: None for all axes, a number, or several; negative ones are counted from the end.
keepdims: whether the reduced axes stay, with length 1.
deterministic: whether floats are combined in an order that follows from the number of values alone, so that the result has the same bits on
    every GPU, on the processor and on the emulator, except those of a NaN.
stream: for an array in a GPU's memory, the stream that the work is queued on, as torch, CuPy or cuda.core have them, or its handle; without it the
    current stream of torch or CuPy. The call does not wait: another stream that reads the result must wait for this one. With a stream
    that is given, torch does not reuse the tensor's memory before the work is done; arrays of other libraries must be kept until then.
device: for an array in the host's memory, "cpu" (which None means), "gpu", "gpu:N" or "emulator".

Result types are those of NumPy. What cannot be reduced is refused by a TypeError, ValueError or BufferError with the reason; a device that is
missing or fails raises a RuntimeError, and a copy or a
buffer that there is no memory for a MemoryError.
"""

from __future__ import annotations

from typing import Any, Sequence, SupportsIndex, Union

_Axis = Union[SupportsIndex, Sequence[SupportsIndex], None]

__version__: str

def sum(x: Any, axis: _Axis = None, dtype: Any = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The sum: of truth values and signed integers in int64, of unsigned integers in uint64, of floats in their own type, or in dtype."""

def prod(x: Any, axis: _Axis = None, dtype: Any = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The product, in types as those of sum."""

def min(x: Any, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The least value; NaN where one is NaN."""

def max(x: Any, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The greatest value; NaN where one is NaN."""

def minmax(x: Any, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> tuple[Any, Any]:
    """The least and the greatest value, in one pass."""

def mean(x: Any, axis: _Axis = None, dtype: Any = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The mean: of integers in float64, of floats in their own type or in a wider dtype."""

def var(x: Any, axis: _Axis = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The variance, divided by the number of values − ddof, in types as those of mean. Accurate even where the mean is large."""

def std(x: Any, axis: _Axis = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The standard deviation, the root of var."""

def logsumexp(x: Any, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """ln Σ eˣ, without overflow and without losing small terms."""

def any(x: Any, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """Whether any value is not 0."""

def all(x: Any, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """Whether no value is 0."""

def count_nonzero(x: Any, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """How many values are not 0."""

def argmin(x: Any, axis: SupportsIndex | None = None, *, keepdims: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The index of the first of the least values, or of the first NaN; of all values in the order of C, or along an axis."""

def argmax(x: Any, axis: SupportsIndex | None = None, *, keepdims: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The index of the first of the greatest values, or of the first NaN; of all values in the order of C, or along an axis."""

def norm(x: Any, ord: float | None = None, axis: _Axis = None, *, keepdims: bool = False, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """A norm of vectors: the root of the sum of the squares (ord None or 2), the sum of the magnitudes (1), or the greatest (inf)."""

def dot(x: Any, y: Any, *, deterministic: bool = False, stream: Any = None, device: str | None = None) -> Any:
    """The dot product of two arrays with one axis, of one type, which is also the result's."""

def cumsum(x: Any, axis: SupportsIndex | None = None, dtype: Any = None, *, stream: Any = None, device: str | None = None) -> Any:
    """The running sum along an axis, or of all values in the order of C."""

def cumprod(x: Any, axis: SupportsIndex | None = None, dtype: Any = None, *, stream: Any = None, device: str | None = None) -> Any:
    """The running product along an axis, or of all values in the order of C."""

def devices() -> str:
    """What kernels run on: the first GPU, or the emulator and the reason why there is no GPU."""

class Array:
    """A result in a GPU's memory, complete when it is returned, for arrays of libraries that do not say how their own are made. Any library with
    DLPack takes it; the two of minmax one that takes strides, since each has the other's values between its own."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    @property
    def dtype(self) -> str:
        """The name of the type of the values."""

    def numpy(self) -> Any:
        """A copy as a NumPy array."""

    def item(self) -> Any:
        """The value of a result that is one."""

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...
