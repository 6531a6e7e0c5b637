"""What torch.compile leaves to Python, where a graph broke, it compiles function by function as these are called: ours too, in
the middle of an operator or of a transform of torch.func."""

try:
    from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy
except ImportError:  # another torch: functions are compiled, as anybody's

    def as_written(f):
        return f

else:
    _NEVER = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)

    def as_written(f):
        """f, which from now on runs as it is written, and so does what it calls. Costs nothing (torch.compiler.disable wraps)."""
        set_code_exec_strategy(f.__code__, _NEVER)
        return f
