//! Image pyramids: halves an image, so that each pixel is the mean of a cell of 2 pixels along each halved axis, and
//! converts masks between the two sizes.
//!
//! Along a halved axis, pixel i of the smaller image is the cell of pixels 2i and 2i + 1; the last cell of an axis with an
//! odd number of pixels has one pixel. So corner i of the smaller pixels is corner 2i of the larger image. The cells do not
//! overlap, so that noise that is independent from pixel to pixel stays independent. Images are in host memory, and results
//! do not depend on the number of threads.

use crate::error::{Error, Result};
use crate::image::{Image, image_of, on_host};
use crate::memory::zeroed;
use crate::progress::Ticker;
use bytemuck::Zeroable;
use ndarray::{Array3, ArrayView3};
use rayon::prelude::*;

/// One flag for each axis x, y, z: true if it is halved.
pub(crate) type Halved = [bool; 3];

/// The fewest pixels along an axis for it to be halved.
const FEWEST: usize = 16;

/// Returns the axes along which an image is halved. Among the axes with at least 16 pixels these are the ones whose spacing
/// is less than twice the smallest, so that the voxels of anisotropic images become more like cubes. `spacing` has one
/// entry for each axis that may be halved.
pub(crate) fn axes_to_halve(shape: [usize; 3], spacing: &[f64]) -> Halved {
    let sizes = shape.into_iter().zip(spacing);
    let smallest = sizes.filter(|(size, _)| *size >= FEWEST).map(|(_, h)| *h).fold(f64::INFINITY, f64::min);
    let is_halved = |axis: usize| spacing.get(axis).is_some_and(|h| shape[axis] >= FEWEST && *h < 2.0 * smallest);
    std::array::from_fn(is_halved)
}

/// Returns the size of an image whose halved axes have half the pixels, rounded up.
pub(crate) fn reduced_shape(shape: [usize; 3], halved: Halved) -> [usize; 3] {
    std::array::from_fn(|axis| if halved[axis] { shape[axis].div_ceil(2) } else { shape[axis] })
}

/// Returns the means of the cells of an image, unless the ticker is cancelled. Pixels that are not finite are left out of
/// the mean, unless a cell has no others. If `binary` is true, pixels above 0 count as 1 and others as 0.
pub(crate) fn means(input: &Image<'_>, halved: Halved, binary: bool, ticker: &Ticker) -> Result<Array3<f32>> {
    let share = |cell: &[bool]| cell.iter().filter(|is_above| **is_above).count() as f32 / cell.len() as f32;
    let device = Err(Error::in_cuda_memory("image"));
    if binary {
        on_host!(Image, input, view => reduced(*view, halved, ticker, |pixel| pixel > Default::default(), share), device)
    } else {
        on_host!(Image, input, view => reduced(*view, halved, ticker, f32::from, mean), device)
    }
}

/// Returns the mask of the cells that are at least half inside, unless the ticker is cancelled.
pub(crate) fn majorities(mask: &Image<'_>, halved: Halved, ticker: &Ticker) -> Result<Array3<u8>> {
    let majority = |cell: &[bool]| {
        let inside = cell.iter().filter(|is_inside| **is_inside).count();
        if 2 * inside >= cell.len() { 255 } else { 0 }
    };
    let device = Err(Error::in_cuda_memory("mask"));
    on_host!(Image, mask, view => reduced(*view, halved, ticker, |pixel| pixel > Default::default(), majority), device)
}

fn mean(cell: &[f32]) -> f32 {
    let (mut sum, mut count) = (0.0, 0);
    for pixel in cell.iter().filter(|pixel| pixel.is_finite()) {
        sum += f64::from(*pixel);
        count += 1;
    }
    if count == 0 { cell[0] } else { (sum / f64::from(count)) as f32 }
}

/// Returns an image with one pixel computed from each cell, on the threads of the current pool, unless the ticker is
/// cancelled.
fn reduced<T, V, U>(
    view: ArrayView3<'_, T>,
    halved: Halved,
    ticker: &Ticker,
    value: impl Fn(T) -> V + Sync,
    of_cell: impl Fn(&[V]) -> U + Sync,
) -> Result<Array3<U>>
where
    T: Copy + Sync + Send,
    V: Copy + Default,
    U: Zeroable + Send,
{
    let (depth, height, width) = view.dim();
    let shape = [width, height, depth];
    let [x_cells, y_cells, z_cells] = reduced_shape(shape, halved);
    let pixels_of = |axis: usize, cell: usize| {
        let step = if halved[axis] { 2 } else { 1 };
        cell * step..shape[axis].min((cell + 1) * step)
    };
    let mut cells: Vec<U> = zeroed(x_cells * y_cells * z_cells)?;
    cells.par_chunks_mut(x_cells).enumerate().for_each(|(row, to)| {
        if ticker.is_cancelled() {
            return;
        }
        let (rows, planes) = (pixels_of(1, row % y_cells), pixels_of(2, row / y_cells));
        for (x, to) in to.iter_mut().enumerate() {
            let mut cell = [V::default(); 8];
            let mut count = 0;
            for z in planes.clone() {
                for y in rows.clone() {
                    for x in pixels_of(0, x) {
                        cell[count] = value(view[[z, y, x]]);
                        count += 1;
                    }
                }
            }
            *to = of_cell(&cell[..count]);
        }
    });
    ticker.check()?;
    Ok(image_of(cells, (z_cells, y_cells, x_cells)))
}

