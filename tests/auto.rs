//! Tests that `auto` runs a call on the device that finishes it first. The test is alone in its program, because other work
//! would disturb the times. It is skipped where there is no CUDA device.

use isoline::edge_drawing::{self, Params, Segments};
use isoline::{Context, DeviceKind};
use ndarray::Array2;

#[test]
fn auto_runs_a_call_on_the_device_that_finishes_it_first() {
    let cuda = match Context::new("cuda") {
        Ok(context) => context,
        Err(error) => return eprintln!("skipped, needs CUDA: {error}"),
    };
    let (cpu, automatic) = (Context::new("cpu").unwrap(), Context::new("auto").unwrap());
    for side in [16, 64, 256, 2048] {
        let image = Array2::from_shape_fn((side, side), |(y, x)| if (x / 10 + y / 14) % 2 == 1 { 200_u8 } else { 20 });
        let mut segments = Segments::new();
        let mut run = |context: &Context| {
            let input = image.view().into();
            edge_drawing::run(context, input, &Params::default(), None, None, Some(&mut segments)).unwrap()
        };
        let mut seconds = |context| (0..10).map(|_| run(context).seconds_total).fold(f64::INFINITY, f64::min);
        let (on_cuda, on_cpu) = (seconds(&cuda), seconds(&cpu));
        let chosen = run(&automatic).device.kind;
        println!("{side} x {side}: {on_cuda} s on CUDA, {on_cpu} s on the CPU; auto chose {chosen:?}");
        // Either is right if both take about as long.
        if on_cuda.max(on_cpu) > 2.5 * on_cuda.min(on_cpu) {
            let faster = if on_cuda < on_cpu { DeviceKind::Cuda } else { DeviceKind::Cpu };
            assert_eq!(chosen, faster, "side {side}");
        }
    }
}
