# Written by scripts/parameter_tables.py from _operations.py and the library's tables; do not edit.
from collections.abc import Sequence
from typing import Any, Literal

from numpy import typing as npt

from ._arrays import ImageLike, Spacing
from ._context import DeviceLike
from ._native import Report
from ._progress import ProgressLike
from ._results import Maps, Polylines, Segments, Surface
from ._solvers import Snake

__all__ = [
    'edge_strength',
    'edge_drawing',
    'edge_drawing_lines',
    'edge_drawing_maps',
    'edge_drawing_threshold',
    'distance',
    'isolines',
    'isosurface',
    'level_set',
    'snake',
    'signed_distance',
]

def edge_strength(
    image: ImageLike,
    *,
    out: Any = None,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    dimensions: Literal['slices', 'volume'] = 'slices',
    mode: Literal['iterations', 'converged'] = 'iterations',
    foreground: Literal['above', 'below'] = 'above',
    start: Literal['mask', 'image'] = 'mask',
    variant: Literal['default', 'fused', 'shared', 'texture', 'scalar'] = 'default',
    iterations: int = 50,
    max_cycles: int = 100,
    rho: float = 64.0,
    time_step: float | None = None,
    threshold: float = 0.0,
    start_min: float | None = None,
    start_max: float | None = None,
    tolerance: float = 1e-05,
) -> Any: ...

def edge_drawing(
    image: ImageLike,
    *,
    segments: bool = True,
    out: Any = None,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    profile: Literal['paper', 'reference'] = 'paper',
    gradient_operator: Literal['sobel', 'prewitt', 'scharr'] = 'sobel',
    scan_interval: int = 1,
    min_length: int = 10,
    follow_turns: bool = False,
    variant: Literal['default', 'scalar'] = 'default',
    validation: Literal['none', 'false_alarms'] = 'none',
    gradient_threshold: float | None = None,
    anchor_threshold: float = 0.0,
    range_min: float | None = None,
    range_max: float | None = None,
    sigma: float = 1.0,
    line_min_length: int | None = None,
    line_tolerance: float = 1.0,
    line_gap: float = 6.0,
    line_validation: bool = True,
) -> tuple[Any, Segments | None]: ...

def edge_drawing_lines(
    image: ImageLike,
    *,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    profile: Literal['paper', 'reference'] = 'paper',
    gradient_operator: Literal['sobel', 'prewitt', 'scharr'] = 'sobel',
    scan_interval: int = 1,
    min_length: int = 10,
    follow_turns: bool = False,
    variant: Literal['default', 'scalar'] = 'default',
    validation: Literal['none', 'false_alarms'] = 'none',
    gradient_threshold: float | None = None,
    anchor_threshold: float = 0.0,
    range_min: float | None = None,
    range_max: float | None = None,
    sigma: float = 1.0,
    line_min_length: int | None = None,
    line_tolerance: float = 1.0,
    line_gap: float = 6.0,
    line_validation: bool = True,
) -> tuple[npt.NDArray, Segments]: ...

def edge_drawing_maps(
    image: ImageLike,
    *,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    profile: Literal['paper', 'reference'] = 'paper',
    gradient_operator: Literal['sobel', 'prewitt', 'scharr'] = 'sobel',
    scan_interval: int = 1,
    min_length: int = 10,
    follow_turns: bool = False,
    variant: Literal['default', 'scalar'] = 'default',
    validation: Literal['none', 'false_alarms'] = 'none',
    gradient_threshold: float | None = None,
    anchor_threshold: float = 0.0,
    range_min: float | None = None,
    range_max: float | None = None,
    sigma: float = 1.0,
    line_min_length: int | None = None,
    line_tolerance: float = 1.0,
    line_gap: float = 6.0,
    line_validation: bool = True,
) -> Maps: ...

def edge_drawing_threshold(
    image: ImageLike,
    *,
    device: DeviceLike = 'auto',
    profile: Literal['paper', 'reference'] = 'paper',
    gradient_operator: Literal['sobel', 'prewitt', 'scharr'] = 'sobel',
    scan_interval: int = 1,
    min_length: int = 10,
    follow_turns: bool = False,
    variant: Literal['default', 'scalar'] = 'default',
    validation: Literal['none', 'false_alarms'] = 'none',
    anchor_threshold: float = 0.0,
    range_min: float | None = None,
    range_max: float | None = None,
    sigma: float = 1.0,
    line_min_length: int | None = None,
    line_tolerance: float = 1.0,
    line_gap: float = 6.0,
    line_validation: bool = True,
) -> float: ...

def distance(
    image: ImageLike,
    *,
    spacing: Spacing = None,
    out: Any = None,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    dimensions: Literal['slices', 'volume'] = 'volume',
    foreground: Literal['above', 'below'] = 'above',
    region: Literal['signed', 'outside', 'inside'] = 'signed',
    threshold: float = 0.0,
) -> Any: ...

def isolines(
    image: ImageLike,
    levels: npt.ArrayLike | None = None,
    *,
    spacing: Spacing = None,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    connect: Literal['low', 'high'] = 'low',
    level_count: int = 1,
    range_min: float | None = None,
    range_max: float | None = None,
) -> Polylines: ...

def isosurface(
    image: ImageLike,
    *,
    spacing: Spacing = None,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    close: bool = True,
    level: float | None = None,
    foreground: Literal['above', 'below'] = 'above',
) -> Surface: ...

def level_set(
    image: ImageLike,
    initial_mask: ImageLike,
    *,
    spacing: Spacing = None,
    out: Any = None,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    dimensions: Literal['slices', 'volume'] = 'volume',
    variant: Literal['default', 'band', 'dense', 'scalar'] = 'default',
    reinitialise_every: int = 6,
    check_interval: int | None = None,
    side: Literal['auto', 'within', 'above', 'below'] = 'auto',
    target: float = 0.0,
    epsilon: float | None = None,
    alpha: float | None = None,
    time_step: float | None = None,
    cfl: float = 0.95,
    change_tolerance: float = 0.002,
    rms_tolerance: float = 8.0,
    iterations: int = 10000,
    regions: Literal['off', 'chan_vese', 'gaussian', 'poisson', 'gamma', 'rayleigh', 'bernoulli'] = 'off',
    edge_weight: float = 0.0,
    edge_sigma: float | None = None,
    edge_contrast: float | None = None,
) -> Any: ...

def snake(
    image: ImageLike,
    polygons: Sequence[npt.ArrayLike] | None = None,
    *,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    noise: Literal['gaussian', 'poisson', 'gamma', 'rayleigh', 'bernoulli'] = 'gaussian',
    schedule: Literal['parallel', 'sequential'] = 'parallel',
    background: Literal['image', 'window'] = 'image',
    overlap: Literal['allowed', 'excluded'] = 'allowed',
    largest_step: int = 32,
    max_nodes: int = 1024,
    max_iterations: int = 10000,
    looks: float = 1.0,
    margin: float = 0.5,
    node_spacing: float | None = None,
    node_cost: float = 0.5,
    range_min: float | None = None,
    range_max: float | None = None,
) -> Snake: ...

signed_distance = distance