/// Returns the mask of the pixels where `field`, given at the cells' centres and interpolated linearly, is less than 0,
/// unless the ticker is cancelled. `shape` is the size of the larger image; `field` has its [`reduced_shape`].
pub(crate) fn enlarged_mask(
    field: &Array3<f32>,
    halved: Halved,
    shape: [usize; 3],
    ticker: &Ticker,
) -> Result<Array3<u8>> {
    let [width, height, depth] = shape;
    let (cell_planes, cell_rows, cell_columns) = field.dim();
    let cells = [cell_columns, cell_rows, cell_planes];
    // A pixel's centre is a quarter of a cell away from the centre of its own cell, towards that of a neighbouring cell.
    let near = |axis: usize, at: usize| {
        if !halved[axis] {
            return [(at, 1.0), (at, 0.0)];
        }
        let own = at / 2;
        let beside = if at.is_multiple_of(2) { own.saturating_sub(1) } else { (own + 1).min(cells[axis] - 1) };
        [(own, 0.75f32), (beside, 0.25)]
    };
    let mut mask = zeroed(width * height * depth)?;
    mask.par_chunks_mut(width).enumerate().for_each(|(row, to): (usize, &mut [u8])| {
        if ticker.is_cancelled() {
            return;
        }
        let (rows, planes) = (near(1, row % height), near(2, row / height));
        let across = |x: usize| -> f32 {
            let row = |(z, of_z): (usize, f32)| rows.map(|(y, of_y)| of_z * of_y * field[[z, y, x]]);
            planes.map(row).iter().flatten().sum()
        };
        for (x, to) in to.iter_mut().enumerate() {
            let value: f32 = near(0, x).map(|(x, of_x)| of_x * across(x)).iter().sum();
            *to = if value < 0.0 { 255 } else { 0 };
        }
    });
    ticker.check()?;
    Ok(image_of(mask, (depth, height, width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticker() -> Ticker {
        Ticker::new("test")
    }

    #[test]
    fn axes_with_much_larger_spacing_or_few_pixels_are_not_halved() {
        assert_eq!(axes_to_halve([64, 64, 64], &[1.0, 1.0, 1.0]), [true; 3]);
        assert_eq!(axes_to_halve([64, 64, 64], &[1.0, 1.0, 2.0]), [true, true, false]);
        assert_eq!(axes_to_halve([64, 64, 64], &[1.0, 1.0, 1.99]), [true; 3]);
        assert_eq!(axes_to_halve([64, 64, 16], &[1.0, 1.0, 1.0]), [true; 3]);
        assert_eq!(axes_to_halve([64, 64, 15], &[1.0, 1.0, 1.0]), [true, true, false]);
        // The spacing of an axis that is too short for it does not keep others from being halved.
        assert_eq!(axes_to_halve([15, 64, 64], &[1.0, 4.0, 4.0]), [false, true, true]);
        // Slices have no z.
        assert_eq!(axes_to_halve([64, 64, 64], &[1.0, 1.0]), [true, true, false]);
        assert_eq!(axes_to_halve([15, 15, 15], &[1.0, 1.0, 1.0]), [false; 3]);
    }

    #[test]
    fn a_cell_has_the_mean_of_its_finite_pixels() {
        let image = Array3::from_shape_fn((2, 3, 5), |(z, y, x)| (100 * z + 10 * y + x) as f32);
        let found = means(&Image::from(image.view()), [true; 3], false, &ticker()).unwrap();
        assert_eq!(found.dim(), (1, 2, 3));
        assert_eq!(found[[0, 0, 0]], 55.5);
        // The last column of cells is one pixel wide, the last row one pixel high.
        assert_eq!(found[[0, 0, 2]], 59.0);
        assert_eq!(found[[0, 1, 2]], 74.0);
        let mut image = Array3::from_elem((1, 2, 4), 3.0f32);
        image[[0, 0, 0]] = f32::NAN;
        image[[0, 1, 0]] = f32::INFINITY;
        image[[0, 1, 1]] = 5.0;
        image.slice_mut(ndarray::s![.., .., 2..]).fill(f32::INFINITY);
        let found = means(&Image::from(image.view()), [true, true, false], false, &ticker()).unwrap();
        assert_eq!(found.as_slice().unwrap(), [4.0, f32::INFINITY]);
        let shares = means(&Image::from(image.view()), [true, true, false], true, &ticker()).unwrap();
        assert_eq!(shares.as_slice().unwrap(), [0.75, 1.0]);
    }

    #[test]
    fn half_of_a_cell_is_inside() {
        let mask = Array3::from_shape_vec((1, 2, 4), vec![1u8, 1, 0, 9, 0, 0, 0, 0]).unwrap();
        let found = majorities(&Image::from(mask.view()), [true, true, false], &ticker()).unwrap();
        assert_eq!(found.as_slice().unwrap(), [255, 0]);
    }

    #[test]
    fn a_plane_comes_back_where_it_was() {
        // φ is the distance to a slanted plane, sampled at the centres of the cells.
        let shape = [21, 18, 8];
        let halved = [true, true, false];
        let plane = |x: f64, y: f64, z: f64| x + 0.5 * y - 0.7 * z - 11.3;
        let field = Array3::from_shape_fn((8, 9, 11), |(z, y, x)| {
            plane(2.0 * x as f64 + 0.5, 2.0 * y as f64 + 0.5, z as f64) as f32
        });
        let mask = enlarged_mask(&field, halved, shape, &ticker()).unwrap();
        for ((z, y, x), inside) in mask.indexed_iter() {
            // Beyond the centres of the outer cells the function is constant.
            if (1..17).contains(&y) && (1..20).contains(&x) {
                assert_eq!(*inside > 0, plane(x as f64, y as f64, z as f64) < 0.0, "{x} {y} {z}");
            }
        }
    }
}
