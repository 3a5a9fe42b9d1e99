#!/usr/bin/env python3
"""Measures with Nsight Compute what the emulator's counters claim to count, and writes one CSV file.

    python3 peers/ncu_counters.py OUT.csv [--arch sm_90]

Needs a GPU, nvcc and ncu. Each row is one launch of memory.cu or ladder.cu: kernel, parameter, the 32 indices of an
indexed kernel (-1 for a lane that does not take part), then the metrics. A metric that this ncu does not know is left out.
"""

import argparse
import csv
import io
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


def build(source, arch, folder):
    program = folder / source.stem
    subprocess.run(["nvcc", "-O3", f"-arch={arch}", source, "-o", program], check=True)
    return program


def profiled(program, argument, metrics):
    """The rows of one program's launches: what it said it launched, and ncu's metrics, in order."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "ncu.csv"
        known = list(metrics)
        while True:
            command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
                       "--log-file", log, "--metrics", ",".join(known), program, argument]
            begun = time.monotonic()
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            text = log.read_text() if log.exists() else ""
            unknown = [name for name in known if re.search(rf"ind metric.*{re.escape(name)}\b", text)]
            print(f"{program.name} {argument}: exit {run.returncode} in {time.monotonic() - begun:.1f} s,"
                  f" unknown metrics: {unknown}", file=sys.stderr, flush=True)
            if '"ID"' in text or not unknown:
                break
            known = [name for name in known if name not in unknown]
    start = text.find('"ID"')
    if start < 0:
        sys.exit(f"ncu gave no table for {program.name} {argument}:\n{text}\n{run.stdout[-2000:]}")
    table = list(csv.DictReader(io.StringIO(text[start:])))
    measured = [row for row in table if row["ID"].isdigit()]
    launched = [line.split(",") for line in run.stdout.splitlines() if line.count(",") == 2]
    if len(measured) != len(launched):
        sys.exit(f"{program.name} {argument}: {len(launched)} launches, {len(measured)} measured")
    for (kernel, parameter, indices), row in zip(launched, measured):
        if not row["Kernel Name"].startswith(kernel):
            sys.exit(f"launched {kernel}, measured {row['Kernel Name']}")
        values = {name: (row.get(name) or "").replace(",", "") for name in known}
        yield {"kernel": kernel, "parameter": parameter, "indices": indices, **values}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--arch", default="sm_90")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        memory = build(PEERS / "memory.cu", arguments.arch, folder)
        ladder = build(PEERS / "ladder_launch.cu", arguments.arch, folder)
        groups = [(memory, "copies", COMMON), (memory, "banks", COMMON), (ladder, "22", COMMON + WAITING),
                  (memory, "indexed", COMMON)]
        # Written anew after each program, so that what has been measured is kept.
        for program, argument, metrics in groups:
            rows += profiled(program, argument, metrics)
            columns = ["kernel", "parameter", "indices", *COMMON, *WAITING]
            with open(arguments.out, "w", newline="") as file:
                writer = csv.DictWriter(file, columns, restval="")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
