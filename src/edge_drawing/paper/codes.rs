//! A one-byte code for each pixel, which holds the next steps of its traces, and the conversion of these codes to planes of
//! bits.

use super::super::edge_map::WORD;
use super::Plane;

/// The bits of a code: the first planes of a record in their order, then the anchor in the highest bit.
const VERTICAL: u8 = 1 << Plane::Vertical as u8;
const HORIZONTAL: u8 = 1 << Plane::Horizontal as u8;
const MINUS_LOW: u8 = 1 << Plane::MinusLow as u8;
const MINUS_HIGH: u8 = 1 << Plane::MinusHigh as u8;
const PLUS_LOW: u8 = 1 << Plane::PlusLow as u8;
const PLUS_HIGH: u8 = 1 << Plane::PlusHigh as u8;
const ANCHOR: u8 = 1 << PLANES;
/// The number of planes that come from codes.
pub(super) const PLANES: usize = 6;

/// Gradients from which codes are computed.
pub(in super::super) trait CodedGradient: Copy + Send + Sync + bytemuck::Zeroable + 'static {
    /// Returns the anchor threshold A in this type. A threshold above all gradients remains above them.
    fn more(anchor: u32) -> Self;

    /// Returns whether any is above 0.
    fn any(gradients: &[Self]) -> bool;

    /// Writes the codes of some pixels of a row. The rows of gradients have one more pixel at either end.
    fn codes(gradient: [&[Self]; 3], vertical: &[u8], more: Self, codes: &mut [u8]);
}

macro_rules! coded_gradient {
    ($gradient:ty, $signed:ty, $above_all:expr) => {
        impl CodedGradient for $gradient {
            fn more(anchor: u32) -> Self {
                anchor.min($above_all) as Self
            }

            #[inline(always)]
            fn any(gradients: &[Self]) -> bool {
                gradients.iter().fold(0, |all, gradient| all | gradient) != 0
            }

            // Use signed numbers, because vector instructions compare these. Sums with the anchor threshold do not
            // overflow.
            #[inline(always)]
            fn codes([above, here, below]: [&[Self]; 3], vertical: &[u8], more: Self, codes: &mut [u8]) {
                let n = codes.len();
                let [nw, north, ne] = [&above[..n], &above[1..][..n], &above[2..][..n]];
                let [west, centre, east] = [&here[..n], &here[1..][..n], &here[2..][..n]];
                let [sw, south, se] = [&below[..n], &below[1..][..n], &below[2..][..n]];
                let vertical = &vertical[..n];
                let more = more as $signed;
                for x in 0..n {
                    let [nw, north, ne] = [nw[x] as $signed, north[x] as $signed, ne[x] as $signed];
                    let [west, centre, east] = [west[x] as $signed, centre[x] as $signed, east[x] as $signed];
                    let [sw, south, se] = [sw[x] as $signed, south[x] as $signed, se[x] as $signed];
                    let is_vertical = vertical[x] != 0;
                    let pick = |down: $signed, across: $signed| if is_vertical { down } else { across };
                    // The minus heading leads up, or left. North-west is its low side in both.
                    let [minus, minus_high] = [pick(north, west), pick(ne, sw)];
                    // The plus heading leads down, or right. South-east is its high side in both.
                    let [plus, plus_low] = [pick(south, east), pick(sw, ne)];
                    let beside = pick(west, north).max(pick(east, south));
                    let mut code = if is_vertical { VERTICAL } else { HORIZONTAL };
                    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
                    code |= bit(centre >= beside + more, ANCHOR);
                    code |= bit(nw > minus.max(minus_high), MINUS_LOW);
                    code |= bit(minus_high > minus.max(nw), MINUS_HIGH);
                    code |= bit(plus_low > plus.max(se), PLUS_LOW);
                    code |= bit(se > plus.max(plus_low), PLUS_HIGH);
                    codes[x] = if centre > 0 { code } else { 0 };
                }
            }
        }
    };
}

