//! Distances of volumes that functions read and write slice by slice: between the passes the values are in the output, or in
//! a temporary file.

use super::*;
use isoline::distance::{Params, Region};
use ndarray::s;

/// Returns noise with some structure, and NaN, in which the nearest boundary may be far away.
fn noise(depth: usize, height: usize, width: usize) -> Array3<f32> {
    let mut random = Random::new(29);
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| match random.normal() {
        value if value > 3.0 => f32::NAN,
        value => value as f32 + if (x / 9 + y / 7 + z / 5) % 5 == 0 { 6.0 } else { -1.5 },
    })
}

/// Compares the distances of slices of every kind with those of the CPU in memory, on each context.
fn compare_volumes<T: bytemuck::Pod>(volume: &Array3<T>, pixel_type: PixelType, params: &Params, ways: &[Streamed])
where
    for<'a> Image<'a>: From<ArrayView3<'a, T>>,
{
    let mut expected = Array3::from_elem(volume.dim(), -1.0f32);
    let cpu = Context::new("cpu").unwrap();
    distance::run(&cpu, Image::from(volume.view()).into(), params, None, expected.view_mut().into()).unwrap();
    for context in contexts() {
        for &way in ways {
            let mut found = Array3::from_elem(volume.dim(), -1.0f32);
            let input = way.input(volume, pixel_type);
            let report = distance::run(&context, input, params, None, way.floats(&mut found)).unwrap();
            let device = &context.device().id;
            assert!(bits(&found) == bits(&expected), "{:?}, {params:?}, {way:?} on {device}", volume.dim());
            assert_eq!((report.slices_done as usize, report.device_count), (volume.dim().0, 1));
            assert!(report.device.id == "cpu" || volume.dim().0 == 1, "{}", report.device.id);
            assert!(report.seconds_compute > 0.0);
        }
    }
}

#[test]
fn volumes_have_the_bits_of_the_cpu_in_memory() {
    for [depth, height, width] in
        [[7, 31, 67], [1, 31, 67], [12, 1, 67], [12, 31, 1], [40, 1, 1], [2, 3, 70], [1, 1, 9], [33, 20, 16]]
    {
        let floats = noise(depth, height, width);
        let words = floats.mapv(|value| if value > 1.0 { 700u16 } else { 5 });
        let bytes = floats.mapv(|value| u8::from(value > 1.0));
        for spacing in [[1.0; 3], [1.0, 1.0, 2.5], [0.7, 0.9, 2.3], [0.31, 0.2, 0.017]] {
            for region in [Region::Signed, Region::Outside, Region::Inside] {
                let params = Params { region, spacing, ..Params::default() };
                compare_volumes(&bytes, PixelType::U8, &params, &WAYS);
            }
            let below = Params { spacing, foreground: Foreground::Below, threshold: 600.0, ..Params::default() };
            compare_volumes(&words, PixelType::U16, &below, &WAYS);
            compare_volumes(&floats, PixelType::F32, &Params { threshold: 1.0, ..below }, &WAYS);
        }
        // One class.
        for threshold in [-1.0, 1.0] {
            compare_volumes(&bytes, PixelType::U8, &Params { threshold, ..Params::default() }, &WAYS);
        }
    }
}

#[test]
fn volumes_of_several_batches_and_groups_have_the_bits_of_the_cpu_in_memory() {
    // Four batches of slices, and two groups of columns, whose squares are not exact.
    let bytes = stack(WIDE, 31).mapv(|pixel| (pixel / 256) as u8);
    let params = Params { spacing: [0.7, 0.9, 2.3], threshold: 80.0, ..Params::default() };
    compare_volumes(&bytes, PixelType::U8, &params, &WAYS[..1]);
    // The rows of the output are not in one piece of memory: it is computed in groups of rows.
    let (depth, height, width) = bytes.dim();
    let context = Context::new("cpu").unwrap();
    let [mut expected, mut found] = [(); 2].map(|()| Array3::from_elem((depth, height, width + 3), -1.0f32));
    let inner = s![.., .., 1..=width];
    distance::run(&context, bytes.view().into(), &params, None, expected.slice_mut(inner).into()).unwrap();
    let input = WAYS[1].input(&bytes, PixelType::U8);
    distance::run(&context, input, &params, None, found.slice_mut(inner).into()).unwrap();
    assert!(bits(&found) == bits(&expected));
}

/// The distances of a volume of zeros, whose slices `read` is asked for and `write` gets.
fn of_volume(
    context: &Context,
    shape: [usize; 3],
    progress: Option<&mut isoline::Progress<'_>>,
    read: impl FnMut(usize, &mut [u8]) -> Result<(), String>,
    write: impl FnMut(usize, &[u8]) -> Result<(), String>,
) -> Result<Report, Error> {
    let (source, sink) = (Source::new(PixelType::U8, shape, read), Sink::new(PixelType::F32, shape, write));
    distance::run(context, source.into(), &Params::default(), progress, sink.into())
}

