#!/usr/bin/env bash
# Runs unit tests under Miri, which interprets them and ends at undefined behaviour: accesses out of bounds or after free, reads
# of uninitialised memory, wrong alignment, data races, and references that exclude one another (tree borrows).
# Usage: miri.sh TARGET-FOLDER
#
# Miri takes some thousand times as long as the processor, and cannot call CUDA. So these tests are chosen:
# - capi: all unsafe code but that of CUDA and of huge pages is there. Its tests call the library as C programs do, on images of
#   9 x 9 pixels (of lines and ellipses 11 x 11), through every operation but the isosurface: its test found nothing either, but
#   Miri takes nearly two minutes to make the table of marching cubes, which the compiler makes otherwise. The tests that compare
#   the header's text are left out, too: they take minutes.
# - device: locks, buffers and the memory that is kept between calls, with threads.
# - index arithmetic: bit maps, strips, masks, polygons; those tests that take seconds here.
# Left out are tests that measure times or look at thousands of random images, and those with a progress callback: they wait in
# a scope of rayon, where a reference of a job that is done may outlive what it points to by a moment. Nothing is accessed by
# it, but the rules of tree borrows, which are experimental, forbid that.
#
# Ignored leaks: the threads of the pool end after the program. Foreign pointers of crossbeam are integers at times.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! rustup component list --toolchain nightly 2> /dev/null | grep -q '^miri.*(installed)'; then
    rustup toolchain install nightly --profile minimal --component miri,rust-src
fi
export MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows -Zmiri-permissive-provenance'
export ISOLINE_CUDA_ARCHS=none RUST_BACKTRACE=0
cargo +nightly miri test --locked --lib --quiet --target-dir "$1/miri" -- \
    capi::tests capi::panics capi::status::tests::every \
    device::buffer_pool device::call_lock::tests::a_chain device::call_lock::tests::the_last_call device::tests::auto \
    edge_drawing::paper::codes edge_drawing::paper::strip \
    edge_drawing::segments::extract::tests::a_ring_around_a_hole edge_drawing::segments::extract::tests::a_t_junction \
    mask::tests::boxes mask::tests::invalid \
    progress::tests::the_flag progress::tests::sections \
    snake::polygon::tests::self_crossing snake::polygon::tests::polygons_are_clamped snake::clip::tests::polygons_far \
    threshold::tests --skip the_arrays_of_a_surface
