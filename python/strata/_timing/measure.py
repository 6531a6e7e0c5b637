"""The driver: workers are visited in turn, so that every library sees the same noise; the minimum counts."""

import dataclasses
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time

from .case import same
from .machine import meminfo

#: seconds for an answer; a library that once needed more is not asked again for that case
TIMEOUT = 600


#: the module that a process runs
WORKER = "strata._timing.worker"


class Process:
    """A worker: what `command` says behind `python -m`, then the library's name and its number of threads; `path` is a further folder
    of modules."""

    def __init__(self, peer, threads, command=(WORKER,), path=None, python=None):
        environment = dict(os.environ)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "STRATA_NUM_THREADS"):
            environment[name] = str(threads)
        environment["PYTHONWARNINGS"] = "ignore"
        if path:
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), str(path)]))
        self._complaints = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [python or sys.executable, "-m", *command, peer, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env=environment,
        )
        self.first = self._read(120)

    def ask(self, timeout=TIMEOUT, **request):
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"the worker ended: {self._last_words()}"}
        return self._read(timeout)

    def _read(self, timeout):
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        if not ready:
            self.end()
            return {"error": f"no answer within {timeout} s"}
        line = self._process.stdout.readline()
        return (
            json.loads(line)
            if line
            else {"error": f"the worker ended (status {self._process.wait()}): {self._last_words()}"}
        )

    def _last_words(self):
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a word"

    def alive(self):
        return self._process.poll() is None

    def end(self):
        if self.alive():
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            stream.close()
        self._complaints.close()


class Pool:
    """Processes by (peer, threads), started when first needed; `pythons`: {peer: interpreter} where it is not this one. What they run
    (`command`, `path`) is as for Process."""

    def __init__(self, command=(WORKER,), path=None, pythons=None):
        self._processes, self._command, self._path, self._pythons = {}, command, path, pythons or {}

    def get(self, peer, threads):
        key = (peer, threads)
        known = self._processes.get(key)
        if known is None or ("error" not in known.first and not known.alive()):  # what is not installed stays so
            self._processes[key] = Process(peer, threads, self._command, self._path, self._pythons.get(peer))
        return self._processes[key]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self._processes.values():
            p.end()


def half_is_taken():
    """Is more than half of the machine's memory in use?"""
    memory = meminfo()
    return memory.get("MemAvailable", 1) < memory.get("MemTotal", 0) / 2


def split(key):
    """(library, number of threads) of "library/threads"."""
    name, threads = key.split("/")
    return name, int(threads)


#: libraries beside the race: timed in every round, and nobody is out of it because they are fast
YARDSTICKS = ("dense", "bf16")

#: libraries whose results the others are compared with
REFERENCES = ("scipy", "dense")


def races(key):
    """Is this one of the libraries of which the fastest counts?"""
    return not key.startswith("strata") and split(key)[0] not in YARDSTICKS


#: After two rounds a library this much slower than the best one beside us has had its say: no further visit can make it the best.
HOPELESS = 2.0


def slower(seconds, factor):
    """Which of the other libraries take more than `factor` times the best one's seconds with as many threads."""
    best = {}
    for key, s in seconds.items():
        if races(key):
            threads = split(key)[1]
            best[threads] = min(s, best.get(threads, s))
    return [k for k, s in seconds.items() if races(k) and s > factor * best[split(k)[1]]]


def hopeless(results, open_keys):
    """Which of the other libraries are out of the race of their number of threads."""
    return slower({k: min(results[k]["times"]) for k in open_keys}, HOPELESS)


#: times the best library's time, at which another gets no round of its own, and is not prepared again in later runs
FAR_BEHIND = 5.0


def left_at_once(results, open_keys):
    """Which of the other libraries are so far behind by the timings of their preparation that no round is spent on them."""
    seconds = {k: results[k]["variants"][results[k]["variant"]]["seconds"] for k in open_keys}
    return [k for k in slower(seconds, FAR_BEHIND) if not k.startswith("scipy")]


def contenders(known):
    """Of an earlier run, the variants that may be the fastest in this one; None: there is none, or only its best one is known."""
    seconds = {name: v.get("seconds") for name, v in known.get("variants", {}).items()}
    if not seconds or None in seconds.values():
        return None
    return [name for name in seconds if seconds[name] < 1.5 * min(seconds.values())]


def far_behind(earlier, key):
    """Was this library out of the race in an earlier run? Ours and the reference never are."""
    name, threads = split(key)
    best = best_peer(earlier or {}, threads)[1]
    known = (earlier or {}).get(key, {}).get("seconds")
    return bool(best and known and races(key) and name != "scipy" and known > FAR_BEHIND * best["seconds"])


