"""torch, with sparse tensors wherever they appear: `import strata.torch.dropin as torch`.

Every name is torch's own. Functions take sparse tensors, stt's and torch's own layouts, and run on the stored elements; without
one they are torch's, unchanged. Two things are more than that:

    rearrange   dimensions by name, of dense and sparse tensors
    einsum      takes operands of several dtypes, and is computed when its value is read: a later einsum with sparse (or mostly zero)
                factors then computes of the first one only what it needs

Submodules come along: `from strata.torch.dropin.nn import functional as F`.
"""

from ._forward import install

install(__name__)
