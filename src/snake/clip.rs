//! Polygons clipped to the image, pixel by pixel. They are used for sums over polygons that extend beyond the image.

use super::polygon::{Bounds, Node};
use crate::error::Result;
use crate::memory::push;
use crate::progress::Ticker;

/// Returns a polygon within `bounds` that contains the same pixels of `bounds` as the polygon `nodes`; it is empty if there
/// are none. An edge that leaves the bounds becomes stairs along the pixels that it separates, so the result may touch
/// itself, and can be used for sums only.
pub(super) fn clip(nodes: &[Node], bounds: &Bounds, ticker: &Ticker) -> Result<Vec<Node>> {
    let mut kept = Vec::new();
    for (a, b) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
        if bounds.contain(*a) && bounds.contain(*b) {
            push(&mut kept, *a)?;
            push(&mut kept, *b)?;
            continue;
        }
        // The connection between two parts runs along the border of a row, which adds nothing to a sum.
        let first = kept.len();
        add_stairs(*a, *b, bounds, &mut kept, ticker)?;
        if a.y > b.y {
            kept[first..].reverse();
        }
    }
    kept.dedup();
    Ok(if kept.len() < 3 { Vec::new() } else { kept })
}

/// Appends the part of an edge within `bounds`, from the top down, as the corners of stairs. One step of the stairs covers
/// successive rows with the same number of pixels left of the edge.
fn add_stairs(a: Node, b: Node, bounds: &Bounds, corners: &mut Vec<Node>, ticker: &Ticker) -> Result<()> {
    let (upper, lower) = if a.y <= b.y { (a, b) } else { (b, a) };
    let (dx, dy) = (i64::from(lower.x) - i64::from(upper.x), i64::from(lower.y) - i64::from(upper.y));
    let first = corners.len();
    for y in upper.y.max(bounds.y0)..lower.y.min(bounds.y1) {
        ticker.check()?;
        // The formula of `Rows`: ⌈x₀ + ((2k + 1)·Δx − Δy)/(2Δy)⌉.
        let k = i64::from(y) - i64::from(upper.y);
        let right = i64::from(upper.x) - ((dy - (2 * k + 1) * dx).div_euclid(2 * dy));
        let x = right.clamp(i64::from(bounds.x0), i64::from(bounds.x1)) as i32;
        match corners[first..].last_mut() {
            Some(last) if last.x == x => last.y = y + 1,
            _ => {
                push(corners, Node::new(x, y))?;
                push(corners, Node::new(x, y + 1))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::polygon::random;
    use super::super::sums::{RegionSum, RowPrefixSums};
    use super::*;

    #[test]
    fn sum_over_a_clipped_polygon_equals_the_sum_over_its_pixels_in_the_image() {
        const W: i32 = 23;
        const H: i32 = 19;
        const MARGIN: i32 = 40;
        let ticker = &Ticker::new("test");
        // The image in the middle of a canvas that is large enough for every polygon.
        let (width, height) = ((W + 2 * MARGIN) as usize, (H + 2 * MARGIN) as usize);
        let pixel = |x: i32, y: i32| ((x * 31 + y * 17) % 251) as u8;
        let inside = |x: i32, y: i32| (0..W).contains(&x) && (0..H).contains(&y);
        let mut canvas = vec![0u8; width * height];
        let mut ones = canvas.clone();
        for (index, (value, one)) in canvas.iter_mut().zip(&mut ones).enumerate() {
            let (x, y) = ((index % width) as i32 - MARGIN, (index / width) as i32 - MARGIN);
            (*value, *one) = if inside(x, y) { (pixel(x, y), 1) } else { (0, 0) };
        }
        let image: Vec<u8> = (0..W * H).map(|index| pixel(index % W, index / W)).collect();
        let sums = |pixels: Vec<u8>, width: usize, height: usize| {
            RowPrefixSums::new(width, height, ticker, |y, row| row.copy_from_slice(&pixels[y * width..][..width]))
                .unwrap()
        };
        let image = sums(image, W as usize, H as usize);
        let [canvas, ones] = [canvas, ones].map(|pixels| sums(pixels, width, height));
        let bounds = Bounds { x0: 0, y0: 0, x1: W, y1: H };
        let mut random = random(1);
        let mut parts = 0;
        for _ in 0..4000 {
            // These may cross themselves: sums are signed.
            let nodes: Vec<Node> = (0..3 + random(6))
                .map(|_| Node::new(random(W + 2 * MARGIN) - MARGIN, random(H + 2 * MARGIN) - MARGIN))
                .collect();
            let shifted: Vec<Node> = nodes.iter().map(|node| Node::new(node.x + MARGIN, node.y + MARGIN)).collect();
            let clipped = clip(&nodes, &bounds, ticker).unwrap();
            assert!(clipped.iter().all(|node| bounds.contain(*node)), "{nodes:?} {clipped:?}");
            let found = image.polygon(&clipped, ticker).unwrap();
            let wanted = canvas.polygon(&shifted, ticker).unwrap();
            assert_eq!((found.z, found.zz), (wanted.z, wanted.zz), "{nodes:?} {clipped:?}");
            assert_eq!(found.pixels, ones.polygon(&shifted, ticker).unwrap().z, "{nodes:?} {clipped:?}");
            parts += i64::from(found != RegionSum::default());
        }
        assert!(parts > 2000, "{parts}");
    }

    #[test]
    fn polygons_far_away_and_outside_are_clipped() {
        let bounds = Bounds { x0: 0, y0: 0, x1: 50, y1: 40 };
        let far = super::super::MAX_COORDINATE;
        let ticker = &Ticker::new("test");
        let square = [Node::new(-far, -far), Node::new(far, -far), Node::new(far, far), Node::new(-far, far)];
        let all = clip(&square, &bounds, ticker).unwrap();
        let corners = [Node::new(50, 0), Node::new(50, 40), Node::new(0, 40), Node::new(0, 0)];
        assert_eq!(all, corners);
        let above = [Node::new(0, -30), Node::new(40, -30), Node::new(20, -1)];
        assert!(clip(&above, &bounds, ticker).unwrap().is_empty());
    }
}
