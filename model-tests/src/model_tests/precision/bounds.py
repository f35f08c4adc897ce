"""Every bound of the precision gates, and where it comes from. A project can only tighten them."""

from __future__ import annotations

# Real / floor (design.md, Precision 4): clean models give 0.92-1.08 on a CPU; on a GPU FlashAttention's own rule is 2x.
CPU_RATIO = 1.5
GPU_RATIO = 2.0
# Worst row and KL over the largest of the five floors. Clean: row 0.75-1.10, KL 0.76-1.02; single floors vary more.
ROW_RATIO = 2.0
KL_RATIO = 4.0
# Gain bias: sd of the five floors' biases. Student's t with 4 degrees of freedom, two-sided 0.1 %, times sqrt(1 + 1/5).
# Clean models really scatter like that: up to 10.4 sd with 256 outputs in float16, where half a roundoff is the larger
# bound and decides. With 16 384 outputs 9.4 sd are 0.17 roundoffs: 2, 4.6 and 9.4 sd give the same verdicts. What 9.4
# costs is 256 outputs in bfloat16: a gain of 0.3 % on the head is found in 31 of 40 runs instead of 39.
BIAS_DEVIATIONS = 9.4
# The candidate's floor over the reference's own floor, both against the reference's fp64. Real / floor is blind to code
# that takes another path in half precision, because its floor takes it too (measured 1.00 for a wrong rotary base, a
# wrong epsilon, a factor on a weight). Clean variants (norms, angles, attention in half): 0.96-1.20; the faults: 3-300.
PROGRAM_RATIO = 3.0
# Floors further apart than this, or an output of fewer values, cannot carry a verdict (numerics.md 8.4).
FLOOR_SPREAD = 1.5
FEWEST_VALUES = 256
# Relative L2 of the candidate itself. Above it the answer is another one, however much an ideal implementation loses:
# squares that overflow inside a norm end as finite zeros, in the floor too. Clean models: 0.02, top-1 MoE in bf16 0.08.
SIGNAL = 0.3
# fp32 against the reference: 10 x what the reference itself loses in fp32 on this machine, at least 10. Other correct
# code is 0.98-1.1 x, the faults of numerics.md 2.3 are 98 x and more.
RIGHT_FACTOR = 10.0
# fp32 against the model's own fp64 (no reference): clean models 1.5-31, TF32 12 000 (numerics.md 0.4).
SELF_CONSISTENCY = 100.0
# For models beyond it: nu of fp32 over nu of the half-precision floor, both of the same model. Clean: 1.6-7.4, also
# where roundings grow a hundredfold (a deep ResNet without damped residuals: 650 over 150). TF32 is 21 and more, also
# where an offset of 100-150 before a norm makes both ill-conditioned.
CONDITION_FACTOR = 15.0
# The floor may be made large by code that runs in half precision alone. TF32 is 2**13 of fp32's roundoffs (8800 in
# these models): whatever loses half of that is not float32.
LARGEST_CONDITIONED = 4096.0
# Largest finite number of float16.
FLOAT16_MAX = 65504.0


def ratio_bound(accelerator: str, max_ratio: float | None) -> float:
    """Return the bound of real / floor: the platform's, or the project's if that is tighter.

    `max_ratio` of lab.toml is stated for a CPU; on a GPU it is widened in the same proportion as the platform's.
    """
    platform = CPU_RATIO if accelerator == "cpu" else GPU_RATIO
    return platform if max_ratio is None else platform * min(1.0, max_ratio / CPU_RATIO)
