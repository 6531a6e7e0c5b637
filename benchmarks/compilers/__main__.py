"""Strata beside TACO, Scorch and MLIR's sparse compiler, and beside torch and SciPy, on this machine.

    python benchmarks/compilers [FILE.md] [--runs 3] [--seconds 0.5] [--tasks "SpMV U,..."]

None of the three is on PyPI: $TACO is TACO's command-line tool (see with_taco.py), Scorch is importable (PYTHONPATH=scorch/src, built
there by `python setup.py build_ext --inplace`), MLIR is Debian's mlir-19-tools and clang-19. What is missing stands in the page with
the reason.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

from tasks import TASKS, __doc__ as inputs

from strata._timing.machine import processor

HERE = pathlib.Path(__file__).parent
COMPILERS = {"taco": "TACO", "scorch": "Scorch", "mlir": "MLIR"}
LIBRARIES = {"strata": "Strata", **COMPILERS, "torch": "torch", "scipy": "SciPy"}
WORKERS = [*LIBRARIES, "limit"]
ROUNDS = 3


class Worker:
    """One library in a process of its own. (Threads of several would spin beside each other.)"""

    def __init__(self, library, threads, seconds):
        counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "STRATA_NUM_THREADS"), str(threads))
        self.process = subprocess.Popen(
            [sys.executable, HERE / "worker.py", library, str(seconds)], text=True, env={**os.environ, **counts},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

        self.said = []  # read along with the answers: a full pipe would stop the library
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()
        self.why = None  # it does not answer

    def ask(self, task):
        if self.why is None:
            try:
                print(task, file=self.process.stdin, flush=True)
                return json.loads(self.process.stdout.readline())
            except (BrokenPipeError, json.JSONDecodeError):
                self.process.wait()
                last = [line.strip() for line in self.said if line.strip()][-1:]
                self.why = f"ended with {self.process.returncode}: {''.join(last)}"[:200]
        return {"error": self.why}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def one_run(tasks, threads, seconds):
    """{(task, library): the answer with the least time of three rounds}."""
    workers, best = {library: Worker(library, threads, seconds) for library in WORKERS}, {}
    for task in tasks:
        for _ in range(ROUNDS):
            for library, worker in workers.items():
                answer, known = worker.ask(task.name), best.get((task.name, library))
                if known is None or answer.get("ms", 1e9) < known.get("ms", 1e9):
                    best[task.name, library] = answer
        print(
            threads,
            task.name,
            {library: best[task.name, library].get("ms", "-") for library in WORKERS},
            file=sys.stderr,
            flush=True,
        )
    for worker in workers.values():
        worker.close()
    return best


def table(tasks, threads, runs):
    median = {
        key: statistics.median(run[key]["ms"] for run in runs) if all("ms" in run[key] for run in runs) else None
        for key in runs[0]
    }
    ms = lambda value: "-" if value is None else f"{value:.3g}"
    lines = [
        f"## {threads} thread{'s' * (threads > 1)}\n",
        "| task | "
        + " | ".join(f"{name}, ms" for name in LIBRARIES.values())
        + " | lines alone, ms | best compiler over ours | best of all over ours | lines over ours | Zen 5, ms | over ours |",
        "|" + "---|" * (len(LIBRARIES) + 7),
    ]
    for task in tasks:
        ours = median[task.name, "strata"]
        took = {library: median[task.name, library] for library in WORKERS}
        compilers, others = (
            [took[name] for name in names if name != "strata" and took[name]] for names in (COMPILERS, LIBRARIES)
        )
        ratios = [
            f"{min(times) / ours:.2f}" if times and ours else "-"
            for times in (compilers, others, [took["limit"]] if took["limit"] else [])
        ]
        who, there = task.theirs[threads]
        cells = [
            task.name,
            *map(ms, took.values()),
            *ratios,
            f"{who} {there:g}",
            f"{there / ours:.2f}" if ours else "-",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for library, name in LIBRARIES.items():
        ways = {}
        for task in tasks:
            answer = runs[-1][task.name, library]
            ways.setdefault(answer.get("way") or answer["error"], []).append(task.name)
        lines.append(f"- {name}: " + "; ".join(f"{way} ({', '.join(names)})" for way, names in ways.items()))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", help="a file of Markdown; else the page is printed")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="each library and task is called so long in each of three rounds"
    )
    parser.add_argument("--tasks", default=",".join(task.name for task in TASKS))
    arguments = parser.parse_args()
    tasks = [task for task in TASKS if task.name in arguments.tasks.split(",")]
    page = f"# Beside the sparse compilers\n\n{processor()}, {datetime.date.today()}.\n" + inputs.split("\n", 1)[1]
    page += (
        f"\nEvery library in a process of its own, asked in turn for {arguments.seconds:g} s at a time, three times a run; the least of a run counts, and of "
        f"{arguments.runs} runs the median. Each compiler's best: with its schedule and without, with -march=native and without, with vectors and without. "
        "Strata is the call that a user makes, checks and a new result included; TACO and MLIR are their loops alone, called with "
        "operands that are prepared and dense results that lie ready. All results agree in their sums. MLIR's pipeline and SciPy run on one thread.\n\n"
        "Lines alone: one number is read of each cache line of the stored elements, and of each that they choose of the dense operands, in their order; "
        "nothing else is done. (Who reads ahead of need, or a dense operand piece by piece, can be faster.)\n\n"
        "Zen 5: what the best compiler took when all of them were first measured, on another machine (2 cores of a faster processor).\n\n"
    )
    for threads in (1, 2):
        page += (
            table(tasks, threads, [one_run(tasks, threads, arguments.seconds) for _ in range(arguments.runs)]) + "\n"
        )
    pathlib.Path(arguments.page).write_text(page) if arguments.page else print(page)


if __name__ == "__main__":
    main()
