//! Tests beyond the comparison with OpenCV: gradients of 16 bits, words from the caller, and a cancel.

use super::*;
use crate::ErrorKind;
use crate::edge_drawing::{Params, Profile};
use crate::image::PixelType;
use ndarray::Array2;

const WIDTH: usize = 120;
const HEIGHT: usize = 90;

fn noise() -> Array2<u8> {
    let mut state = 1u32;
    Array2::from_shape_simple_fn((HEIGHT, WIDTH), || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
}

fn plan(threshold: u32) -> Plan {
    let params = Params {
        profile: Profile::Reference,
        gradient_threshold: Some(threshold.into()),
        min_length: 3,
        ..Params::default()
    };
    params.plan(PixelType::U16, None)
}

/// The words of a picture before linking.
fn marked(picture: &Array2<u8>, threshold: u32) -> Vec<u16> {
    let plan = plan(threshold);
    let method = gradient::Method {
        operator: plan.operator,
        taps: plan.taps,
        border: Border::BelowThreshold,
        threshold,
        clear_below: true,
    };
    let mut words = vec![0; picture.len()];
    let buffers = device::BufferPool::default();
    let mut lists = anchors::Lists::new(&buffers);
    lists.mark(&picture.view(), &method, &plan, &mut words, &Ticker::new("test")).unwrap();
    words
}

/// Returns the segments and the edge map that linking makes of words.
fn linked<W: Word>(words: &[W], threshold: u32, scratch: &mut Scratch<'_, W>) -> (Segments, Vec<u8>) {
    let (mut segments, mut edges) = (Segments::default(), vec![7; words.len()]);
    scratch.words(words.len()).unwrap().copy_from_slice(words);
    link(&plan(threshold), WIDTH, 0, scratch, &Ticker::new("test"), &mut segments, Some(&mut edges)).unwrap();
    (segments, edges)
}

/// An image times 256 has the same edges, in wider words and with gradients that take two passes to sort.
#[test]
fn wide_words_are_linked_like_narrow_ones() {
    const TIMES: u32 = 256;
    const THRESHOLD: u32 = 100;
    let narrow = marked(&noise(), THRESHOLD);
    let times = |word: &u16| {
        let vertical = u8::from(word.bits() & u16::VERTICAL != 0);
        u32::new(gradient_of(*word) * TIMES, vertical, word.bits() & STATE == ANCHOR)
    };
    let wide: Vec<u32> = narrow.iter().map(times).collect();

    let buffers = device::BufferPool::default();
    let mut scratch = Scratch::new(&buffers);
    let (segments, edges) = linked(&narrow, THRESHOLD, &mut Scratch::new(&buffers));
    let (wide_segments, wide_edges) = linked(&wide, THRESHOLD * TIMES, &mut scratch);
    assert!(segments.len() > 50, "{} segments", segments.len());
    assert_eq!(wide_segments.points, segments.points);
    assert_eq!(wide_segments.offsets, segments.offsets);
    assert_eq!(wide_segments.flags, segments.flags);
    let means: Vec<f32> = segments.mean_gradients.iter().map(|mean| mean * TIMES as f32).collect();
    assert_eq!(wide_segments.mean_gradients, means);
    assert_eq!(wide_edges, edges);

    // The order is by falling gradient, equal ones in raster order.
    let (words, anchors, _) = scratch.parts();
    let order: Vec<usize> =
        anchors.sort(words, &Ticker::new("")).unwrap().iter().map(|index| *index as usize).collect();
    assert!(order.iter().any(|index| gradient_of(wide[*index]) > 1 << 17));
    let mut expected: Vec<usize> = (0..wide.len()).filter(|index| wide[*index].bits() & STATE == ANCHOR).collect();
    expected.sort_by_key(|index| std::cmp::Reverse(gradient_of(wide[*index])));
    assert_eq!(order, expected);
}

#[test]
fn a_cancel_ends_the_linking() {
    let words = marked(&noise(), 1);
    let ticker = Ticker::new("test");
    ticker.cancel();
    let buffers = device::BufferPool::default();
    let mut scratch = Scratch::new(&buffers);
    scratch.words(words.len()).unwrap().copy_from_slice(&words);
    let error = link(&plan(1), WIDTH, 0, &mut scratch, &ticker, &mut Segments::default(), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}
