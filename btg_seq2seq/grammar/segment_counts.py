"""The number of phrases of a sentence: the truncated geometric distribution of appendix A."""

import math

import torch
from torch import Tensor


def truncated_geometric(rate: float, maximum: Tensor, at_least: int = 1) -> Tensor:
    """Log-probabilities of ``n = 1, 2, ...`` segments: ``[batch, largest maximum]``.

    ``p(n) = rate (1 - rate)^(n - 1)`` below a sentence's maximum, which takes the remaining mass.
    Entry ``n - 1`` of a row is ``log p(n)``, minus infinity above that sentence's maximum. With
    ``at_least = 2`` the distribution is renormalised over ``n >= 2``, and so on.
    """
    if not 0 < rate < 1:
        raise ValueError(f"the rate must lie between 0 and 1, not {rate}")
    if at_least < 1:
        raise ValueError(f"at_least must be 1 or more, not {at_least}")
    maximum = torch.as_tensor(maximum)
    if maximum.dim() != 1 or maximum.is_floating_point() or len(maximum) == 0:
        raise ValueError(
            f"maximum must be a vector of integers, one per sentence, not {maximum.dtype} of shape "
            f"{tuple(maximum.shape)}"
        )
    for sentence in torch.nonzero(maximum < at_least).flatten().tolist():
        raise ValueError(
            f"sentence {sentence}: at most {int(maximum[sentence])} segments, "
            f"but the distribution starts at {at_least}"
        )
    # Given n >= at_least, the geometric distribution starts afresh there.
    counts = torch.arange(1, int(maximum.max()) + 1, device=maximum.device)  # [counts]
    steps = (counts - at_least).double()
    stop_here = torch.where(counts < maximum[:, None], math.log(rate), 0.0)  # [batch, counts]
    log_probs = steps * math.log1p(-rate) + stop_here
    possible = (counts >= at_least) & (counts <= maximum[:, None])
    return log_probs.masked_fill(~possible, -math.inf).to(torch.get_default_dtype())
