package io.github.isoline;

/** What {@link Snake} asks. The fields start at the library's defaults. */
public final class SnakeParams {
    /** How pixels scatter round the mean of their region, in the order of the C API's numbers. */
    public enum Noise {
        /** Mean and variance of each region are its own. */
        GAUSSIAN,
        /** Counted photons. */
        POISSON,
        /** Intensities of speckle. */
        GAMMA,
        /** Amplitudes of speckle. */
        RAYLEIGH,
        /** Pixels are 0 or not. */
        BERNOULLI
    }

    /** In which order places are tried, in the order of the C API's numbers. */
    public enum Schedule {
        /** Even nodes at once, then odd ones. */
        PARALLEL,
        /** Node after node; on the CPU only. */
        SEQUENTIAL
    }

    /** What a target is held against, in the order of the C API's numbers. */
    public enum Background {
        /** All of the image outside this target. */
        IMAGE,
        /** A window round its start. */
        WINDOW
    }

    /** The model of the noise. */
    public Noise noise = Noise.GAUSSIAN;

    /** The order in which places are tried. */
    public Schedule schedule = Schedule.PARALLEL;

    /** What a target is held against. */
    public Background background = Background.IMAGE;

    /** d at the start, in pixels: a power of two from 1 to 4096. */
    public int largestStep = 32;

    /** The most nodes of a target, 3 to 65536. */
    public int maxNodes = 1024;

    /** The most steps of a target. */
    public long maxIterations = 10_000;

    /** L of {@link Noise#GAMMA}, 1 or more: how many looks were averaged. */
    public double looks = 1;

    /** Of {@link Background#WINDOW}: its width round the start, in longer sides of the start. */
    public double margin = 0.5;

    /** Edges longer than this get another node, in pixels, 2 or more. */
    public double nodeSpacing = 16;

    /** What a node costs, in logarithms of the number of pixels that it is placed among. */
    public double nodeCost = 0.5;

    /**
     * Float pixels only: the value of step 0 of the 65536 that are computed with. Both ends 0: the
     * smallest and the largest finite pixel.
     */
    public double rangeMin;

    /** Float pixels only: the value of step 65535. */
    public double rangeMax;

    SnakeParamsStruct struct() throws IsolineException {
        SnakeParamsStruct params = new SnakeParamsStruct();
        Status.check(IsolineLibrary.isoline_snake_params_init(params, params.size()));
        // Java has no unsigned numbers: a negative one would become a very large one.
        checkNotNegative("largest step", largestStep);
        checkNotNegative("most nodes", maxNodes);
        checkNotNegative("most iterations", maxIterations);
        params.noise = noise.ordinal();
        params.schedule = schedule.ordinal();
        params.background = background.ordinal();
        params.largest_step = largestStep;
        params.max_nodes = maxNodes;
        params.max_iterations = maxIterations;
        params.looks = looks;
        params.margin = margin;
        params.node_spacing = nodeSpacing;
        params.node_cost = nodeCost;
        params.range_min = rangeMin;
        params.range_max = rangeMax;
        return params;
    }

    private static void checkNotNegative(String name, long value) throws IsolineException {
        if (value < 0) {
            throw new IsolineException("The " + name + " must be 0 or more, got " + value);
        }
    }
}
