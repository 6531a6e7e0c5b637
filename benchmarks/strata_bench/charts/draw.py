"""A record as charts: SVG that follows the reader's system, light or dark, as the library's own pictures do."""

import hashlib
import io
import math
import re

from .. import figures, pages
from . import record

#: name: light, dark; those of src/draw/svg.cpp
COLOURS = {
    "ink": ("#1d2228", "#e8edf2"),
    "muted": ("#66707b", "#94a0ac"),
    "hair": ("#d7dce2", "#2c343d"),
    "page": ("#ffffff", "#0f141a"),
    "blue": ("#3f83ea", "#5ba4f5"),
    "green": ("#22a06a", "#43b886"),
    "amber": ("#cb8d16", "#dcaa48"),
    "violet": ("#8b62f0", "#a98ff5"),
    "teal": ("#1499aa", "#45c1d0"),
    "pink": ("#d14a93", "#ec7db7"),
    "olive": ("#809b22", "#abc346"),
    "slate": ("#6676b8", "#93a2e0"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}

LIBRARIES = {"Strata": "blue", "SciPy": "amber", "torch": "pink"}

#: columns of the weights: colour, marker, label; what is not ours is dashed
SERIES = {
    ("dense", "NumPy"): ("ink", "s", "dense, NumPy"),
    ("dense", "torch"): ("muted", "D", "dense, torch"),
    ("CSR", "SciPy"): ("amber", "s", "CSR, SciPy"),
    ("CSR int32", "torch"): ("pink", "D", "CSR, torch"),
    ("dense", "Strata"): ("slate", "o", "Strata, dense"),
    ("CSR", "Strata"): ("olive", "o", "Strata, CSR"),
    ("CSR uint16", "Strata"): ("teal", "o", "Strata, CSR, uint16"),
    ("bitmap", "Strata"): ("green", "o", "Strata, bitmap"),
    ("delta(4)", "Strata"): ("violet", "o", "Strata, delta(4)"),
    ("delta(4), user's kernel", "Strata"): ("blue", "*", "Strata, delta(4), user's kernel"),
}

#: the top of the weights' axis, in times of the fastest dense product
HEADROOM = 2.4


def digest(name):
    return hashlib.sha256((figures.RESULTS / name).read_bytes()).hexdigest()[:16]


def charts(name):
    """{file name: SVG text} of a record."""
    import matplotlib

    matplotlib.use("svg")
    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": "strata",
        "font.family": ["ui-monospace", "Menlo", "DejaVu Sans Mono", "monospace"],
        "font.size": 10,
        "axes.edgecolor": LIGHT["hair"],
        "axes.labelcolor": LIGHT["muted"],
        "axes.titlecolor": LIGHT["ink"],
        "text.color": LIGHT["ink"],
        "xtick.color": LIGHT["muted"],
        "ytick.color": LIGHT["muted"],
        "grid.color": LIGHT["hair"],
        "figure.facecolor": LIGHT["page"],
        "axes.facecolor": LIGHT["page"],
        "path.simplify": False,
    }
    threads = record.threads_of(name)
    with matplotlib.rc_context(style), quiet_fonts():
        made = {"stencil.svg": svg(stencil(name, threads), name)}
        for n in threads:
            made[f"weights-{n}.svg"] = svg(weights(name, n), name)
    return made


def quiet_fonts():
    """The fonts are the reader's; that they are not here is nothing to be told of."""
    import contextlib
    import logging

    @contextlib.contextmanager
    def block():
        log = logging.getLogger("matplotlib.font_manager")
        before, log.level = log.level, logging.ERROR
        try:
            yield
        finally:
            log.level = before

    return block()


