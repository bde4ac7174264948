"""Level sets and region snakes step by step, progress, and the end of a call by an exception or Ctrl-C."""
import contextlib
import copy
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref

import numpy
import pytest

import isoline

IMAGE = numpy.zeros((60, 80), numpy.uint8)
IMAGE[20:40, 25:60] = 200
START = numpy.zeros_like(IMAGE)
START[28:32, 40:44] = 1
LARGE = numpy.zeros((400, 400), numpy.uint8)
LARGE[200, 200] = 1
LONG = dict(iterations=10_000_000, device="cpu")  # hours


def test_steps_of_a_level_set_are_those_of_one_call():
    wanted = isoline.level_set(IMAGE, START, target=200, epsilon=50, iterations=60, change_tolerance=0)
    with isoline.LevelSet(IMAGE, START, target=200, epsilon=50, change_tolerance=0) as surface:
        for _ in range(3):
            report = surface.step(20)
        assert report.iterations == 20 and surface.state().iterations == 60 and report.ended() == surface.state().ended()
        assert numpy.array_equal(surface.mask(), wanted)
        phi, out = surface.phi(), numpy.empty(IMAGE.shape, numpy.float32)
        assert surface.phi(out=out) is out and numpy.array_equal(out, phi) and ((phi < 0) == (wanted > 0)).all()
        inside = numpy.count_nonzero(wanted)
        assert repr(surface.state()) == f"<60 iterations, {inside} voxels inside, {report.ended()}>"
        assert repr(surface) == f"<a level set of the shape {IMAGE.shape}>"
        assert surface.statistics(59)["iteration"].tolist() == [59, 60]
        assert surface.statistics()["inside"][-1] == inside
        surface.write_phi(-phi)
        assert numpy.array_equal(surface.mask() > 0, -phi < 0)
    with pytest.raises(ValueError, match="cannot use this level set: it is closed"):
        surface.mask()
    surface.close()
    assert repr(surface) == "<a closed level set>"


def test_a_saved_phi_goes_on_where_the_front_has_left_the_band():
    image, start = numpy.full((60, 80), 50, numpy.uint8), numpy.zeros((60, 80), bool)
    image[15:45, 20:60], start[25:35, 35:45] = 200, True
    with isoline.LevelSet(image, start, alpha=.5, device="cpu") as first, \
            isoline.LevelSet(image, start, alpha=.5, device="cpu") as second:
        first.step(1000)
        saved = first.phi()
        assert abs(saved).min() > 2
        for surface in (first, second):
            surface.write_phi(saved)
            assert surface.step(1000).ended() == "front"
            assert numpy.array_equal(surface.mask() > 0, image == 200)


def test_a_level_set_step_by_step_has_no_number_of_iterations():
    with pytest.raises(TypeError, match="LevelSet has no parameter 'iterations' .* give them to step"):
        isoline.LevelSet(IMAGE, START, target=200, epsilon=50, iterations=5)


