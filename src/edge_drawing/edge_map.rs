//! An edge map with a bit a pixel.

use crate::error::Result;
use crate::image::zeroed;
use rayon::prelude::*;

/// Pixels in a word.
pub(super) const WORD: usize = 64;

/// Words that one thread copies at a time.
const WORDS_A_COPY: usize = 1 << 14;

/// The edges of a slice: bit x mod 64 of word x / 64 of a row is pixel x.
///
/// A row of zeros lies above and below the image, a word of zeros before and after these, and every row ends with at
/// least one 0, so that all eight neighbours of a pixel are at fixed distances from its [place](Self::place) and what is
/// outside the image reads as 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EdgeMap {
    width: usize,
    height: usize,
    /// Words from row to row.
    stride: usize,
    words: Vec<u64>,
}

impl EdgeMap {
    /// A map without edges.
    pub(super) fn new(width: usize, height: usize) -> Result<Self> {
        let stride = width / WORD + 1;
        Ok(Self { width, height, stride, words: zeroed(stride * (height + 2) + 2)? })
    }

    /// From rows of 32-bit words, `pitch` words apart: bit x mod 32 of word x / 32 is pixel x. Bits beyond the width are
    /// left out.
    pub(super) fn from_words(width: usize, height: usize, words: &[u32], pitch: usize) -> Result<Self> {
        let mut map = Self::new(width, height)?;
        let count = width.div_ceil(32);
        map.rows_mut().zip(words.par_chunks(pitch)).for_each(|(row, words)| {
            for (word, pair) in row.iter_mut().zip(words[..count].chunks(2)) {
                *word = u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32;
            }
            row[width / WORD] &= (1 << (width % WORD)) - 1;
        });
        Ok(map)
    }

    /// From a function of column and row.
    pub(super) fn from_fn(width: usize, height: usize, on: impl Fn(usize, usize) -> bool + Sync) -> Result<Self> {
        let mut map = Self::new(width, height)?;
        map.rows_mut().enumerate().for_each(|(y, row)| {
            for x in 0..width {
                row[x / WORD] |= u64::from(on(x, y)) << (x % WORD);
            }
        });
        Ok(map)
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Words from row to row; a row has width / 64 + 1.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// All words, with those around the image.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// A copy, or an error where there is no memory for it.
    pub(super) fn try_clone(&self) -> Result<Self> {
        let mut copy = Self::new(self.width, self.height)?;
        // In pieces: the system hands out fresh pages to all threads at once.
        let pieces = copy.words.par_chunks_mut(WORDS_A_COPY).zip(self.words.par_chunks(WORDS_A_COPY));
        pieces.for_each(|(to, from)| to.copy_from_slice(from));
        Ok(copy)
    }

    /// The rows of the image, to be written; bits from the width on must stay 0.
    pub(super) fn rows_mut(&mut self) -> rayon::slice::ChunksMut<'_, u64> {
        self.bands_mut(1)
    }

    /// As [`rows_mut`](Self::rows_mut), a number of rows at a time.
    pub(super) fn bands_mut(&mut self, rows: usize) -> rayon::slice::ChunksMut<'_, u64> {
        let [stride, height] = [self.stride, self.height];
        self.words[1 + stride..1 + stride * (height + 1)].par_chunks_mut(stride * rows)
    }

    /// The index among all [words](Self::words) of the first word of row `y`.
    pub(super) fn first_word(&self, y: usize) -> usize {
        1 + (y + 1) * self.stride
    }

    /// The words of row `y`.
    pub(super) fn row(&self, y: usize) -> &[u64] {
        &self.words[self.first_word(y)..][..self.stride]
    }

    /// A pixel's bit among all [words](Self::words). A row further is 64·stride bits further.
    pub(super) fn place(&self, x: usize, y: usize) -> usize {
        self.first_word(y) * WORD + x
    }

    /// How many edge pixels rows have.
    pub(super) fn count(&self, rows: std::ops::Range<usize>) -> usize {
        let words = &self.words[self.first_word(rows.start)..self.first_word(rows.end)];
        words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Writes row `y` as bytes: 255 on edges, else 0.
    pub(super) fn write_row(&self, y: usize, bytes: &mut [u8]) {
        let row = self.row(y);
        let (whole, rest) = bytes.as_chunks_mut::<WORD>();
        for (word, bytes) in row.iter().zip(whole) {
            if *word == 0 {
                *bytes = [0; WORD];
                continue;
            }
            for (bits, bytes) in word.to_le_bytes().into_iter().zip(bytes.as_chunks_mut::<8>().0) {
                *bytes = BYTES[bits as usize];
            }
        }
        for (k, byte) in rest.iter_mut().enumerate() {
            *byte = if row[self.width / WORD] >> k & 1 == 1 { 255 } else { 0 };
        }
    }
}

/// The three bits around `place` in some words, the left one lowest.
#[inline(always)]
pub(super) fn three(words: &[u64], place: usize) -> usize {
    let first = place - 1;
    let [word, shift] = [first / WORD, first % WORD];
    let pair = &words[word..word + 2];
    (pair[0] >> shift | (pair[1] << 1) << (WORD - 1 - shift)) as usize & 7
}

/// Eight pixels as bytes, for each way to set eight bits.
const BYTES: [[u8; 8]; 256] = {
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
};

/// Where each edge pixel is in a list of all edge pixels in raster order.
pub(super) struct Ranks<'a> {
    map: &'a EdgeMap,
    /// Edge pixels before each word.
    before: Vec<usize>,
}

impl<'a> Ranks<'a> {
    pub(super) fn new(map: &'a EdgeMap) -> Result<Self> {
        let mut before: Vec<usize> = zeroed(map.words.len())?;
        let mut count = 0;
        for (before, word) in before.iter_mut().zip(&map.words) {
            *before = count;
            count += word.count_ones() as usize;
        }
        Ok(Self { map, before })
    }

    /// The index of the edge pixel at `place` in the list.
    #[inline(always)]
    pub(super) fn at(&self, place: usize) -> usize {
        let [word, bit] = [place / WORD, place % WORD];
        self.before[word] + (self.map.words[word] & ((1 << bit) - 1)).count_ones() as usize
    }
}
