// Edge drawing: the segments of an edge map, as src/edge_drawing/segments/ defines them, in two cooperative kernels.
//
// `thin` removes pixels from the sides of wide edges, and then the spurs of one pixel. Two pixels of the thinned map are
// linked if they are 4-neighbours, or diagonal neighbours without a common 4-neighbour. A link is counted from either of
// its pixels: all links in the raster order of their pixels, those of one pixel in the raster order of its neighbours,
// have numbers from 0 on. A pixel without links has a number too.
//
// `chain` finds for each link the node at which the chain through that link ends, and the number of steps to it, by pointer
// jumping: each link takes over the target of the link that it leads to. A chain has a link at each of its two end nodes;
// it begins with the smaller of the two. So the order of these first links is the canonical order of segments, and prefix
// sums over them give the positions of segments and points.
#pragma once
#include "edge_drawing_word.cuh"
#include <cooperative_groups.h>
#include <cub/block/block_scan.cuh>

// The state of a link: the link that it leads to, and the number of steps to that link's pixel. With the bit END the chain
// ends there, at a node, and the link is the one that leads back.
constexpr u32 END = 0x80000000u;
// The mark, in place of a segment's number, of chains with too few points.
constexpr u32 NO_SEGMENT = 0xFFFFFFFFu;
// The number of links that a thread follows before it stores the new state.
constexpr int JUMPS = 3;

// Returns the sum of the values of a block's threads before this one, and the sum of all.
__device__ __forceinline__ u64 block_exclusive_sum(u64 value, u64 *total)
{
    using Scan = cub::BlockScan<u64, SEGMENT_THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ Scan::TempStorage storage;
    Scan(storage).ExclusiveSum(value, value, *total);
    __syncthreads();   // The next use overwrites `storage`.
    return value;
}

// A barrier of the grid that also computes whether a condition is true in any thread. Three words take turns: one is
// written, one may still be read after the last barrier, and one is cleared for the next barrier.
class GridVote {
public:
    __device__ explicit GridVote(u32 *words_) : words(words_)
    {
        if (is_first_thread()) words[0] = words[LOOP_COUNT] = 0;
        sync();
    }
    // Waits for all threads alone.
    __device__ void sync() const { cooperative_groups::this_grid().sync(); }
    // Returns whether `first` was true in any thread, as bit 0, and `second`, as bit 1.
    __device__ u32 any(bool first, bool second = false)
    {
        u32 *word = words + turn % 3;
        turn++;
        if (is_first_thread()) words[turn % 3] = 0;
        const u32 own = (__syncthreads_or(first) ? 1 : 0) | (__syncthreads_or(second) ? 2 : 0);
        if (threadIdx.x == 0 && own != 0) atomicOr(word, own);
        sync();
        return __ldcg(word);
    }

private:
    __device__ static bool is_first_thread() { return blockIdx.x == 0 && threadIdx.x == 0; }
    u32 *words;
    u32 turn = 0;
};

// A part of a list, which one block processes.
struct Range {
    u32 first, end;
};

// Returns the block's part of `count` elements, so that prefix sums run over blocks in order.
__device__ __forceinline__ Range range_of_block(u32 count)
{
    const u32 tiles = count / SEGMENT_THREADS + 1;
    const u64 each = static_cast<u64>((tiles + gridDim.x - 1) / gridDim.x) * SEGMENT_THREADS;
    const u64 first = blockIdx.x * each, end = first + each;
    return Range{static_cast<u32>(min(first, static_cast<u64>(count))), static_cast<u32>(min(end, static_cast<u64>(count)))};
}

// The neighbours of 32 pixels, in raster order, and the pixels themselves.
struct Neighbours {
    u32 here, of[8];
};