def stencil(name, threads):
    """Bars: the formats of each library, a panel for each number of threads."""
    from matplotlib.figure import Figure

    figure = Figure((9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(threads), sharey=True, squeeze=False)[0]
    for axes, n in zip(panels, threads):
        groups = record.stencil(name, n)
        for k, (format, best) in enumerate(groups.items()):
            for library, colour in LIBRARIES.items():
                x = k + 0.27 * (list(LIBRARIES).index(library) - 1)
                if library in best:
                    ms = 1e3 * best[library]
                    axes.bar(x, ms, 0.25, color=LIGHT[colour], label=library if k == 0 else None)
                    axes.annotate(
                        f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}",
                        (x, ms),
                        (0, 2),
                        textcoords="offset points",
                        ha="center",
                        fontsize=8,
                    )
                else:
                    axes.annotate("none", (x, 0.02), xycoords=("data", "axes fraction"), ha="center", rotation=90,
                                  fontsize=8, color=LIGHT["muted"])  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlim(-0.55, len(groups) - 0.45)
        axes.set_xticks(range(len(groups)), list(groups))
        axes.set_title(f"{n} thread{'s' * (n > 1)}", fontsize=10)
        tidy(axes)
    every = [1e3 * t for n in threads for best in record.stencil(name, n).values() for t in best.values()]
    panels[0].set_ylim(10 ** math.floor(math.log10(min(every))), 1.5 * max(every))
    panels[0].set_ylabel("milliseconds")
    panels[-1].legend(frameon=False, fontsize=9)
    figure.suptitle("SpMV of a 7-point stencil", x=0.01, ha="left", fontsize=12, fontweight=600)
    return figure


def weights(name, n):
    """Lines: time over the share of absent elements, a panel for each dtype."""
    from matplotlib.figure import Figure

    figure = Figure((9, 5), layout="constrained")
    panels = figure.subplots(1, 2)
    labels = {}
    for axes, dtype in zip(panels, ("float32", "float16")):
        of = record.weights(name, dtype, n)
        for (series, library), (colour, marker, label) in SERIES.items():
            points = [(percent, 1e3 * t) for percent, t in of.get((series, library), {}).items()]
            if points:
                ours = library == "Strata"
                labels[label] = axes.plot(
                    *zip(*points),
                    color=LIGHT[colour],
                    marker=marker,
                    markersize=7 if marker == "*" else 4,
                    linewidth=1.6 if ours else 1.2,
                    linestyle="-" if ours else (0, (4, 2)),
                )[0]
        # Where lines cross is what is to be seen: what takes far longer than a dense product begins above the top.
        dense = [max(of[key].values()) for key in of if key[0] == "dense"]
        top = HEADROOM * 1e3 * min(dense)
        above = [
            f"{SERIES[key][2]}: {1e3 * min(t.values()):.3g} ms"
            for key, t in of.items()
            if key in SERIES and 1e3 * min(t.values()) > top
        ]
        axes.set_ylim(0, top)
        axes.annotate("\n".join(above), (0.98, 0.98), xycoords="axes fraction", ha="right", va="top", fontsize=8)
        axes.set_title(dtype, fontsize=10)
        axes.set_xlabel("% of the elements absent")
        axes.set_xticks(range(0, 101, 20))
        tidy(axes)
    panels[0].set_ylabel("milliseconds")
    figure.legend(labels.values(), labels, loc="outside right upper", frameon=False, fontsize=9)
    shape = pages.sentence(name, pages.heading("float32", n)).partition(", float")[0].replace("x", "×")
    title = f"{shape} times a vector, {n} thread{'s' * (n > 1)}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight=600)
    return figure


def tidy(axes):
    axes.grid(axis="y", which="major", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_formatter(lambda ms, _: f"{ms:g}")
    axes.minorticks_off()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def svg(figure, name):
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Description": description(name)})
    return themed(text.getvalue())


def description(name):
    """By this a test sees that a chart is what its record gives."""
    return f"{name} {digest(name)}"


def themed(text):
    """Colours as classes that a dark system has others for; what knows no classes sees the light ones."""
    by_light = {light: name for name, light in LIGHT.items()}

    def classes(match):
        found = re.findall(r"(fill|stroke): (#[0-9a-f]{6})", match[1])
        names = " ".join(f"{p[0]}-{by_light[c]}" for p, c in found if c in by_light)
        return f'class="{names}" {match[0]}' if names else match[0]

    text = re.sub(r'style="([^"]*)"', classes, text)
    used = set(re.findall(r"\b([fs])-(\w+)", text))
    rules = "".join(
        f".{p}-{c}{{{'fill' if p == 'f' else 'stroke'}:{COLOURS[c][1]}!important}}"
        for p, c in sorted(used)
        if c in COLOURS
    )
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return text.replace("<defs>", f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>\n <defs>", 1)