def test_steps_of_snakes_are_those_of_one_call():
    starts = [[(10, 10), (40, 10), (40, 50), (10, 50)], numpy.array([(50, 10), (70, 10), (70, 50)])]
    wanted = isoline.snake(IMAGE, starts)
    with isoline.Snake(IMAGE, starts) as snake:
        assert len(snake) == 2 and len(snake.polygons()[1]) == 3
        snake.step(2)
        assert snake.step().converged
        for mine, theirs in zip(snake.polygons(), wanted.polygons(), strict=True):
            assert numpy.array_equal(mine, theirs)
        assert [curve.shape[1] for curve in snake.curves()] == [2, 2]
        assert numpy.array_equal(snake.statistics(), wanted.statistics()) and snake.labels().dtype == numpy.uint16
        assert repr(snake) == "<a snake of 2 targets, 2 of them ended>"
        snake.restart(starts[:1])
        assert repr(snake) == "<a snake of 1 targets, 0 of them ended>"
        assert len(snake) == 1 and snake.statistics()["iterations"][0] == 0
    assert repr(snake) == "<a closed snake>"
    for polygon, text in (([(1.5, 2), (3, 4), (5, 9)], r"whole numbers .*\(got \(1.5, 2.0\)\)"),
                          ([1, 2, 3], r"a sequence of \(x, y\) \(got an array of shape \(3,\)\)"),
                          ([(1, 2), (3,)], "rows of several lengths"), ([("1", "2")], "got <U1")):
        with pytest.raises(ValueError, match=f"cannot use polygon 1: .*{text}"):
            isoline.Snake(IMAGE, [starts[0], polygon])
    for polygon in (starts[1], starts[0]):  # one by itself is the only start
        alone, listed = isoline.snake(IMAGE, polygon), isoline.snake(IMAGE, [polygon])
        assert len(alone) == 1 and numpy.array_equal(alone.polygons()[0], listed.polygons()[0])
    for polygons in (5, "starts.json", {"x": 1}):
        with pytest.raises(TypeError, match="cannot use polygons: they must be a sequence of polygons"):
            isoline.snake(IMAGE, polygons)
    with pytest.raises(isoline.InvalidArgument, match="edges"):
        isoline.Snake(IMAGE, [[(0, 0), (9, 9), (9, 0), (0, 9)]])


def test_coarse_levels_come_first():
    found = []
    for levels in (1, 2):
        with isoline.LevelSet(IMAGE, START, dimensions="slices", target=200, epsilon=50, pyramid_levels=levels) as surface:
            surface.step(3000)
            state = surface.state()
            assert (state.coarse_iterations > 0) == (levels > 1) and state.ended() == "front"
            found.append((state.iterations, surface.mask() > 0))
    (plain, wanted), (fine, mask) = found
    assert 2 * fine <= plain
    assert 2 * numpy.count_nonzero(mask & wanted) >= 0.99 * (numpy.count_nonzero(mask) + numpy.count_nonzero(wanted))
    starts = [[(35, 25), (50, 25), (50, 35), (35, 35)]]
    with isoline.Snake(IMAGE, starts, pyramid_levels=2, largest_step=1) as snake:
        snake.step(1)
        assert snake.statistics()["iterations"][0] == 1 and snake.statistics()["pixels"][0] > 500
        with pytest.raises(isoline.InvalidArgument, match="pyramid_levels 3"):
            snake.restart(starts, pyramid_levels=3)


def test_progress_is_told():
    told = []
    isoline.edge_strength(LARGE, iterations=300, progress=lambda *what: told.append(what))
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1 and all(isinstance(step, str) for _, step in told)


def test_progress_is_told_of_the_end(monkeypatch):
    """A solver that has come to rest does fewer iterations than its progress counts."""
    with isoline.LevelSet(IMAGE, START, target=200, epsilon=50) as surface:
        for call in (surface.step, lambda _, progress: isoline.isolines(IMAGE, [9.5], progress=progress)):
            shares, steps = [], []

            def note(share, step, shares=shares, steps=steps):
                shares.append(share)
                steps.append(step)

            call(10 ** 6, progress=note)
            assert shares[-1] == 1 and shares.count(1) == 1 and steps[-1] == steps[-2]
    # A result is there, so that the call can no longer be cancelled; an exception is raised all the same.
    assert len(isoline.isolines(IMAGE, [9.5], progress=lambda share, _: share == 1)) == 1

    def fails(share, _):
        assert share < 1, "at the end"

    with pytest.raises(AssertionError, match="at the end"):
        isoline.isolines(IMAGE, [9.5], progress=fails)
    freed, free = [], isoline.Library.free
    monkeypatch.setattr(isoline.Library, "free", lambda self, noun: freed.append(noun) or free(self, noun))
    with pytest.raises(AssertionError, match="at the end"):
        isoline.edge_drawing(IMAGE, progress=fails)
    assert "segments" in freed


