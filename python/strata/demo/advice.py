"""What the demo recommends, and what its timings are worth."""

from .._advice import call
from .._terminal import seconds as shown
from .formats import label

#: processors that others may use before the machine counts as busy
BUSY = 0.3
#: below this a product is mostly its call
CALL = 10e-6
#: two minima of timings differ by as much without a reason: on a quiet machine, on a busy one
NOISE, NOISE_WHEN_BUSY = 0.05, 0.25


def advised(info, formats, timings, busy=False):
    """The storage with the least time of SpMV where timings tell it apart, otherwise the model's; and the reasons."""
    by_label = {label(f): f for f in info["formats"]}
    model = best = label(info["formats"][0])
    why = []
    ours = timings.get("spmv", {}).get("strata", {})
    if "seconds" in ours:
        noise = max(NOISE_WHEN_BUSY if busy else NOISE, ours.get("spread", 1.0) - 1)
        times = {name: v["seconds"] for name, v in ours["variants"].items() if "seconds" in v}
        best = _fastest(times, noise, model)
        why += _measured(times, best, noise, busy)
        many = timings.get("spmm64", {}).get("strata", {})
        times = {name: v["seconds"] for name, v in many.get("variants", {}).items() if "seconds" in v}
        if times and (winner := _fastest(times, noise, best)) != best:
            why.append(f"for many columns at once {winner} is faster")
    estimate = by_label.get(best)
    if estimate is None or best == model:
        why.append(info["why"])
    else:
        plain = by_label["CSR"]
        each = max(1, info["nse"])
        why.append(
            (estimate["note"] or "no structure that another format uses better")
            + f": {estimate['bytes'] / each:.1f} bytes a stored element, CSR takes {plain['bytes'] / each:.1f}"
        )
    name, _, crd = best.rpartition(" ") if " uint" in best else (best, "", "")
    row = next((f for f in formats if f["format"] == best), {})
    return {
        "format": name,
        "crd_dtype": crd or None,
        "call": f"A.to({call(name, crd)})",
        "text": row.get("text", ""),
        "why": why,
        "model": model,
    }


def _fastest(times, noise, preferred):
    """The storage of the least time; the preferred one where it is as fast within the noise, then CSR."""
    alike = [name for name, t in times.items() if t <= (1 + noise) * min(times.values())]
    for name in (preferred, "CSR"):
        if name in alike:
            return name
    return min(times, key=times.get)


def _measured(times, best, noise, busy):
    csr = times.get("CSR")
    if csr is None or best == "CSR":
        return []
    if csr < CALL:
        return [f"measured: A @ x takes {shown(times[best])}, which is mostly the call: at this size formats are alike"]
    if csr <= (1 + noise) * times[best]:
        about = "this machine is busy: " if busy else ""
        return [f"measured: A @ x is as fast as in CSR, within the noise ({about}{100 * noise:.0f} %)"]
    return [f"measured: A @ x is {csr / times[best]:.2f} times as fast as in CSR"]
