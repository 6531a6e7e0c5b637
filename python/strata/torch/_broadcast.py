"""torch.broadcast_shapes of numbers alone: torch's own imports a second's worth of symbolic algebra when it is first called."""

import torch


def broadcast_shapes(*shapes):
    """The shape to which all of these broadcast. RuntimeError where they do not, as torch's."""
    if torch.compiler.is_compiling():
        return torch.broadcast_shapes(*shapes)
    first = shapes[0] if shapes else ()
    if all(shape == first for shape in shapes):
        return torch.Size(first)
    result = [1] * max(map(len, shapes))
    for shape in shapes:
        for d in range(-len(shape), 0):
            if shape[d] != 1:
                if result[d] not in (1, shape[d]):
                    raise RuntimeError(f"shapes do not broadcast: {', '.join(str(tuple(shape)) for shape in shapes)}")
                result[d] = shape[d]
    return torch.Size(result)