__device__ __forceinline__ Neighbours neighbours(const u32 *bits, const isoline_ed_job &job, u32 index)
{
    const u32 pitch = job.bit_pitch, y = index / pitch, word = index - y * pitch;
    const bool has_west = word > 0, has_east = word + 1 < pitch;
    Neighbours found;
    u32 row[3], west[3], east[3];
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
        const bool inside = i == 1 || (i == 0 ? y > 0 : y + 1 < job.height);
        const u32 *at = bits + index + (i - 1) * static_cast<long long>(pitch);
        row[i] = inside ? at[0] : 0;
        west[i] = __funnelshift_l(inside && has_west ? at[-1] : 0, row[i], 1);
        east[i] = __funnelshift_r(row[i], inside && has_east ? at[1] : 0, 1);
    }
    found.here = row[1];
    found.of[0] = west[0], found.of[1] = row[0], found.of[2] = east[0];
    found.of[3] = west[1], found.of[4] = east[1];
    found.of[5] = west[2], found.of[6] = row[2], found.of[7] = east[2];
    return found;
}

// The links of 32 pixels to each of their neighbours, in raster order.
struct Links {
    u32 to[8];
};

__device__ __forceinline__ Links links_of(const Neighbours &around)
{
    const u32 *n = around.of, here = around.here, north = n[1], west = n[3], east = n[4], south = n[6];
    return Links{{here & n[0] & ~(north | west), here & north, here & n[2] & ~(north | east), here & west, here & east,
                  here & n[5] & ~(south | west), here & south, here & n[7] & ~(south | east)}};
}

// The numbers of links of 32 pixels, as three binary digits of each.
struct LinkCounts {
    u32 ones, twos, fours;
};

__device__ __forceinline__ LinkCounts count_links(const Links &links)
{
    LinkCounts counts = {};
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        const u32 carry = counts.ones & links.to[k];
        counts.ones ^= links.to[k];
        counts.fours |= counts.twos & carry;
        counts.twos ^= carry;
    }
    return counts;
}

// ------------------------------------------------------------------------------------------------ thin

// Returns the pixels that stay when edges are thinned from one side, which is SIDE quarter turns from the north.
template <int SIDE>
__device__ __forceinline__ u32 thinned(const Neighbours &around)
{
    constexpr int RING[8] = {1, 2, 4, 7, 6, 5, 3, 0};
    auto at = [&](int k) { return around.of[RING[(2 * SIDE + k) % 8]]; };
    const u32 n = at(0), ne = at(1), e = at(2), se = at(3), s = at(4), sw = at(5), w = at(6), nw = at(7);
    // The neighbours are connected when exactly one side is open and followed by an edge.
    const u32 a = ~e & (ne | n), b = ~n & (nw | w), c = ~w & (sw | s), d = ~s & (se | e);
    const u32 one_piece = (a ^ b ^ c ^ d) & ~((a & b) | (c & d));
    return around.here & ~(~n & s & ((w & sw) | (e & se)) & one_piece);
}

// Thins a map from one side; pixels at this border of the image stay. Returns whether the thread changed a pixel.
template <int SIDE>
__device__ bool thin_side(const isoline_ed_job &job, u32 words, const u32 *from, u32 *to)
{
    bool changed = false;
    for (u32 i = blockIdx.x * SEGMENT_THREADS + threadIdx.x; i < words; i += gridDim.x * SEGMENT_THREADS) {
        const Neighbours around = neighbours(from, job, i);
        const u32 pitch = job.bit_pitch, y = i / pitch, word = i - y * pitch;
        u32 border = 0;
        if ((SIDE == 0 && y == 0) || (SIDE == 2 && y == job.height - 1)) border = ALL_LANES;
        if (SIDE == 1 && word == (job.width - 1) / 32) border = 1u << (job.width - 1) % 32;
        if (SIDE == 3 && word == 0) border = 1;
        to[i] = thinned<SIDE>(around) | (around.here & border);
        changed |= to[i] != around.here;
    }
    return changed;
}

