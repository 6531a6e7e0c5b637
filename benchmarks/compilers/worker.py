"""One library in a process of its own: reads names of tasks, prints what the best of its ways took.

python worker.py LIBRARY SECONDS < names
"""

import importlib
import json
import sys
import time
import traceback

import numpy as np


def measure(ways, seconds):
    """{way: least milliseconds}, called in turn; what took one and a half times as long as the best of them is called no more."""
    least, end = dict.fromkeys(ways, float("inf")), time.perf_counter() + seconds
    while True:
        for way, run in list(ways.items()):
            start = time.perf_counter()
            result = run()
            least[way] = min(least[way], 1e3 * (time.perf_counter() - start))
            del result
            if least[way] > 1.5 * min(least.values()):
                del ways[way]
        if time.perf_counter() > end:
            return least


def checked(task, library):
    """{way: call} of those whose result has the right sum; the first error if none has."""
    expected, ways, wrong = task.sum(), {}, None
    calls = library.calls(task)
    while True:
        try:
            way, run, values = next(calls)
            result = run()  # owns what its values lie in
            if values is not None:  # the limit has none
                total = float(np.sum(np.asarray(values(result)), dtype=np.float64))
                if abs(total - expected) > 1e-4 * abs(expected):
                    raise ArithmeticError(f"{way}: the values' sum is {total:.6g}, not {expected:.6g}")
            ways[way] = run
        except StopIteration:
            break
        except Exception as error:
            traceback.print_exc()
            wrong = wrong or error
    if not ways:
        raise wrong
    return ways


def main():
    from tasks import TASKS

    library, seconds = importlib.import_module("with_" + sys.argv[1]), float(sys.argv[2])
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    tasks, ready = {task.name: task for task in TASKS}, {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in ready:
                ready = {name: checked(tasks[name], library)}  # one at a time: the arrays of the others need not stay
            least = measure(ready[name], seconds)
            way = min(least, key=least.get)
            answer = {"ms": least[way], "way": way}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