@pytest.mark.parametrize("ended", [False, True])
def test_a_function_that_was_told_goes(ended):
    class Told:
        def __call__(self, *_):
            if ended:
                raise KeyError("mine")

    told = Told()
    gone = weakref.ref(told)
    with pytest.raises(KeyError) if ended else contextlib.nullcontext():
        isoline.edge_strength(LARGE, iterations=300, progress=told)
    del told
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("call, options", [
    (isoline.edge_strength_axes, dict(threshold=254, mode="converged")), (isoline.edge_drawing_lines, {}),
    (isoline.edge_drawing_ellipses, {})])
def test_progress_of_two_calls_is_one(call, options):
    told, noise = [], numpy.random.default_rng(4).integers(0, 256, (4, 150, 200), numpy.uint8)
    call(noise, progress=lambda share, step: told.append((share, step)), **options)
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[0] <= 0.5 <= shares[-1] <= 1 and len({step for _, step in told}) > 1


@pytest.mark.parametrize("call, text", [
    (lambda surface, snake: surface.step(-1), "iterations must be from 0 to 18446744073709551615, but it is -1"),
    (lambda surface, snake: surface.step(2 ** 64 + 1), "iterations must be from 0"),
    (lambda surface, snake: surface.step(2.5), "iterations must be a whole number, but it is 2.5"),
    (lambda surface, snake: surface.statistics(-1), "first must be from 0"),
    (lambda surface, snake: snake.step(-1), "iterations must be from 0"),
    (lambda surface, snake: snake.curves(points_per_edge=2 ** 32), "points_per_edge must be from 1 to 1024, .* 4294967296"),
    (lambda surface, snake: snake.curves(points_per_edge=0), "points_per_edge must be from 1 to 1024, but it is 0"),
    (lambda surface, snake: snake.curves(longest_edge="a"), "longest_edge must be a number, but it is 'a'"),
    (lambda surface, snake: snake.curves(longest_edge=10 ** 400), "longest_edge must be a number from -1.8e308"),
    (lambda surface, snake: snake.context.distance_pass(IMAGE, 2 ** 32), "axis must be from 0 to 2, but it is 4294967296"),
    (lambda surface, snake: snake.context.distance_pass(IMAGE, -1), "axis must be from 0 to 2, but it is -1"),
    (lambda surface, snake: snake.context.set_memory_limit(-1), "limit must be from 0"),
    (lambda surface, snake: snake.context.buffer((-3, 4), "f4"), "a side of shape must be from 0 .* but it is -3"),
    (lambda surface, snake: snake.restart([[(5, 5), (2 ** 32 + 20, 5), (20, 20), (5, 20)]]), r"whole .*\(4294967316, 5\)"),
    (lambda surface, snake: snake.restart([[(0, 0), (3e9, 5), (5, 40)]]), r"of 32 bits.*\(got \(3000000000.0, "),
    (lambda surface, snake: snake.restart([[(0, 0), (numpy.inf, 5), (5, 40)]]), r"\(got \(inf, 5.0\)\)")])
def test_numbers_do_not_wrap(call, text):
    surface, snake = isoline.LevelSet(IMAGE, START, target=200, epsilon=50), isoline.Snake(IMAGE)
    with pytest.raises((ValueError, TypeError), match=text):
        call(surface, snake)