// A cooperative launch. It reads and writes two maps of bits four times a round.
__device__ __forceinline__ void thin_kernel(const isoline_ed_job &job, const isoline_ed_segments &out)
{
    const u32 words = job.bit_pitch * job.height, step = gridDim.x * SEGMENT_THREADS;
    const u32 first = blockIdx.x * SEGMENT_THREADS + threadIdx.x;
    u32 *map = out.thinned, *other = job.pending;
    GridVote vote(out.votes);
    // 1. Copy the map without the bits beyond the image.
    for (u32 i = first; i < words; i += step) {
        const u32 x = i % static_cast<u32>(job.bit_pitch) * 32;
        map[i] = job.bits[i] & (job.width - x < 32 ? (1u << (job.width - x)) - 1 : ALL_LANES);
    }
    vote.sync();
    // 2. Thin it from the north, the south, the west and the east until nothing changes.
    for (u32 round = 0; round < MAX_ROUNDS; ++round) {
        bool changed = thin_side<0>(job, words, map, other);
        vote.sync();
        changed |= thin_side<2>(job, words, other, map);
        vote.sync();
        changed |= thin_side<3>(job, words, map, other);
        vote.sync();
        changed |= thin_side<1>(job, words, other, map);
        if (!vote.any(changed)) break;
    }
    // 3. Mark the junctions, pixels of more than two links.
    for (u32 i = first; i < words; i += step) {
        const LinkCounts counts = count_links(links_of(neighbours(map, job, i)));
        other[i] = (counts.ones & counts.twos) | counts.fours;
    }
    vote.sync();
    // 4. Remove the ends that are linked to junctions: the spurs of one pixel.
    for (u32 i = first; i < words; i += step) {
        const Links links = links_of(neighbours(map, job, i));
        const LinkCounts counts = count_links(links);
        const Neighbours junctions = neighbours(other, job, i);
        u32 to_junction = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) to_junction |= links.to[k] & junctions.of[k];
        out.pruned[i] = map[i] & ~(counts.ones & ~counts.twos & ~counts.fours & to_junction);
    }
    vote.sync();
    // 5. Number the links: each word gets the number of links before it, and the digits of its pixels' numbers of links.
    //    A block counts from its own first word on.
    const Range range = range_of_block(words);
    uint4 *numbers = static_cast<uint4 *>(out.numbers);
    u64 before = 0, total;
    for (u32 tile = range.first; tile < range.end; tile += SEGMENT_THREADS) {
        const u32 i = tile + threadIdx.x;
        LinkCounts counts = {};
        if (i < range.end) {
            const Neighbours around = neighbours(out.pruned, job, i);
            counts = count_links(links_of(around));
            counts.ones |= around.here & ~(counts.twos | counts.fours);   // A pixel without links counts as one.
        }
        const u32 own = __popc(counts.ones) + 2 * __popc(counts.twos) + 4 * __popc(counts.fours);
        const u64 sum = before + block_exclusive_sum(own, &total);
        if (i < range.end) numbers[i] = make_uint4(static_cast<u32>(sum), counts.ones, counts.twos, counts.fours);
        before += total;
    }
    if (threadIdx.x == 0) out.sums[blockIdx.x] = before;
    vote.sync();
    // 6. Add the links of the blocks before. The last block then knows the number of all.
    before = 0;
    for (u32 block = threadIdx.x; block < blockIdx.x; block += SEGMENT_THREADS) before += __ldcg(&out.sums[block]);
    block_exclusive_sum(before, &total);
    for (u32 i = range.first + threadIdx.x; i < range.end; i += SEGMENT_THREADS) numbers[i].x += static_cast<u32>(total);
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *out.link_count = total + out.sums[blockIdx.x];
}

// ------------------------------------------------------------------------------------------------ chain

// A link of a pixel: where the pixel is, and which of its links this is.
struct Link {
    u32 word;   // the word of the map that has the pixel
    u32 bits;   // from the lowest bit on: the pixel of the word (5), the neighbour (3), the number among the pixel's links
                // (3), their count (4), and CUT

    static constexpr u32 CUT = 1u << 15;   // The pixel is the first one of a loop, which begins and ends there.

    __device__ Link(u32 word_, u32 pixel, u32 k, u32 number, u32 count)
        : word(word_), bits(pixel | k << 5 | number << 8 | count << 11)
    {
    }
    __device__ explicit Link(uint2 stored) : word(stored.x), bits(stored.y) {}
    __device__ u32 x(const isoline_ed_job &job) const { return word % static_cast<u32>(job.bit_pitch) * 32 + bits % 32; }
    __device__ u32 y(const isoline_ed_job &job) const { return word / static_cast<u32>(job.bit_pitch); }
    __device__ u32 neighbour() const { return bits >> 5 & 7; }
    __device__ u32 number() const { return bits >> 8 & 7; }
    __device__ u32 count() const { return bits >> 11 & 15; }
    __device__ bool is_node() const { return count() != 2 || (bits & CUT); }
};

