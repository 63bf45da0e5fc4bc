"""Products of matrices of 8-bit numbers, summed up in 32 bits.

torch._int_mm is what processors and GPUs have for it: oneDNN's integer instructions (VNNI, AMX) on
a CPU, cuBLAS and the tensor cores on a GPU. A sum of products of 8-bit numbers needs 16 bits and
more, so results are int32. Source: Jacob et al. (2018), section 2.4.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import pad

from helpers.lessons.quantization.algorithms.packed_products import takes_seven_bits

# The longest sums that surely fit 32 bits: 131071 · 128 · 128 and 65793 · 255 · 128.
LONGEST = {torch.int8: 131071, torch.uint8: 65793}
# The longest sums that float32 surely holds, up to 2^24: 1024 · 128 · 128 and 514 · 255 · 128.
LONGEST_IN_FLOATS = {torch.int8: 1024, torch.uint8: 514}
CHANNELS = 256  # that are floats at a time: 1 MB of them, so that they stay in the cache


def int_matmul(a: Tensor, b: Tensor) -> Tensor:
    """The matrix product of (m, k) and (k, n), as int32 (m, n), exactly.

    a: int8, or uint8 where `takes_unsigned` says that it is quicker. b: int8, best the transposed
    view of a contiguous (n, k) tensor, as a layer's weight is. Raises TypeError for other types,
    and ValueError for shapes that do not fit, or a k so large that a sum could leave 32 bits.
    """
    if a.dtype not in LONGEST or b.dtype != torch.int8:
        raise TypeError(
            f"int_matmul multiplies int8, or uint8, by int8, not {a.dtype} by {b.dtype}."
        )
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"Matrices of {tuple(a.shape)} and {tuple(b.shape)} have no product: give "
            "(m, k) and (k, n)."
        )
    if a.shape[1] > LONGEST[a.dtype]:
        raise ValueError(
            f"A sum of {a.shape[1]} products may leave 32 bits: cut it into sums of at most "
            f"{LONGEST[a.dtype]}."
        )
    if not a.numel() or not b.numel():
        return torch.zeros(a.shape[0], b.shape[1], dtype=torch.int32, device=a.device)
    if not _has_int_mm(a.device, a.dtype):
        return _in_floats(a, b.t())
    if a.shape[1] == 1:  # one product each; and strides cannot say which way such a matrix lies
        return a.to(torch.int32) * b.to(torch.int32)
    return (_on_gpu if a.device.type == "cuda" else _on_cpu)(_rows(a), _rows(b.t()))


def how_products_run() -> str:
    """In words: what this processor has for products of 8-bit numbers, or what stands in for it."""
    here = {"VNNI": torch.cpu._is_vnni_supported(), "AMX": torch.cpu._is_amx_tile_supported()}
    has = " and ".join(name for name, there in here.items() if there)
    level = torch.backends.cpu.get_cpu_capability()
    if not _has_int_mm(torch.device("cpu"), torch.int8):
        without = f"{level}, with {has or 'neither VNNI nor AMX'}: torch has no quick product here"
        rows = ". Layers that make codes of their inputs as they come make 7 bits, which are quick"
        return (
            f"{without} for two matrices of 8-bit codes{rows if takes_seven_bits() else ''}. "
            "`int_matmul` adds up short sums of float32 products, exactly, which cannot be quicker "
            "than float32"
        )
    signs = "unsigned" if takes_unsigned(torch.device("cpu")) else "signed"
    return f"{level} with {has}; ours multiplies {signs} codes"


@lru_cache
def takes_unsigned(device: torch.device) -> bool:
    """Whether numbers from 0 to 255 on the left are quicker than those from −128 to 127.

    So it is on a CPU with VNNI, whose instruction multiplies unsigned by signed numbers; AMX, which
    newer ones have, takes either.
    """
    if device.type != "cpu" or not _has_int_mm(device, torch.uint8):
        return False
    return torch.cpu._is_vnni_supported() and not torch.cpu._is_amx_tile_supported()


def _in_floats(a: Tensor, rows_of_b: Tensor) -> Tensor:
    """Sums of float32 products, cut so short that each sum is exact, and added up as int32.

    Codes have 8 bits, so that settings which round a product's operands, to bf16 at the least, do
    not change them; autocast would round the sums as well. Weights become floats some channels at a
    time, never all at once.
    """
    with torch.autocast(a.device.type, enabled=False):
        return _short_sums(a, rows_of_b)


def _short_sums(a: Tensor, rows_of_b: Tensor) -> Tensor:
    depth, sums = LONGEST_IN_FLOATS[a.dtype], []
    parts = [part.float() for part in a.split(depth, 1)]
    for rows in rows_of_b.split(CHANNELS):
        pieces = zip(parts, rows.split(depth, 1), strict=True)
        total, *others = ((x @ w.float().t()).to(torch.int32) for x, w in pieces)
        for other in others:
            total += other
        sums.append(total)
    return torch.cat(sums, 1)


def _on_cpu(a: Tensor, rows_of_b: Tensor) -> Tensor:
    return torch._int_mm(a, rows_of_b.t())


def _on_gpu(a: Tensor, rows_of_b: Tensor) -> Tensor:
    """cuBLAS wants more than 16 rows, and k and n in eights: zeros fill up what is missing."""
    m, n = len(a), len(rows_of_b)
    rows, depth, columns = max(17 - m, 0), -a.shape[1] % 8, -n % 8
    if rows or depth:
        a = pad(a, (0, depth, 0, rows))
    if depth or columns:
        rows_of_b = pad(rows_of_b, (0, depth, 0, columns))
    return torch._int_mm(a, rows_of_b.t())[:m, :n]


def _rows(matrix: Tensor) -> Tensor:
    """The matrix, row after row in memory, copied only where it is not.

    The stride of a dimension of size 1 may be any number, and torch._int_mm on a CPU believes it:
    it then returns memory that nobody wrote (PyTorch issue 195066). So strides are set anew.
    """
    return matrix.contiguous().as_strided(matrix.shape, (matrix.shape[1], 1))


@lru_cache
def _has_int_mm(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether torch._int_mm is there for a type on the left, exact with the largest numbers, quick.

    Instructions older than VNNI sum pairs of products in 16 bits, where two of the largest ones
    overflow (PyTorch issue 136746): they are asked before they are believed. Newer releases leave
    these instructions alone on a CPU, and take one product after the other (pull request 136942):
    exact, but many times slower than floats.
    """
    if device.type == "cpu" and not (
        torch.cpu._is_vnni_supported() or torch.cpu._is_amx_tile_supported()
    ):
        return False
    left, right = (
        torch.tensor([torch.iinfo(t).min, torch.iinfo(t).max], dtype=t, device=device)
        for t in (dtype, torch.int8)
    )
    a = left.repeat_interleave(16)[:, None].repeat(1, 64)
    b = right.repeat(16)[:, None].repeat(1, 64)
    try:
        product = torch._int_mm(a, b.t())
    except torch.OutOfMemoryError:
        raise  # by chance, which is not to be remembered
    except (RuntimeError, NotImplementedError):
        return False
    return torch.equal(product.double(), a.double() @ b.t().double())
