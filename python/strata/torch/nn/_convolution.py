"""nn.Conv1d, nn.Conv2d and nn.Conv3d with a sparse weight."""

import math

import torch

from .._weights import SparseConvolution
from ._pattern import kept, start_sparse


class _Convolution(SparseConvolution):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
        *,
        density=None,
        pattern=None,
        block_shape=None,
        format=None,
    ):
        super().__init__(
            *(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode),
            *(device, dtype),
        )
        start_sparse(self, density, pattern, block_shape, format)

    def reset_parameters(self):
        """New random weights, uniform within 1 / sqrt(inputs of an output)."""
        if "weight" in self._parameters:  # torch's constructor comes first
            return super().reset_parameters()
        bound = 1 / math.sqrt(max(self.weight.nse / self.out_channels, 1))
        with torch.no_grad():
            self.weight_values.uniform_(-bound, bound)
            if self.bias is not None:
                self.bias.uniform_(-bound, bound)

    @classmethod
    def from_dense(cls, module, format="CSR", sparsifier=None):
        """Of a module of torch.nn, which stays as it is: the weights that the sparsifier keeps (without one all but zeros)."""
        weight = kept(module.weight, format, sparsifier)
        made = cls(
            *(module.in_channels, module.out_channels, module.kernel_size, module.stride, module.padding),
            *(module.dilation, module.groups, module.bias is not None, module.padding_mode),
            dtype=weight.dtype,
            pattern=weight.pattern,
        )
        with torch.no_grad():
            made.weight_values.copy_(weight.values())
            if module.bias is not None:
                made.bias.copy_(module.bias)
        return made.train(module.training)


class Conv1d(_Convolution, torch.nn.Conv1d):
    """nn.Conv1d with a sparse weight; see Conv2d."""

    _dense_class = torch.nn.Conv1d


class Conv2d(_Convolution, torch.nn.Conv2d):
    """nn.Conv2d with a sparse weight.

    density : the share of weights that exist, chosen at random; or `pattern`, an stt.Pattern or a boolean mask of the weight's
        shape (out, in / groups, *kernel).
    block_shape : (r, c): weights exist by blocks of outputs and inputs, at each place of the kernel.
    format : of the weight; CSR, or BSR of these blocks, where none is given. One of two dimensions is that of the (out, in)
        matrix at each place of the kernel.
    Weights start as those of nn.Conv2d do, with the inputs that an output has on average. ArgumentError.
    """

    _dense_class = torch.nn.Conv2d


class Conv3d(_Convolution, torch.nn.Conv3d):
    """nn.Conv3d with a sparse weight; see Conv2d."""

    _dense_class = torch.nn.Conv3d