#[test]
fn slices_of_volumes_are_read_and_written_once_in_order_on_the_calling_thread() {
    let caller = std::thread::current().id();
    for context in contexts() {
        let (read, written) = (Cell::new(0), Cell::new(0));
        let report = of_volume(
            &context,
            [256, 200, 500],
            None,
            |slice, pixels| {
                assert_eq!((slice, pixels.len(), std::thread::current().id()), (read.get(), 256 * 200, caller));
                read.set(slice + 1);
                pixels.fill(u8::from(slice == 100));
                Ok(())
            },
            |slice, pixels| {
                assert_eq!((read.get(), slice, std::thread::current().id()), (500, written.get(), caller));
                written.set(slice + 1);
                let steps = slice.abs_diff(100) as f32;
                let expected = if slice == 100 { -0.5 } else { steps - 0.5 };
                assert!(bytemuck::cast_slice::<u8, f32>(pixels).iter().all(|d| *d == expected));
                Ok(())
            },
        );
        assert_eq!((report.unwrap().slices_done, written.get()), (500, 500));
    }
}

#[test]
fn the_sentence_of_a_function_that_fails_ends_the_call_on_a_volume() {
    let failing = |slice: usize, at: usize| if slice == at { Err(format!("tape {at} is torn")) } else { Ok(()) };
    for context in contexts() {
        for at in [0, 1, 300, 499] {
            let call = |read: usize, written: usize| {
                let on_read = |slice: usize, _: &mut [u8]| failing(slice, read);
                of_volume(&context, [256, 200, 500], None, on_read, |slice, _| failing(slice, written)).unwrap_err()
            };
            let (read, written) = (call(at, usize::MAX), call(usize::MAX, at));
            assert_eq!([read.kind(), written.kind()], [ErrorKind::CallbackFailed; 2]);
            assert_eq!(read.message(), format!("cannot read slice {at}: tape {at} is torn"));
            assert_eq!(written.message(), format!("cannot write slice {at}: tape {at} is torn"));
        }
        of_volume(&context, [16, 16, 2], None, |_, _| Ok(()), |_, _| Ok(())).unwrap();
    }
}

#[test]
fn a_volume_is_cancelled_at_any_time() {
    let shape = [512, 400, 300];
    for context in contexts() {
        // 1. By the flag, from a function.
        for in_read in [true, false] {
            let flag = Arc::new(AtomicBool::new(false));
            set_cancel_flag(Some(flag.clone()));
            let call = |slice: usize, when: bool| {
                assert!(!flag.load(Ordering::Relaxed), "no function is called any more");
                flag.store(when && slice == 200, Ordering::Relaxed);
                Ok(())
            };
            let (read, write) = (|slice, _: &mut [u8]| call(slice, in_read), |slice, _: &[u8]| call(slice, !in_read));
            let error = of_volume(&context, shape, None, read, write).unwrap_err();
            set_cancel_flag(None);
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
        // 2. By the callback, in each of the three parts.
        for share in [0.0, 0.3, 0.55, 0.7, 0.81, 0.9] {
            let (ended, mut fractions) = (Cell::new(false), Vec::new());
            let mut progress = |fraction: f64, stage: &str| {
                assert!(!ended.get() && stage == "distance");
                fractions.push(fraction);
                ended.set(fraction >= share);
                if ended.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let call = || {
                assert!(!ended.get(), "no function is called any more");
                std::thread::sleep(Duration::from_micros(500));
                Ok(())
            };
            let error = of_volume(&context, shape, Some(&mut progress), |_, _| call(), |_, _| call()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            assert!(fractions.is_sorted() && *fractions.last().unwrap() < share + 0.2, "{share}: {fractions:?}");
        }
    }
}

#[test]
fn progress_of_a_volume_never_falls_and_reaches_the_end() {
    let volume = Array3::<u8>::zeros((200, 512, 512));
    for context in contexts() {
        for way in WAYS {
            let (mut seen, mut output) = (Vec::new(), Array3::<f32>::zeros(volume.dim()));
            let input = way.input(&volume, PixelType::U8);
            let params = Params::default();
            distance::run(&context, input, &params, Some(&mut noting(&mut seen)), way.floats(&mut output)).unwrap();
            let last = seen[seen.len() - 1];
            assert!(seen.is_sorted() && seen[0] >= 0.0 && last <= 1.0, "{seen:?}");
            // A call of a few hundredths of a second reports only its beginning.
            assert!(last > 0.8 || seen.len() < 5, "{seen:?}");
        }
    }
}