def test_progress_cancels():
    with pytest.raises(isoline.Cancelled) as caught:
        isoline.edge_strength(LARGE, progress=lambda *_: True, **LONG)
    assert caught.value.status == isoline.Status.CANCELLED

    def fails(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        isoline.edge_strength(LARGE, progress=fails, **LONG)


def test_a_cancelled_step_can_be_continued():
    told = []
    with isoline.LevelSet(IMAGE, START, target=200, epsilon=50, change_tolerance=0, rms_tolerance=0) as surface:
        with pytest.raises(isoline.Cancelled):
            surface.step(10 ** 9, progress=lambda share, _: told.append(share) or len(told) > 3)
        done = surface.state().iterations
        surface.step(10)
        assert surface.state().iterations == done + 10


def test_a_bar_shows_progress(capsys):
    pytest.importorskip("tqdm")
    isoline.edge_strength(LARGE, iterations=300, progress=True)
    assert "100%" in capsys.readouterr().err


@pytest.fixture
def interrupts():
    """KeyboardInterrupt by SIGINT, which a shell makes programs in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("progress", [None, lambda *_: None])
def test_an_interrupt_ends_a_call(interrupts, progress):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        isoline.edge_strength(LARGE, progress=progress, **LONG)
    assert time.monotonic() - began < 10
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    timer.join()


def test_an_interrupt_ends_a_call_without_progress(interrupts):
    """The start of a level set, which tells no progress."""
    image = numpy.random.default_rng(0).integers(0, 256, (160, 400, 400), numpy.uint8)
    began, sent = time.monotonic(), []
    isoline.LevelSet(image, image > 100, device="cpu").close()
    whole = time.monotonic() - began

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted():
        timer = threading.Timer(0.2 * whole, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                isoline.LevelSet(image, image > 100, device="cpu")
        timer.join()
        return time.monotonic() - sent[-1]

    # Other processes may delay a thread.
    assert min(interrupted() for _ in range(3)) < max(0.15, 0.5 * whole)
    # No later call is ended.
    isoline.distance(IMAGE, device="cpu")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and signal.set_wakeup_fd(-1) == -1


def test_an_interrupt_ends_one_call(interrupts):
    """Python's handler may have seen it before the thread that waits for signals runs."""
    noise = numpy.random.default_rng(0).integers(0, 256, (200, 200), numpy.uint8)
    for _ in range(20):
        sent = []

        def tell(*_, sent=sent):
            if not sent:
                sent.append(os.kill(os.getpid(), signal.SIGINT))

        with pytest.raises(KeyboardInterrupt):
            isoline.edge_strength(noise, iterations=500, device="cpu", progress=tell)
        try:
            isoline.isolines(noise, [100], device="cpu")
        except KeyboardInterrupt:
            pytest.fail("the interrupt ended a second call")


def test_a_handler_of_the_program_stays(interrupts):
    noted = []
    signal.signal(signal.SIGINT, lambda *_: noted.append(1))
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    isoline.edge_strength(LARGE, progress=lambda *_: bool(noted) and time.sleep(0.01), iterations=3000, device="cpu")
    timer.join()
    assert noted


def test_signals_of_others_are_passed_on(interrupts):
    """The wakeup file is that of an event loop, say."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno())
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        isoline.edge_strength(LARGE, iterations=3000, device="cpu")
        timer.join()
        reader.settimeout(10)
        assert reader.recv(8) == bytes([signal.SIGTERM])
    finally:
        assert signal.set_wakeup_fd(-1) == writer.fileno()
        signal.signal(signal.SIGTERM, before)


def program(text):
    """The exit status and the output of a program in a process of its own."""
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("call", [
    "isoline.Snake(image, polygons, background='window').step()", "isoline.edge_strength(image, iterations=10 ** 6)",
    "isoline.LevelSet(image, image > 100, target=128, epsilon=200, change_tolerance=0, rms_tolerance=0).step(10 ** 6)"])
def test_a_process_ends_while_a_thread_computes(call):
    text = ("import numpy, isoline, threading, time\n"
            "image = numpy.random.default_rng(0).integers(0, 256, (4000, 300), numpy.uint8)\n"
            "polygons = [[(x, y), (x + 10, y), (x + 10, y + 10), (x, y + 10)] for x in range(0, 280, 3)\n"
            "            for y in range(0, 3980, 8)]\n"
            f"threading.Thread(target=lambda: {call}, daemon=True).start()\n"
            "time.sleep(0.4); print('here')")
    assert program(text) == (0, "here\n", "")


def test_an_object_that_is_closed_in_its_callback_is_freed_after_the_call():
    context, told = isoline.Context("cpu"), []
    field = isoline.edge_strength(LARGE, iterations=300, device=context, progress=lambda *_: context.close())
    assert numpy.array_equal(field, isoline.edge_strength(LARGE, iterations=300, device="cpu"))
    snake = isoline.Snake(IMAGE)
    snake.step(progress=lambda *_: told.append(snake.close()))
    surface = isoline.LevelSet(IMAGE, START, target=200, epsilon=50)
    surface.step(10, progress=lambda *_: told.append(surface.close()))
    assert told
    for one in (context, snake, surface):
        assert not one.finalizer.alive
        one.close()
    with pytest.raises(ValueError, match="cannot use this context: it is closed"):
        isoline.distance(IMAGE, device=context)
    with pytest.raises(ValueError, match="cannot use this snake: it is closed"):
        len(snake)


def test_an_object_that_another_thread_closes_is_freed_after_the_call():
    noise = numpy.random.default_rng(0).integers(0, 256, (1000, 300), numpy.uint8)
    starts = [[(x, y), (x + 10, y), (x + 10, y + 10), (x, y + 10)] for x in range(0, 280, 20) for y in range(0, 980, 20)]
    for made, call in (
            (lambda: isoline.Context("cpu"), lambda one: isoline.edge_strength(noise, iterations=500, device=one)),
            (lambda: isoline.Snake(noise, starts, background="window"), lambda one: one.step())):
        one, closed = made(), threading.Event()
        closer = threading.Timer(0.05, lambda one=one, closed=closed: (one.close(), closed.set()))
        closer.start()
        call(one)
        closer.join()
        assert closed.is_set() and not one.finalizer.alive


def test_objects_of_the_library_are_not_copied():
    for one in (isoline.Context("cpu"), isoline.LevelSet(IMAGE, START, target=200, epsilon=50), isoline.Snake(IMAGE)):
        for copying in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"cannot copy or pickle this {one.noun}: it is memory of this process"):
                copying(one)


def test_calls_of_other_threads_run_at_the_same_time():
    """The call of this thread lasts until the other thread, whose Python code runs meanwhile, says so."""
    done = threading.Event()
    other = threading.Thread(target=lambda: (isoline.distance(IMAGE, device=isoline.Context("cpu")), done.set()))
    other.start()
    with pytest.raises(isoline.Cancelled):
        isoline.edge_strength(LARGE, progress=lambda *_: done.is_set(), **LONG)
    other.join()


def test_a_process_ends_with_solvers_and_contexts_open():
    text = ("import numpy, isoline; image = numpy.eye(20, dtype=numpy.uint8)\n"
            "surface = isoline.LevelSet(image, image, target=1, epsilon=0.5); surface.step(3); print('here')")
    assert program(text) == (0, "here\n", "")


def test_the_flag_of_a_thread_cancels_its_calls():
    with isoline.CancelFlag() as flag:
        isoline.distance(LARGE, device="cpu")
        timer = threading.Timer(0.2, flag.set)
        timer.start()
        began = time.monotonic()
        with pytest.raises(isoline.Cancelled):
            isoline.edge_strength(LARGE, threshold=0, **LONG)
        assert 0.1 < time.monotonic() - began < 30
        with pytest.raises(isoline.Cancelled):
            isoline.distance(LARGE, device="cpu")
        flag.clear()
        isoline.distance(LARGE, device="cpu")
        flag.set()
    isoline.distance(LARGE, device="cpu")


def test_flags_within_one_another():
    """Any of them ends the calls, and the outer one goes on after the inner one."""
    with isoline.CancelFlag() as outer:
        with isoline.CancelFlag() as inner:
            isoline.distance(LARGE, device="cpu")
            for flag in (outer, inner):
                flag.set()
                with pytest.raises(isoline.Cancelled):
                    isoline.edge_strength(LARGE, **LONG)
                flag.clear()
            isoline.distance(LARGE, device="cpu")
            inner.set()
        isoline.distance(LARGE, device="cpu")
        outer.set()
        with pytest.raises(isoline.Cancelled):
            isoline.edge_strength(LARGE, **LONG)
    isoline.distance(LARGE, device="cpu")