// Gradients of 8-bit images reach 32 · 255 = 8160, of 16-bit images 32 · 65535.
coded_gradient!(u16, i16, 1 << 14);
coded_gradient!(u32, i32, 1 << 22);

/// Gathers the same bit of 64 bytes into a word.
pub(super) struct BitPacker {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<pulp::x86::V3>,
    #[cfg(target_arch = "aarch64")]
    neon: Option<pulp::aarch64::Neon>,
}

impl BitPacker {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: pulp::x86::V3::try_new(),
            #[cfg(target_arch = "aarch64")]
            neon: pulp::aarch64::Neon::try_new(),
        }
    }

    /// Returns the bits as words: word k holds the bits k of all codes.
    #[inline(always)]
    pub(super) fn bits(&self, codes: &[u8; WORD]) -> [u64; PLANES + 1] {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = self.avx2 {
            use std::arch::x86_64::__m256i;
            let load = |from: usize| -> __m256i { bytemuck::pod_read_unaligned(&codes[from..from + 32]) };
            let mut halves = [load(0), load(32)];
            let mut bits = [0; PLANES + 1];
            for bit in bits.iter_mut().rev() {
                // Shift the next lower bit of each byte into its sign.
                halves = halves.map(|half| simd.avx2._mm256_add_epi8(half, half));
                let [low, high] = halves.map(|half| u64::from(simd.avx2._mm256_movemask_epi8(half) as u32));
                *bit = low | high << 32;
            }
            return bits;
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(simd) = self.neon {
            return neon_bits(simd, codes);
        }
        plain_bits(codes)
    }
}

/// Does the same as [`BitPacker::bits`]: each byte that has the bit becomes a power of two, and three rounds of pairwise
/// sums make the bytes of the word.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn neon_bits(simd: pulp::aarch64::Neon, codes: &[u8; WORD]) -> [u64; PLANES + 1] {
    use std::arch::aarch64::uint8x16_t;
    let neon = simd.neon;
    let load = |from: usize| -> uint8x16_t { bytemuck::pod_read_unaligned(&codes[from..from + 16]) };
    let quarters = [load(0), load(16), load(32), load(48)];
    let powers: uint8x16_t = bytemuck::cast(std::array::from_fn::<u8, 16, _>(|k| 1 << (k % 8)));
    std::array::from_fn(|plane| {
        let bit: uint8x16_t = bytemuck::cast([1_u8 << plane; 16]);
        let [a, b, c, d] = quarters.map(|codes| neon.vandq_u8(neon.vtstq_u8(codes, bit), powers));
        let fours = neon.vpaddq_u8(neon.vpaddq_u8(a, b), neon.vpaddq_u8(c, d));
        bytemuck::cast::<uint8x16_t, [u64; 2]>(neon.vpaddq_u8(fours, fours))[0]
    })
}

/// Does the same as [`BitPacker::bits`] eight bytes at a time: a multiplication gathers their lowest bits in the highest
/// byte.
fn plain_bits(codes: &[u8; WORD]) -> [u64; PLANES + 1] {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut bits = [0; PLANES + 1];
    for (index, eight) in codes.as_chunks::<8>().0.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        for (plane, bits) in bits.iter_mut().enumerate() {
            *bits |= ((eight >> plane & LOWEST).wrapping_mul(GATHER) >> 56) << (8 * index);
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_gathered_in_order() {
        let codes: [u8; WORD] = std::array::from_fn(|k| (k * 37 % 128) as u8);
        let expected: Vec<u64> = (0..=PLANES)
            .map(|plane| codes.iter().enumerate().map(|(k, code)| u64::from(code >> plane & 1) << k).sum())
            .collect();
        assert_eq!(plain_bits(&codes).to_vec(), expected);
        assert_eq!(BitPacker::new().bits(&codes).to_vec(), expected);
    }
}
