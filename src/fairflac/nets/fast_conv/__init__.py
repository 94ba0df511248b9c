"""A convolution that goes the fastest way there is on a CPU."""

import torch
from torch import Tensor, nn

from fairflac.nets.fast_conv.pixel import pixel_conv2d
from fairflac.nets.fast_conv.spectral import WIDE, spectral_conv2d, spectral_pays

# Of the output, up to which a product for each is faster than what libraries do (measured: 1.1x at 9, 34x at 1).
FEW_PIXELS = 9


class FastConv2d(nn.Conv2d):
    """`nn.Conv2d`, with the same parameters and results: by pixels on tiny maps, by frequencies for large kernels."""

    def forward(self, x: Tensor) -> Tensor:
        if self.goes_by_pixels(x):
            assert not isinstance(self.padding, str)
            return pixel_conv2d(x, self.weight, self.bias, self.stride, self.padding)
        if self.goes_by_frequencies(x):
            return spectral_conv2d(x, self.weight, self.bias)
        return super().forward(x)

    def goes_by_pixels(self, x: Tensor) -> bool:
        if not self._plain(x) or isinstance(self.padding, str):
            return False
        sizes = zip(x.shape[2:], self.kernel_size, self.stride, self.padding, strict=True)
        rows, columns = ((size + 2 * padding - kernel) // stride + 1 for size, kernel, stride, padding in sizes)
        wide = min(self.in_channels, self.out_channels) >= WIDE
        return wide and max(self.kernel_size) > 1 and 0 < rows * columns <= FEW_PIXELS

    def goes_by_frequencies(self, x: Tensor) -> bool:
        odd = all(size % 2 for size in self.kernel_size)
        same = odd and self.padding in ("same", tuple(size // 2 for size in self.kernel_size))
        gains = min(self.kernel_size) >= 5 or torch.is_grad_enabled()  # small kernels gain in the backward pass only
        whole = same and gains and self.stride == (1, 1)
        return whole and self._plain(x) and spectral_pays(x.shape, self.weight.shape)

    def _plain(self, x: Tensor) -> bool:
        plain = self.dilation == (1, 1) and self.groups == 1 and self.padding_mode == "zeros"
        single = x.dtype == self.weight.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        return plain and single and x.device.type == "cpu" and x.dim() == 4
