#!/usr/bin/env python3
"""Measures with Nsight Compute what the emulator's counters claim to count, and writes one CSV file.

    python3 peers/ncu_counters.py OUT.csv [--arch sm_90]
    python3 peers/ncu_counters.py OUT.csv --warpfold target/release/warpfold

Needs a GPU and ncu, and the first form nvcc. Its rows are launches of memory.cu and ladder.cu: kernel, parameter, the 32
indices of an indexed kernel (-1 for a lane that does not take part), then the metrics. Those of the second form are the
lessons of warpfold, which the GPU's driver assembles from the very PTX that the emulator executes: kernel, elements, lesson,
blocks, threads of a block, then the metrics. A metric that this ncu does not know is left out.
"""

import argparse
import csv
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PEERS = pathlib.Path(__file__).resolve().parent

# In both: what the instructions are, where lanes part, and which sectors and wavefronts the accesses ask for.
COMMON = """
smsp__inst_executed.sum
smsp__thread_inst_executed.sum
smsp__thread_inst_executed_per_inst_executed.ratio
smsp__thread_inst_executed_pred_on.sum
smsp__thread_inst_executed_pred_on_per_inst_executed.ratio
smsp__sass_branch_targets.sum
smsp__sass_branch_targets_threads_divergent.sum
smsp__sass_branch_targets_threads_uniform.sum
smsp__sass_average_branch_targets_threads_uniform.pct
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum
l1tex__t_requests_pipe_lsu_mem_global_op_red.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum
memory_l2_theoretical_sectors_global
memory_l2_theoretical_sectors_global_ideal
memory_l1_tag_requests_global
l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio
smsp__sass_average_data_bytes_per_sector_mem_global.ratio
smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio
smsp__sass_average_data_bytes_per_wavefront_mem_shared.ratio
memory_l1_wavefronts_shared
memory_l1_wavefronts_shared_ideal
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum
smsp__inst_executed_op_shared_atom.sum
""".split()

# For the ladder only.
WAITING = """
smsp__inst_executed_pipe_cbu.sum
smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio
smsp__average_warp_latency_issue_stalled_barrier.ratio
""".split()


# The parts of the course whose lessons are measured. A nested kernel launches others, which ncu does not follow.
PARTS = {
    "The ladder": 1 << 22,
    "Other roads to the same sum": 1 << 18,
    "Divergence": 1 << 18,
    "Memory access": 1 << 18,
    "Cooperation": 1 << 18,
    "A histogram": 1 << 18,
}


def build(source, arch, folder):
    program = folder / source.stem
    subprocess.run(["nvcc", "-O3", f"-arch={arch}", source, "-o", program], check=True)
    return program


def profiled(command, metrics, options=()):
    """What a program says, and ncu's table of its launches in order: one dictionary each, with the metrics that ncu knows."""
    said = " ".join(map(str, command))
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "ncu.csv"
        known = list(metrics)
        while True:
            profiler = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
                        *options, "--log-file", log, "--metrics", ",".join(known)]
            begun = time.monotonic()
            run = subprocess.run([*profiler, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            text = log.read_text() if log.exists() else ""
            unknown = [name for name in known if re.search(rf"ind metric.*{re.escape(name)}\b", text)]
            print(f"{said}: exit {run.returncode} in {time.monotonic() - begun:.1f} s, unknown metrics: {unknown}",
                  file=sys.stderr, flush=True)
            if '"ID"' in text or not unknown:
                break
            known = [name for name in known if name not in unknown]
    start = text.find('"ID"')
    if start < 0:
        raise RuntimeError(f"ncu gave no table for {said}:\n{text}\n{run.stdout[-2000:]}")
    rows = [row for row in csv.DictReader(io.StringIO(text[start:])) if row["ID"].isdigit()]
    for row in rows:
        for name in known:
            row[name] = (row.get(name) or "").replace(",", "")
    return run.stdout, rows


def of_program(program, argument, metrics):
    """The rows of a program of ours in CUDA C++, which says what it launches."""
    output, measured = profiled([program, argument], metrics)
    launched = [line.split(",") for line in output.splitlines() if line.count(",") == 2]
    if len(measured) != len(launched):
        sys.exit(f"{program.name} {argument}: {len(launched)} launches, {len(measured)} measured")
    for (kernel, parameter, indices), row in zip(launched, measured):
        if not row["Kernel Name"].startswith(kernel):
            sys.exit(f"launched {kernel}, measured {row['Kernel Name']}")
        yield {**row, "kernel": kernel, "parameter": parameter, "indices": indices}


def of_lesson(warpfold, lesson, n, metrics):
    """The first launch of a lesson's kernel; nothing, with a line that says so, where it can't be had."""
    command = [warpfold, "run", lesson, "-n", str(n), "--block", "512", "--device", "gpu", "--repeat", "1"]
    try:
        _, rows = profiled(command, metrics, ["--kernel-name", f"regex:^{lesson}", "--launch-count", "1"])
    except RuntimeError as failure:
        print(failure, file=sys.stderr, flush=True)
        return
    for row in rows:
        blocks, threads = (math.prod(map(int, row[name].strip("()").split(","))) for name in ("Grid Size", "Block Size"))
        kernel = row["Kernel Name"].split("(")[0]
        yield {**row, "kernel": kernel, "elements": n, "lesson": lesson, "blocks": blocks, "threads": threads}


def lessons(warpfold):
    """Each lesson that is measured, and the number of its elements."""
    catalogue = json.loads(subprocess.run([warpfold, "lessons", "--json", "-"], check=True, stdout=subprocess.PIPE).stdout)
    for lesson in catalogue["lessons"]:
        if lesson["part"] in PARTS:
            yield lesson["id"], PARTS[lesson["part"]]


def write(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--warpfold", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = []
    if arguments.warpfold:
        columns = ["kernel", "elements", "lesson", "blocks", "threads", *COMMON, *WAITING]
        for lesson, n in lessons(arguments.warpfold):
            rows += of_lesson(arguments.warpfold, lesson, n, COMMON + WAITING)
            write(arguments.out, columns, rows)
        return
    columns = ["kernel", "parameter", "indices", *COMMON, *WAITING]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        memory = build(PEERS / "memory.cu", arguments.arch, folder)
        ladder = build(PEERS / "ladder_launch.cu", arguments.arch, folder)
        groups = [(memory, "copies", COMMON), (memory, "banks", COMMON), (ladder, "22", COMMON + WAITING),
                  (memory, "indexed", COMMON)]
        # Written anew after each program, so that what has been measured is kept.
        for program, argument, metrics in groups:
            rows += of_program(program, argument, metrics)
            write(arguments.out, columns, rows)


if __name__ == "__main__":
    main()
