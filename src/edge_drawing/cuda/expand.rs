//! Edge maps of one bit per pixel, expanded to bytes.

use crate::error::Result;
use crate::progress::Ticker;
use ndarray::{ArrayViewMut2, Axis};
use rayon::ThreadPool;
use rayon::prelude::*;

/// The number of rows of one task.
const ROWS: usize = 64;

/// The bytes of eight pixels of an edge map, 0 or 255 each, by their bits.
static BYTES_OF_BITS: [[u8; 8]; 256] = bytes_of_bits();

const fn bytes_of_bits() -> [[u8; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut k = 0;
        while k < 8 {
            table[bits][k] = if bits >> k & 1 == 1 { 255 } else { 0 };
            k += 1;
        }
        bits += 1;
    }
    table
}

/// Expands an edge map of one bit per pixel, in rows of `pitch` words, to bytes, on all cores. The ticker can cancel it.
pub(super) fn expand(
    pool: &ThreadPool,
    words: &[u32],
    pitch: usize,
    mut plane: ArrayViewMut2<'_, u8>,
    ticker: &Ticker,
) -> Result<()> {
    pool.install(|| {
        words.par_chunks(pitch * ROWS).zip(plane.axis_chunks_iter_mut(Axis(0), ROWS)).try_for_each(
            |(words, mut rows)| {
                ticker.check()?;
                for (words, mut row) in words.chunks_exact(pitch).zip(rows.rows_mut()) {
                    let eights =
                        bytemuck::cast_slice::<u32, u8>(words).iter().map(|bits| &BYTES_OF_BITS[*bits as usize]);
                    match row.as_slice_mut() {
                        Some(row) => {
                            // Eight pixels are copied at a time, a length that the compiler knows.
                            let (whole, rest) = row.as_chunks_mut::<8>();
                            let mut eights = eights;
                            whole.iter_mut().zip(&mut eights).for_each(|(to, from)| *to = *from);
                            if let Some(from) = eights.next() {
                                rest.copy_from_slice(&from[..rest.len()]);
                            }
                        }
                        None => row.iter_mut().zip(eights.flatten()).for_each(|(to, from)| *to = *from),
                    }
                }
                Ok(())
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn bits_become_bytes_in_rows_of_any_width_and_stride() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let ticker = Ticker::new("test");
        for width in [1, 7, 8, 31, 32, 33, 70] {
            let (height, pitch) = (131, usize::div_ceil(width, 32));
            let bit = |x: usize, y: usize| (x * 7 + y * 3) % 5 < 2;
            let mut words = vec![0u32; pitch * height];
            for y in 0..height {
                (0..width).filter(|x| bit(*x, y)).for_each(|x| words[y * pitch + x / 32] |= 1 << (x % 32));
            }
            let expected = Array2::from_shape_fn((height, width), |(y, x)| if bit(x, y) { 255 } else { 0 });
            let mut rows = Array2::from_elem((height, width), 7u8);
            expand(&pool, &words, pitch, rows.view_mut(), &ticker).unwrap();
            assert_eq!(rows, expected);
            let mut columns = Array2::from_elem((width, height), 7u8);
            expand(&pool, &words, pitch, columns.view_mut().reversed_axes(), &ticker).unwrap();
            assert_eq!(columns.t(), expected);
        }
    }
}