def stays_behind(results, peer, n, first):
    """Is this library so slow with `first` threads that it stays far behind with n, even if it alone gains from them all?"""
    seconds = {k: r["variants"][r["variant"]]["seconds"] for k, r in results.items() if "variants" in r}
    seconds = {k: s for k, s in seconds.items() if split(k)[1] == first}
    return not peer.startswith("scipy") and f"{peer}/{first}" in slower(seconds, FAR_BEHIND * n / first)


def measure(pool, case, peers, threads, rounds=8, budget=0.3, progress=None, limit=None, earlier=None, serial=()):
    """Times one case; after `limit` seconds of rounds no further one starts. `earlier`: the results of an earlier run, whose
    variants are taken again. `serial`: libraries that have one thread, whose figures serve for any number.
    Returns {"peer/threads": {...}}: seconds (minimum), spread (median / minimum), rounds, variant, note,
    variants; or "refused" / "error". A result that differs from the reference's is an error."""
    request = dataclasses.asdict(case)
    results, open_ = {}, []
    for n in threads:
        for peer in peers:
            if peer in serial and n != threads[0]:
                continue
            key = f"{peer}/{n}"
            if far_behind(earlier, key) or (earlier or {}).get(key, {}).get("behind"):
                results[key] = {"behind": f"more than {FAR_BEHIND:.0f} times the best in an earlier run"}
                continue
            if n != threads[0] and stays_behind(results, peer, n, threads[0]):
                results[key] = {"behind": f"too far behind the best with {threads[0]} thread{'s' * (threads[0] > 1)}"}
                continue
            if progress:
                progress.say(f"preparing {key}")
            p = pool.get(peer, n)
            known = (earlier or {}).get(key, {})
            answer = (
                p.first
                if "error" in p.first
                else {k: known[k] for k in ("refused", "error") if k in known}
                if "variant" not in known and (known.get("refused") or "no answer" in known.get("error", ""))
                else p.ask(do="open", case=request, variants=contenders(known))
            )
            if "error" in answer or "best" not in answer:
                results[key] = {k: v for k, v in answer.items() if k in ("error", "refused")}
                continue
            results[key] = {
                "variant": answer["best"],
                "variants": {**known.get("variants", {}), **answer["variants"]},
                "refused": {**known.get("refused", {}), **answer["refused"]},
                "nse": answer["nse"],
                "shape": answer["shape"],
                "dtype": answer["dtype"],
                "fingerprint": answer.get("fingerprint"),
                "times": [],
            }
            open_.append((key, p))
            # Beyond half of the memory nothing more stays open: everyone is prepared anew at each visit.
            if half_is_taken():
                p.ask(do="close")
                results[key]["reopen"] = True
    for key in left_at_once(results, [key for key, _ in open_]):
        results[key]["times"].append(results[key]["variants"][results[key]["variant"]]["seconds"])
        pool.get(*split(key)).ask(do="close")
    open_ = [(key, p) for key, p in open_ if not results[key]["times"]]
    start = time.monotonic()
    for turn in range(rounds):
        if turn and limit is not None and time.monotonic() - start > limit:
            break
        if turn == 2:
            out = hopeless(results, [key for key, _ in open_ if results[key].get("times")])
            for key, p in open_:
                if key in out:
                    p.ask(do="close")
            open_ = [(key, p) for key, p in open_ if key not in out]
        for key, p in open_:
            r = results[key]
            if "error" in r:
                continue
            if progress:
                progress.say(f"round {turn + 1}/{rounds}: {key}")
            if r.get("reopen"):
                p.ask(do="open", case=request, variants=[r["variant"]])
            answer = p.ask(do="time", budget=budget)
            if r.get("reopen"):
                p.ask(do="close")
            if "error" in answer:
                r["error"] = answer["error"]
            else:
                r["times"].append(min(answer["times"]))
    for key, p in open_:
        if p.alive():
            p.ask(do="close")
    _judge(results)
    return results | {
        f"{peer}/{n}": results[f"{peer}/{threads[0]}"] for peer in serial if peer in peers for n in threads
    }


def _judge(results):
    reference = next(
        (r["fingerprint"] for k, r in results.items() if split(k)[0] in REFERENCES and r.get("fingerprint")), None
    )
    for r in results.values():
        if not r.get("times"):
            continue
        times = sorted(r.pop("times"))
        r["seconds"] = times[0]
        r["spread"] = statistics.median(times) / times[0]
        r["rounds"] = len(times)
        mine = r.pop("fingerprint", None)
        if reference and mine and not same(mine, reference, r["dtype"]):
            r["error"] = "the result differs from the reference"
        r.pop("reopen", None)


def best_peer(results, threads):
    """(key, result) of the fastest library that is not ours; SciPy's one thread counts for any number."""
    keys = [
        k
        for k, r in results.items()
        if "seconds" in r
        and "error" not in r
        and races(k)
        and k.split("/")[1] in (str(threads), "1" if k.startswith("scipy") else str(threads))
    ]
    if not keys:
        return None, None
    key = min(keys, key=lambda k: results[k]["seconds"])
    return key, results[key]
