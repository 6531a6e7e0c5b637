"""Sparse attention beside torch's dense one and FlexAttention: length 4,096, 4 heads of 64, forward and backward.

    python benchmarks/attention.py                  # all patterns, 1 and 2 threads
    python benchmarks/attention.py --length 1024 --rounds 3 --only local
    python benchmarks/attention.py --processor      # processor time, on one thread: for machines with other work

Everyone is timed in turn, round after round; a line says the least time of each and the median of the ratios of all rounds. Results
are compared before. FlexAttention has no backward on the CPU; it needs a C++ compiler.
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F

import strata as st
import strata.torch as stt


def patterns(length, heads):
    """name -> a Pattern, or for blocks a layout (heads, blocks, blocks) and the extent of a block."""
    yield "BigBird, blocks of 16", layout(stt.BigBirdSparsityConfig(heads, 16, generator=0), length)
    yield "BigBird, blocks of 64", layout(stt.BigBirdSparsityConfig(heads, 64, generator=0), length)
    yield "BigBird, each head its own", layout(stt.BigBirdSparsityConfig(heads, 16, True, generator=0), length)
    window = stt.LocalSlidingWindowSparsityConfig(heads, 64, 3, "bidirectional")
    yield "local, 3 blocks of 64", layout(window, length)
    yield "local, 129 keys", (stt.patterns.local(length, distance=65), lambda b, h, i, j: (i - j).abs() < 65)
    causal = stt.patterns.local(length, distance=128, causal=True)
    yield "local and causal, 128 keys", (causal, lambda b, h, i, j: (i >= j) & (i - j < 128))


def layout(config, length):
    found = config.make_layout(length)
    shared = found if config.different_layout_per_head else found[0]
    seen, block = found != 0, config.block
    pattern = stt.patterns.from_block_mask(shared, block, (length, length))
    return pattern, lambda b, h, i, j: seen[h, i // block, j // block]


def calls(pattern, mask_mod, q, k, v, flex):
    """name -> a function of no arguments that attends."""
    yield "strata", lambda: stt.attention(q, k, v, pattern)
    yield "torch, dense", lambda: F.scaled_dot_product_attention(q, k, v)
    yield "torch, dense with a mask", lambda mask=dense(pattern): F.scaled_dot_product_attention(q, k, v, mask)
    if not flex:
        return
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        blocks = create_block_mask(mask_mod, None, q.shape[1], q.shape[2], k.shape[2], device="cpu")
        torch._dynamo.reset()  # for each pattern a kernel of its own
        compiled = torch.compile(flex_attention, dynamic=False)
        plain = [x.detach() for x in (q, k, v)]

        def attend():
            with torch.no_grad():
                return compiled(*plain, block_mask=blocks)

        attend()
        yield "FlexAttention", attend
    except Exception as e:  # whatever it lacks here; the table says so
        print(f"FlexAttention does not run here: {type(e).__name__}: {str(e).splitlines()[0][:100]}")


def dense(pattern):
    return pattern.scatter(torch.ones(pattern.num_values)) != 0


def trained(attend, operands, g):
    return lambda: torch.autograd.grad(attend(), operands, g)


def seconds(f, clock):
    start = clock()
    f()
    return clock() - start


def timed(title, entries, rounds, clock):
    """entries: name -> function. Each in turn; the first one is ours."""
    times = {name: [] for name in entries}
    for f in entries.values():
        f()
    for _ in range(rounds):
        for name, f in entries.items():
            times[name].append(seconds(f, clock))
    ours = times["strata"]
    for name, found in times.items():
        ratio = statistics.median(t / mine for t, mine in zip(found, ours))
        print(f"| {title} | {name} | {1e3 * min(found):.1f} | {ratio:.2f} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--length", type=int, default=4096)
    options.add_argument("--heads", type=int, default=4)
    options.add_argument("--features", type=int, default=64)
    options.add_argument("--rounds", type=int, default=11)
    options.add_argument("--threads", default="1,2")
    options.add_argument(
        "--no-flex", action="store_true", help="without FlexAttention, which is compiled for each pattern"
    )
    options.add_argument("--only", default="", help="patterns whose names hold this")
    options.add_argument("--processor", action="store_true", help="processor time of one thread")
    options = options.parse_args()
    clock = time.thread_time if options.processor else time.perf_counter
    draw = torch.Generator().manual_seed(0)
    shape = (1, options.heads, options.length, options.features)
    q, k, v, g = (torch.randn(shape, generator=draw) for _ in range(4))
    operands = [x.requires_grad_() for x in (q, k, v)]
    print("| case | who | ms | times ours |\n|---|---|---|---|")
    for threads in [1] if options.processor else map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        st.settings.threads = threads
        for name, (pattern, mask_mod) in patterns(options.length, options.heads):
            if options.only not in name:
                continue
            share = pattern.nse / pattern.shape.numel()
            title = f"{name}, {share:.1%} stored, {threads} thread{'s' if threads > 1 else ''}"
            entries = dict(calls(pattern, mask_mod, *operands, not options.no_flex))
            want = entries["torch, dense with a mask"]()
            for who in set(entries) - {"torch, dense"}:
                torch.testing.assert_close(entries[who](), want, rtol=1e-3, atol=1e-4)
            with torch.no_grad():
                timed(f"{title}, forward", entries, options.rounds, clock)
            steps = {who: trained(f, operands, g) for who, f in entries.items() if who != "FlexAttention"}
            timed(f"{title}, with backward", steps, options.rounds, clock)


if __name__ == "__main__":
    main()
