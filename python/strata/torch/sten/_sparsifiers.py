"""STen's names of sparsifiers, which say the share that they drop."""

from .._sparsifiers import NM, GroupedNM, Magnitude, Random, SameFormat, Threshold
from .._sparsify import sparsify


class _Fraction:
    @property
    def fraction(self):
        """The share that is dropped."""
        return 1 - self.density

    def __repr__(self):
        return f"{type(self).__name__}({self.fraction:g})"


class ScalarFractionSparsifier(_Fraction, Magnitude):
    """Drops the smallest elements: this fraction of them."""

    def __init__(self, fraction):
        super().__init__(1 - fraction)


class RandomFractionSparsifier(_Fraction, Random):
    """Drops this fraction of the elements, at random."""

    def __init__(self, fraction, generator=None):
        super().__init__(1 - fraction, (), generator)


class BlockwiseFractionSparsifier(_Fraction, Magnitude):
    """Drops the blocks of the smallest 2-norms: this fraction of them. `block`: extents, or one for all dimensions."""

    def __init__(self, fraction, block):
        super().__init__(1 - fraction, (block, block) if isinstance(block, int) else tuple(block))


class ScalarThresholdSparsifier(Threshold):
    """Drops what is not larger than the threshold, whatever its sign."""


class PerBlockNMSparsifier(NM):
    """Keeps the n largest of each m."""


class GroupedNMSparsifier(GroupedNM):
    """Keeps n of each m, the same for g rows."""


#: keeps what another tensor stores: of what is changed in place
SameFormatSparsifier = SameFormat


def random_mask_sparsify(tensor, frac):
    """A dense tensor without this fraction of its elements, chosen at random."""
    return sparsify(tensor, RandomFractionSparsifier(frac))


def scalar_mask_sparsify(tensor, frac):
    """A dense tensor without this fraction of its elements, the smallest."""
    return sparsify(tensor, ScalarFractionSparsifier(frac))
