"""Every window that a kernel slides over, of tensors of any type: what a convolution multiplies."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import pad


def pair(value: int | tuple[int, ...]) -> tuple[int, int]:
    """The two numbers, height first, that a layer's setting stands for."""
    return (value, value) if isinstance(value, int) else (value[0], value[1])


@dataclass(frozen=True)
class Sliding:
    """How a kernel slides: its size, stride and dilation, (height, width) each.

    around: pixels put around the picture first, left, right, top, bottom.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    around: tuple[int, int, int, int] = (0, 0, 0, 0)

    @classmethod
    def of(cls, conv: nn.Conv2d) -> Sliding:
        """As this convolution's kernel slides; ValueError where it pads with other than zeros."""
        if conv.padding_mode != "zeros":
            raise ValueError(
                f"Only a convolution that pads with zeros has an integer form, not one that pads "
                f"with {conv.padding_mode!r}."
            )
        left, right, top, bottom = conv._reversed_padding_repeated_twice
        settings = pair(conv.kernel_size), pair(conv.stride), pair(conv.dilation)
        return cls(*settings, (left, right, top, bottom))

    def windows(self, pictures: Tensor, filler: int) -> Tensor:
        """A view (rows, channels, out height, out width, kernel height, kernel width).

        pictures: (rows, channels, height, width), of any type; `filler` stands around them. Raises
        ValueError where the kernel does not fit into a picture.
        """
        if any(self.around):
            pictures = pad(pictures, self.around, value=filler)
        down, right = (d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True))
        height, width = pictures.shape[2:]
        if down > height or right > width:
            raise ValueError(
                f"A kernel that reaches over {down} × {right} pixels does not fit into a "
                f"picture of {height} × {width}."
            )
        reached = pictures.unfold(2, down, self.stride[0]).unfold(3, right, self.stride[1])
        return reached[..., :: self.dilation[0], :: self.dilation[1]]
