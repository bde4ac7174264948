//! An edge map with one bit per pixel.

use crate::error::Result;
use crate::memory::zeroed;
use rayon::prelude::*;

/// The number of pixels in a word.
pub(super) const WORD: usize = 64;

/// The number of words that one thread copies at a time.
const WORDS_PER_COPY: usize = 1 << 14;

/// The edges of a slice, one bit per pixel: pixel x is bit x mod 64 of word x / 64 of its row.
///
/// The image is padded with zeros: a row above and below it, a word before the first and after the last of these rows, and
/// at least one bit at the end of every row. So all eight neighbours of a pixel are at fixed distances from its
/// [bit](Self::bit_index), and pixels outside the image read as 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EdgeMap {
    width: usize,
    height: usize,
    /// The number of words from row to row.
    stride: usize,
    words: Vec<u64>,
}

impl EdgeMap {
    /// Returns a map without edges.
    pub(super) fn new(width: usize, height: usize) -> Result<Self> {
        let stride = width / WORD + 1;
        Ok(Self { width, height, stride, words: zeroed(stride * (height + 2) + 2)? })
    }

    /// Makes a map from a function that tells for a column and a row whether the pixel is an edge.
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

    /// Returns the number of words from row to row; a row has width / 64 + 1.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns all words, with those around the image.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns a copy, or an error when out of memory.
    pub(super) fn try_clone(&self) -> Result<Self> {
        let mut copy = Self::new(self.width, self.height)?;
        // The copy is divided over the threads, because the first write to a page is slow.
        let chunks = copy.words.par_chunks_mut(WORDS_PER_COPY).zip(self.words.par_chunks(WORDS_PER_COPY));
        chunks.for_each(|(to, from)| to.copy_from_slice(from));
        Ok(copy)
    }

    /// Returns the rows of the image for writing. Bits beyond the width must stay 0.
    pub(super) fn rows_mut(&mut self) -> rayon::slice::ChunksMut<'_, u64> {
        self.bands_mut(1)
    }

    /// Does the same as [`rows_mut`](Self::rows_mut), `rows` rows at a time.
    pub(super) fn bands_mut(&mut self, rows: usize) -> rayon::slice::ChunksMut<'_, u64> {
        let [stride, height] = [self.stride, self.height];
        self.words[1 + stride..1 + stride * (height + 1)].par_chunks_mut(stride * rows)
    }

    /// Returns the index among all [words](Self::words) of the first word of row `y`.
    pub(super) fn first_word(&self, y: usize) -> usize {
        1 + (y + 1) * self.stride
    }

    /// Returns the words of row `y`.
    pub(super) fn row(&self, y: usize) -> &[u64] {
        &self.words[self.first_word(y)..][..self.stride]
    }

    /// Returns the index of a pixel's bit among the bits of all [words](Self::words). The next row is 64·stride bits
    /// further.
    pub(super) fn bit_index(&self, x: usize, y: usize) -> usize {
        self.first_word(y) * WORD + x
    }

    /// Returns the number of edge pixels in some rows.
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

/// Returns bit `index` of some words with the bits before and after it, the one before in the lowest bit.
#[inline(always)]
pub(super) fn three_bits(words: &[u64], index: usize) -> usize {
    let first = index - 1;
    let [word, shift] = [first / WORD, first % WORD];
    let pair = &words[word..word + 2];
    (pair[0] >> shift | (pair[1] << 1) << (WORD - 1 - shift)) as usize & 7
}

/// The bytes of eight pixels, 0 or 255 each, for each value of eight bits.
pub(super) static BYTES: [[u8; 8]; 256] = {
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

/// The position of each edge pixel in the list of all edge pixels in raster order.
pub(super) struct Ranks<'a> {
    map: &'a EdgeMap,
    /// The number of edge pixels before each word.
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

    /// Returns the position in the list of the edge pixel at bit `index`.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> usize {
        let [word, bit] = [index / WORD, index % WORD];
        self.before[word] + (self.map.words[word] & ((1 << bit) - 1)).count_ones() as usize
    }
}
