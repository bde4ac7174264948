# Written by scripts/parameter_tables.py from _operations.py and the library's tables; do not edit.
from typing import Any, Literal, TypedDict, overload

from numpy import typing as npt

from ._arrays import ImageLike, Spacing
from ._context import DeviceLike
from ._native import Report
from ._progress import ProgressLike
from ._results import Maps, Polylines, Segments, Surface
from ._solvers import Polygons, Snake

__all__ = [
    'edge_strength',
    'edge_strength_axes',
    'edge_drawing',
    'edge_drawing_lines',
    'edge_drawing_ellipses',
    'edge_drawing_maps',
    'edge_drawing_threshold',
    'distance',
    'isolines',
    'isosurface',
    'level_set',
    'objects',
    'snake',
    'signed_distance',
]

def edge_strength(
    image: ImageLike,
    *,
    spacing: Spacing = None,
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
    axis_min_strength: float = 0.0001,
    axis_min_length: float = 5.0,
) -> Any: ...

def edge_strength_axes(
    image: ImageLike,
    *,
    spacing: Spacing = None,
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
    axis_min_strength: float = 0.0001,
    axis_min_length: float = 5.0,
) -> tuple[Polylines, Any]: ...

@overload
def edge_drawing(
    image: ImageLike,
    *,
    segments: Literal[True] = True,
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
    ellipse_tolerance: float = 1.5,
    ellipse_coverage: float = 0.5,
    ellipse_min_radius: float = 3.0,
    ellipse_shapes: Literal['all', 'circles'] = 'all',
    ellipse_validation: bool = True,
) -> tuple[Any, Segments]: ...
@overload
def edge_drawing(
    image: ImageLike,
    *,
    segments: Literal[False],
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
    ellipse_tolerance: float = 1.5,
    ellipse_coverage: float = 0.5,
    ellipse_min_radius: float = 3.0,
    ellipse_shapes: Literal['all', 'circles'] = 'all',
    ellipse_validation: bool = True,
) -> tuple[Any, None]: ...
@overload
def edge_drawing(
    image: ImageLike,
    *,
    segments: bool,
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
    ellipse_tolerance: float = 1.5,
    ellipse_coverage: float = 0.5,
    ellipse_min_radius: float = 3.0,
    ellipse_shapes: Literal['all', 'circles'] = 'all',
    ellipse_validation: bool = True,
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
    ellipse_tolerance: float = 1.5,
    ellipse_coverage: float = 0.5,
    ellipse_min_radius: float = 3.0,
    ellipse_shapes: Literal['all', 'circles'] = 'all',
    ellipse_validation: bool = True,
) -> tuple[npt.NDArray, Segments]: ...

def edge_drawing_ellipses(
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
    ellipse_tolerance: float = 1.5,
    ellipse_coverage: float = 0.5,
    ellipse_min_radius: float = 3.0,
    ellipse_shapes: Literal['all', 'circles'] = 'all',
    ellipse_validation: bool = True,
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
    ellipse_tolerance: float = 1.5,
    ellipse_coverage: float = 0.5,
    ellipse_min_radius: float = 3.0,
    ellipse_shapes: Literal['all', 'circles'] = 'all',
    ellipse_validation: bool = True,
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
    ellipse_tolerance: float = 1.5,
    ellipse_coverage: float = 0.5,
    ellipse_min_radius: float = 3.0,
    ellipse_shapes: Literal['all', 'circles'] = 'all',
    ellipse_validation: bool = True,
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
    pyramid_levels: int = 1,
    upwind_order: int = 1,
) -> Any: ...

def objects(
    image: ImageLike,
    starts: ImageLike | None = None,
    *,
    spacing: Spacing = None,
    out: Any = None,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    foreground: Literal['above', 'below'] = 'above',
    keep_starts: bool = True,
    check_interval: int = 10,
    iterations: int = 1000,
    alpha: float = 0.5,
    margin: float | None = None,
    change_tolerance: float = 0.02,
    threshold: float | None = None,
    sigma: float | None = None,
    prominence: float | None = None,
    range_min: float | None = None,
    range_max: float | None = None,
) -> tuple[Any, npt.NDArray]: ...

def snake(
    image: ImageLike,
    polygons: Polygons = None,
    slices: npt.ArrayLike | None = None,
    *,
    device: DeviceLike = 'auto',
    progress: ProgressLike = None,
    report: Report | None = None,
    noise: Literal['gaussian', 'poisson', 'gamma', 'rayleigh', 'bernoulli'] = 'gaussian',
    schedule: Literal['parallel', 'sequential'] = 'parallel',
    background: Literal['image', 'window'] = 'image',
    overlap: Literal['allowed', 'excluded'] = 'allowed',
    largest_step: int | None = None,
    max_nodes: int = 1024,
    max_iterations: int = 10000,
    looks: float = 1.0,
    margin: float = 0.5,
    node_spacing: float | None = None,
    node_cost: float = 0.5,
    range_min: float | None = None,
    range_max: float | None = None,
    pyramid_levels: int = 1,
) -> Snake: ...

signed_distance = distance

class LevelSetParameters(TypedDict, total=False):
    dimensions: Literal['slices', 'volume']
    variant: Literal['default', 'band', 'dense', 'scalar']
    reinitialise_every: int
    check_interval: int | None
    side: Literal['auto', 'within', 'above', 'below']
    target: float
    epsilon: float | None
    alpha: float | None
    time_step: float | None
    cfl: float
    change_tolerance: float
    rms_tolerance: float
    regions: Literal['off', 'chan_vese', 'gaussian', 'poisson', 'gamma', 'rayleigh', 'bernoulli']
    edge_weight: float
    edge_sigma: float | None
    edge_contrast: float | None
    pyramid_levels: int
    upwind_order: int

class SnakeParameters(TypedDict, total=False):
    noise: Literal['gaussian', 'poisson', 'gamma', 'rayleigh', 'bernoulli']
    schedule: Literal['parallel', 'sequential']
    background: Literal['image', 'window']
    overlap: Literal['allowed', 'excluded']
    largest_step: int | None
    max_nodes: int
    max_iterations: int
    looks: float
    margin: float
    node_spacing: float | None
    node_cost: float
    range_min: float | None
    range_max: float | None
    pyramid_levels: int