// One call of `chain`, with what its phases need.
struct Chaining {
    const isoline_ed_job &job;
    const isoline_ed_segments &out;
    u32 links;

    // States may be read through the L1 cache, because an outdated state is still a true one.
    __device__ uint2 state(u32 link) const { return __ldca(static_cast<const uint2 *>(out.states) + link); }
    __device__ void set_state(u32 link, u32 x, u32 y) const
    {
        __stcg(static_cast<uint2 *>(out.states) + link, make_uint2(x, y));
    }
    __device__ Link link_of(u32 link) const { return Link(__ldca(static_cast<const uint2 *>(out.links) + link)); }
    __device__ void set_link(u32 link, Link to) const
    {
        __stcg(static_cast<uint2 *>(out.links) + link, make_uint2(to.word, to.bits));
    }

    // Calls f(link) for all links, or for those of loops, each in one thread of the grid.
    template <bool LOOPS = false, typename F>
    __device__ __forceinline__ void for_links(F f) const
    {
        const u32 count = LOOPS ? __ldcg(&out.votes[LOOP_COUNT]) : links;
        for (u32 i = blockIdx.x * SEGMENT_THREADS + threadIdx.x; i < count; i += gridDim.x * SEGMENT_THREADS)
            f(LOOPS ? out.loops[i] : i);
    }

    // Lists the links of all pixels. A pixel without links has one entry, whose count is 0.
    __device__ __forceinline__ void list_links() const
    {
        const u32 words = job.bit_pitch * job.height;
        for (u32 i = blockIdx.x * SEGMENT_THREADS + threadIdx.x; i < words; i += gridDim.x * SEGMENT_THREADS) {
            u32 bits = out.pruned[i];
            if (bits == 0) continue;
            const Links around = links_of(neighbours(out.pruned, job, i));
            u32 link = __ldcg(static_cast<const uint4 *>(out.numbers) + i).x;
            for (; bits; bits &= bits - 1) {
                const u32 pixel = __ffs(bits) - 1;
                u32 own = 0;
                #pragma unroll
                for (int k = 0; k < 8; ++k) own |= (around.to[k] >> pixel & 1) << k;
                const u32 count = __popc(own);
                if (count == 0) set_link(link++, Link(i, pixel, 0, 0, 0));
                for (u32 number = 0; number < count; ++number, own &= own - 1)
                    set_link(link++, Link(i, pixel, __ffs(own) - 1, number, count));
            }
        }
    }

    // Returns the target of a link in one step: if the neighbour has two links, the other one of them, else the end of the
    // chain.
    __device__ __forceinline__ u32 next(Link own) const
    {
        const u32 k = own.neighbour(), place = k < 4 ? k : k + 1, back = 7 - k;
        const u32 x = own.x(job) + place % 3 - 1, y = own.y(job) + place / 3 - 1, bit = x % 32, below = (1u << bit) - 1;
        const uint4 number = __ldca(static_cast<const uint4 *>(out.numbers) + y * static_cast<u32>(job.bit_pitch) + x / 32);
        u32 to = number.x + __popc(number.y & below) + 2 * __popc(number.z & below) + 4 * __popc(number.w & below);
        Link there = link_of(to);
        if (!there.is_node()) return there.neighbour() == back ? to + 1 : to;
        while (there.neighbour() != back) there = link_of(++to);
        return END | to;
    }

    // Writes the first state of a link.
    __device__ __forceinline__ void begin_link(u32 link) const
    {
        const Link own = link_of(link);
        if (own.count() == 0) set_state(link, END | link, 0);
        else set_state(link, next(own), 1);
    }

    // Follows links to the ends of their chains. Returns whether some chains have no end. A thread may read a state before
    // or after another thread changes it: both states are true.
    template <bool LOOPS>
    __device__ __forceinline__ bool find_ends(GridVote &vote) const
    {
        u32 found;
        do {
            bool open = false, ended = false;
            for_links<LOOPS>([&](u32 link) {
                uint2 own = state(link);
                if (own.x & END) return;
                for (int jump = 0; jump < JUMPS && !(own.x & END); ++jump) {
                    const uint2 ahead = state(own.x);
                    own = make_uint2(ahead.x, own.y + ahead.y);
                }
                set_state(link, own.x, own.y);
                (own.x & END ? ended : open) = true;
            });
            found = vote.any(open, ended);
        } while (found == 3);
        // In each pass the link nearest to the end of a chain finds it, so if none does, only loops are left.
        return found & 1;
    }

