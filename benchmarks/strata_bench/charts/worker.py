"""Times the series of one library. (A worker of the other benchmarks keeps its best variant; a chart wants them all.)"""

from strata._timing.worker import LONG, Worker

from . import cases
from .peers import PEERS


class ChartWorker(Worker):
    def __init__(self, library, threads):
        super().__init__(PEERS[library](threads))
        self.open_series = {}

    def open(self, case, folder):
        """Prepares every series and compares its result. {"series": {name: note}, "refused": {name: why}}."""
        self.close()
        case = cases.case(**case)
        a, x, want, scale = cases.load(case, folder)
        notes, refused = {}, {}
        for name in self.peer.series(case):
            try:
                p = self.peer.prepare(case, a, x, name)
                p.run()
                off = cases.error(p.result(), want, scale, x.dtype)
            except Exception as e:  # a library without this format or dtype is no failure of the benchmark
                refused[name] = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
                continue
            if not off <= 1:
                refused[name] = f"a wrong result: {off:.3g} times the error that rounding may have"
                continue
            notes[name] = p.note
            self.open_series[name] = p, min(self._time(p, 0))
        return {"series": notes, "refused": refused}

    def close(self):
        self.open_series = {}
        return {}

    def time(self, series, budget):
        p, once = self.open_series[series]
        if once < LONG:
            p.run()
        return {"times": self._time(p, budget)}
