"""NumPy's functions of whole arrays that tensors answer to: each module says which of its functions serves which."""

#: What NumPy's function becomes: (function, arguments of the caller) -> result.
FUNCTIONS = {}


def serves(*functions):
    """Makes a function, whose parameters are called as NumPy's, what these become on tensors."""

    def given(f):
        FUNCTIONS.update(dict.fromkeys(functions, f))
        return f

    return given