    // Lists the links of loops, in any order.
    __device__ __forceinline__ void list_loops() const
    {
        for_links([&](u32 link) {
            if (!(state(link).x & END)) out.loops[atomicAdd(&out.votes[LOOP_COUNT], 1u)] = link;
        });
    }

    // Finds for each link of a loop the smallest link of the loop in the same direction, and stores it in the state in
    // place of the number of steps.
    __device__ __forceinline__ void find_smallest(GridVote &vote) const
    {
        for_links<true>([&](u32 link) { set_state(link, next(link_of(link)), link); });
        vote.sync();
        bool changed;
        do {
            changed = false;
            for_links<true>([&](u32 link) {
                uint2 own = state(link);
                const u32 before = own.y;
                for (int jump = 0; jump < JUMPS; ++jump) {
                    const uint2 ahead = state(own.x);
                    own = make_uint2(ahead.x, min(own.y, ahead.y));
                }
                set_state(link, own.x, own.y);
                changed |= own.y != before;
            });
        } while (vote.any(changed));
    }

    // Makes the first pixels of loops nodes.
    __device__ __forceinline__ void cut_loops() const
    {
        for_links<true>([&](u32 link) {
            Link own = link_of(link);
            const u32 first = link - own.number();
            if (state(first).y != first) return;
            own.bits |= Link::CUT;
            set_link(link, own);
        });
    }

    // Returns whether the chain from a link to the link `last` ends at the pixel where it begins and has further points.
    __device__ static bool is_closed(u32 link, Link own, u32 last)
    {
        const u32 first = link - own.number();
        return last != link && last >= first && last < first + own.count();
    }

    // Returns the number of points of the segment that begins with a link; 0 if no segment does, or if it is too short.
    __device__ __forceinline__ u32 length(u32 link) const
    {
        const Link own = link_of(link);
        if (!own.is_node()) return 0;
        const uint2 chain = state(link);
        const u32 last = chain.x & ~END, points = chain.y + (is_closed(link, own, last) ? 0 : 1);
        return last >= link && points >= out.min_length ? points : 0;
    }

    // Begins the segment of a link, if there is one: writes its properties, and stores the position of its points and its
    // number in the link's state. `sum` has the number of points of all previous segments, and in its upper half the number
    // of these segments.
    __device__ __forceinline__ void begin_segment(u32 link, u64 sum, u64 segments, u64 points) const
    {
        const Link own = link_of(link);
        const u32 last = state(link).x & ~END, own_points = length(link);
        if (!own.is_node() || last < link) return;
        if (own_points == 0) {
            set_state(link, 0, NO_SEGMENT);
            return;
        }
        const u32 segment = sum >> 32, at = static_cast<u32>(sum);
        out.offsets[segments + segment + 1] = points + at + own_points;
        out.flags[segments + segment] = is_closed(link, own, last) ? SEGMENT_CLOSED : 0;
        out.slices[segments + segment] = out.slice;
        out.gradients[segment] = 0;
        set_state(link, at, segment);
    }

    // Writes a link's pixel as point `steps` of the segment whose first link has the state `begin`.
    __device__ __forceinline__ void write_point(Link link, uint2 begin, u32 steps, u64 points) const
    {
        if (begin.y == NO_SEGMENT) return;
        const u32 x = link.x(job), y = link.y(job);
        static_cast<uint2 *>(out.points)[points + begin.x + steps] = make_uint2(x, y);
        const u64 at = y * job.map_pitch + x;
        const u32 gradient = out.wide ? static_cast<const u32 *>(job.map)[at] & Word<u32>::GRADIENT
                                      : static_cast<const unsigned short *>(job.map)[at] & Word<unsigned short>::GRADIENT;
        atomicAdd(&out.gradients[begin.y], static_cast<u64>(gradient >> GRADIENT_SHIFT));
    }

