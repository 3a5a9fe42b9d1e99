"""Whether a libNVVM knows the intrinsics of intrinsics.txt: `python3 intrinsics.py PATH/TO/libnvvm.so …`. Needs no GPU.

`pip download --no-deps nvidia-cuda-nvcc-cu12 nvidia-nvvm` gets both of the list's versions, as zip files with a libnvvm.so in each.
"""

import ctypes
import pathlib
import re
import sys

HEAD = """\
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
"""


def call_of(name, signature):
    """A function that does nothing but call the intrinsic."""
    result, operands = re.fullmatch(r"(\w+)\((.*)\)", signature).groups()
    operands = [operand.split() for operand in operands.split(", ")] if operands else []
    types = ", ".join(operand[0] for operand in operands)
    parameters = ", ".join(f"{operand[0]} %a{i}" for i, operand in enumerate(operands))
    arguments = ", ".join(f"{operand[0]} {operand[1] if operand[1:] else f'%a{i}'}" for i, operand in enumerate(operands))
    call = f"call {result} @{name}({arguments})"
    body = f"{call} ret void" if result == "void" else f"%r = {call} ret {result} %r"
    return f"{HEAD}declare {result} @{name}({types})\ndefine {result} @f({parameters}) {{ {body} }}\n"


def compiled(nvvm, source, architecture):
    """The status, and the PTX or what is said about it."""
    program, text, size = ctypes.c_void_p(), source.encode(), ctypes.c_size_t()
    assert nvvm.nvvmCreateProgram(ctypes.byref(program)) == 0
    assert nvvm.nvvmAddModuleToProgram(program, text, ctypes.c_size_t(len(text)), b"f") == 0
    option = (ctypes.c_char_p * 1)(f"-arch=compute_{architecture}".encode())
    status = nvvm.nvvmCompileProgram(program, 1, option)
    what = "ProgramLog" if status else "CompiledResult"
    getattr(nvvm, f"nvvmGet{what}Size")(program, ctypes.byref(size))
    result = ctypes.create_string_buffer(size.value)
    getattr(nvvm, f"nvvmGet{what}")(program, result)
    nvvm.nvvmDestroyProgram(ctypes.byref(program))
    return status, result.value.decode()


def main():
    lines = pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines()
    rows = [re.split(r"\s{2,}", line) for line in lines if not line.startswith("#")]
    wrong = 0
    for path in sys.argv[1:]:
        nvvm = ctypes.CDLL(path)
        oldest = 70 if compiled(nvvm, call_of("llvm.nvvm.barrier0", "void()"), 70)[0] == 0 else 75
        for architecture in (oldest, 80, 90):
            for name, signature, instruction in rows:
                status, text = compiled(nvvm, call_of(name, signature), architecture)
                if status or instruction not in text or ".extern" in text:
                    wrong += 1
                    print(f"{path}, compute_{architecture}: no {instruction} for {name}:\n{text}")
        print(f"{path}: {len(rows)} intrinsics tried for compute_{oldest}, 80 and 90")
    return 1 if wrong or not sys.argv[1:] else 0


sys.exit(main())
