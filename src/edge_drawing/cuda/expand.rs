//! Edge maps of one bit per pixel, expanded to bytes.

use crate::edge_drawing::edge_map::BYTES;
use crate::error::Result;
use crate::parallel::try_par_each;
use crate::progress::Ticker;
use ndarray::{ArrayViewMut2, ArrayViewMut3, Axis};
use rayon::ThreadPool;

/// The number of rows of one task.
const ROWS: usize = 64;

/// Expands edge maps of one bit per pixel, in rows of `pitch` words, to planes of bytes, on all cores. The ticker can
/// cancel it.
pub(super) fn expand(
    pool: &ThreadPool,
    maps: &[&[u32]],
    pitch: usize,
    mut planes: ArrayViewMut3<'_, u8>,
    ticker: &Ticker,
) -> Result<()> {
    let expand_one = |plane: usize, mut rows: ArrayViewMut2<'_, u8>| {
        let bands = maps[plane].chunks(pitch * ROWS).zip(rows.axis_chunks_iter_mut(Axis(0), ROWS));
        try_par_each(bands, ticker, |_, (words, mut rows)| {
            for (words, mut row) in words.chunks_exact(pitch).zip(rows.rows_mut()) {
                let eights = bytemuck::cast_slice::<u32, u8>(words).iter().map(|bits| &BYTES[*bits as usize]);
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
        })
    };
    pool.install(|| try_par_each(planes.axis_iter_mut(Axis(0)).take(maps.len()), ticker, expand_one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

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
            let none = vec![0; words.len()];
            let maps = [&words[..], &none];
            let is_edge = |z: usize, y, x| z == 0 && bit(x, y);
            let expected =
                Array3::from_shape_fn((2, height, width), |(z, y, x)| if is_edge(z, y, x) { 255 } else { 0 });
            let mut rows = Array3::from_elem((2, height, width), 7u8);
            expand(&pool, &maps, pitch, rows.view_mut(), &ticker).unwrap();
            assert_eq!(rows, expected);
            let mut columns = Array3::from_elem((width, height, 2), 7u8);
            expand(&pool, &maps, pitch, columns.view_mut().reversed_axes(), &ticker).unwrap();
            assert_eq!(columns.t(), expected);
        }
    }
}