    // Writes the points of all segments. A node is written as the end of each of its chains; every other pixel is written
    // once, by its first link.
    __device__ __forceinline__ void write_points(u64 points) const
    {
        for_links([&](u32 link) {
            const Link own = link_of(link);
            const uint2 chain = state(link);
            const u32 last = chain.x & ~END;
            if (own.is_node()) {
                if (!(chain.x & END)) write_point(own, chain, 0, points);
                else if (!is_closed(link, own, last)) write_point(own, state(last), chain.y, points);
            } else if (own.number() == 0) {
                const uint2 other = state(link + 1);
                const uint2 nearer = chain.x < other.x ? chain : other;
                write_point(own, state(nearer.x & ~END), nearer.y, points);
            }
        });
    }
};

// A cooperative launch for one slice; slices follow one another, and `totals` has the numbers of segments and points of the
// previous slices.
__device__ __forceinline__ void chain_kernel(const isoline_ed_job &job, const isoline_ed_segments &out)
{
    const u64 segments = out.totals[0], points = out.totals[1];
    GridVote vote(out.votes);
    const Chaining chains{job, out, static_cast<u32>(*out.link_count)};
    // 1. List the links, and give each its first state: the link that it leads to in one step.
    chains.list_links();
    vote.sync();
    chains.for_links([&](u32 link) { chains.begin_link(link); });
    vote.sync();
    // 2. Find the ends of all chains. Loops have none: cut them at their first pixels, and follow their links once more.
    if (chains.find_ends<false>(vote)) {
        chains.list_loops();
        vote.sync();
        chains.find_smallest(vote);
        chains.cut_loops();
        vote.sync();
        chains.for_links<true>([&](u32 link) { chains.begin_link(link); });
        vote.sync();
        chains.find_ends<true>(vote);
    }
    // 3. Count the segments that begin in each block, in the upper half of a sum, and their points in the lower half.
    const Range range = range_of_block(chains.links);
    auto count = [&](u32 link) {
        const u32 own = link < range.end ? chains.length(link) : 0;
        return own > 0 ? 1ull << 32 | own : 0ull;
    };
    u64 before = 0, total, all;
    for (u32 link = range.first + threadIdx.x; link < range.end; link += SEGMENT_THREADS) before += count(link);
    block_exclusive_sum(before, &total);
    if (threadIdx.x == 0) out.sums[blockIdx.x] = total;
    vote.sync();
    // 4. Sum these over the blocks before this one, for the block's first position, and over all blocks.
    u64 blocks_before = 0, blocks_all = 0;
    for (u32 block = threadIdx.x; block < gridDim.x; block += SEGMENT_THREADS) {
        const u64 sum = __ldcg(&out.sums[block]);
        blocks_before += block < blockIdx.x ? sum : 0;
        blocks_all += sum;
    }
    block_exclusive_sum(blocks_before, &before);
    block_exclusive_sum(blocks_all, &all);
    // 5. Begin the segments in the order of their first links. Prefix sums give each its number and its first point.
    for (u32 tile = range.first; tile < range.end; tile += SEGMENT_THREADS) {
        const u32 link = tile + threadIdx.x;
        const u64 sum = before + block_exclusive_sum(count(link), &total);
        if (link < range.end) chains.begin_segment(link, sum, segments, points);
        before += total;
    }
    vote.sync();
    // 6. Write the points, and add their gradients to those of their segments, once all segments have a position.
    chains.write_points(points);
    vote.sync();
    // 7. Divide the sums of gradients by the numbers of points.
    const u32 found = all >> 32;
    for (u32 i = blockIdx.x * SEGMENT_THREADS + threadIdx.x; i < found; i += gridDim.x * SEGMENT_THREADS) {
        const u64 at = segments + i, begin = i > 0 ? out.offsets[at] : points;
        const double mean = __ddiv_rn(__ull2double_rn(__ldcg(&out.gradients[i])), __ull2double_rn(out.offsets[at + 1] - begin));
        out.mean_gradients[at] = __double2float_rn(fmin(__dmul_rn(mean, out.unit), MAX_FLOAT));
    }
    // 8. Add the slice to the totals, from which the next slice goes on.
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        out.totals[0] = segments + found;
        out.totals[1] = points + static_cast<u32>(all);
    }
}
