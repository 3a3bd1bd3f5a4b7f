// One question x, or few: a lane is a query point, a block has the 32 points of a tile, a grid row is a question.
// The block's warps share the candidate tiles, so that a point far from all others does not keep one warp busy alone.

constexpr int WIDTH = D + DX, PAD = 16 / sizeof(Real);

struct alignas(16) Candidate {
    Real at[(WIDTH + PAD - 1) / PAD * PAD];  // z, y, x
};

struct Queue {
    Candidate points[QUEUE];
    int who[QUEUE], times[QUEUE];
};

struct Shared {
    Queue queues[WARPS];
    Real d[WARPS][K][TILE];      // the k nearest that each warp has found
    int who[WARPS][KEPT][TILE];
    int counts[4][TILE];
};

// Distance along the columns FIRST .. LAST - 1.
template <int FIRST, int LAST>
__device__ inline Real separation(const Candidate& a, const Candidate& b) {
    Real d = FIRST < LAST ? fabs(a.at[FIRST] - b.at[FIRST]) : 0;
#pragma unroll
    for (int c = FIRST + 1; c < LAST; c++) d = larger(d, fabs(a.at[c] - b.at[c]));
    return d;
}

__device__ inline Candidate fetch(const Points& p, const Real* x, int j) {
    Candidate point;
#pragma unroll
    for (int c = 0; c < D; c++) point.at[c] = p.get(c, j);
#pragma unroll
    for (int c = 0; c < DX; c++) point.at[D + c] = x[(size_t)j * DX + c];
    return point;
}

// Queue the points of a tile within `reach` of the box along the first C columns; return the new length.
template <int C>
__device__ inline int enqueue(const Points& p, const Real* x, Queue& queue, int filled, int tile, const Real* low,
                              const Real* high, Real reach) {
    int j = tile * TILE + lane();
    Real d = 0;
#pragma unroll
    for (int c = 0; c < C; c++) {
        Real v = p.get(c, j);
        d = larger(d, larger(low[c] - v, v - high[c]));
    }
    bool keep = j < p.n && (C == 0 || inside(d, reach));
    unsigned kept = __ballot_sync(ALL, keep);
    if (keep) {
        int slot = filled + __popc(kept & ((1u << lane()) - 1));
        queue.points[slot] = fetch(p, x, j);
        queue.who[slot] = j;
        if (TIMED) queue.times[slot] = p.times[j];
    }
    return filled + __popc(kept);
}

// The k nearest of all warps together.
__device__ inline Nearest merge(Shared& shared, const Nearest& mine, const int* order) {
    const int warp = threadIdx.x / TILE;
    __syncthreads();
#pragma unroll
    for (int m = 0; m < K; m++) shared.d[warp][m][lane()] = mine.d[m];
#pragma unroll
    for (int m = 0; m < KEPT; m++) shared.who[warp][m][lane()] = mine.who[m];
    __syncthreads();
    Nearest all;
    all.clear();
    for (int w = 0; w < WARPS; w++)
        for (int m = 0; m < K; m++) {
            Real d = shared.d[w][m][lane()];
            int j = shared.who[w][m % KEPT][lane()];
            if ((MODE != RECTANGLE || j >= 0) && inside(d, all.radius())) all.add(d, j, order);
        }
    return all;
}

extern "C" __global__ void __launch_bounds__(WARPS* TILE)
one(const Real* at, const Real* low, const Real* high, const int* times, const int* order, const int* turn, int n,
    int tiles, int span, int theiler, const Real* x, Real radius, int questions, int* counts, const long long* plus,
    const long long* minus, long long* sums) {
    __shared__ Shared shared;
    const int warp = threadIdx.x / TILE, home = turn[blockIdx.x];
    Queue& queue = shared.queues[warp];
    const Points p{at, low, high, times, order, turn, n, tiles, span, theiler};
    const Answers answers{counts, plus, minus, sums, questions};
    const int i = min(home * TILE + lane(), n - 1), time = TIMED ? times[i] : 0;  // lanes beyond the end repeat the last point
    x += (size_t)blockIdx.y * p.padded() * DX;
    const Candidate mine = fetch(p, x, i);
    Real box_low[D], box_high[D];
#pragma unroll
    for (int c = 0; c < D; c++) {
        box_low[c] = low[c * tiles + home];
        box_high[c] = high[c * tiles + home];
    }
    if (warp == 0)
        for (int kind = 0; kind < 4; kind++) shared.counts[kind][lane()] = 0;

    Real rx = radius, ry = radius, rz = radius, reach = infinite();
    int filled = 0;
    if (MODE != BOX) {  // the k-th neighbour in (x, y, z)
        Nearest best, all;
        best.clear();
        Real bound = infinite();
        auto search = [&]() {
            __syncwarp();
#pragma unroll 2
            for (int e = 0; e < filled; e++) {
                Real d = separation<0, WIDTH>(mine, queue.points[e]);
                if (inside(d, bound)) {
                    int j = queue.who[e];
                    if (p.admits(i, j, time, queue.times[e])) {
                        best.add(d, j, order);
                        bound = fmin(bound, best.radius());
                    }
                }
            }
            __syncwarp();
            filled = 0;
            reach = widest(bound);
        };
        // Nearest kin first; each time as many tiles again, with a bound from all that was seen.
        for (int from = 0, to = TILE * WARPS; from < span; from = to, to *= 2) {
            walk<D, WARPS>(p, home, warp, from, to, box_low, box_high, [&]() { return reach; }, [&](int tile) {
                filled = enqueue<D>(p, x, queue, filled, tile, box_low, box_high, reach);
                if (filled >= TILE) search();
            });
            search();
            all = merge(shared, best, order);
            bound = all.radius();
            reach = widest(bound);
        }
        rx = ry = rz = all.radius();
        if (MODE == TIED && rz > radius) {
            rz = 0;
            rx = ry = nothing();
        }
        if (MODE == RECTANGLE) {
            rx = ry = rz = 0;
#pragma unroll
            for (int m = 0; m < KEPT; m++) {
                if (all.who[m] < 0) continue;
                Candidate other = fetch(p, x, all.who[m]);
                rz = larger(rz, separation<0, DZ>(mine, other));
                ry = larger(ry, separation<DZ, D>(mine, other));
                rx = larger(rx, separation<D, WIDTH>(mine, other));
            }
        }
    }

    int n_xz = 0, n_yz = 0, n_z = 0, n_xyz = 0;
    reach = widest(rz);
    auto count = [&]() {
        __syncwarp();
#pragma unroll 2
        for (int e = 0; e < filled; e++) {
            const Candidate& other = queue.points[e];
            if (DZ && !inside(separation<0, DZ>(mine, other), rz)) continue;
            if (!p.admits(i, queue.who[e], time, queue.times[e])) continue;
            bool in_x = inside(separation<D, WIDTH>(mine, other), rx);
            bool in_y = inside(separation<DZ, D>(mine, other), ry);
            n_z++;
            n_xz += in_x;
            n_yz += in_y;
            n_xyz += in_x && in_y;
        }
        __syncwarp();
        filled = 0;
    };
    walk<DZ, WARPS>(p, home, warp, 0, span, box_low, box_high, [&]() { return reach; }, [&](int tile) {
        filled = enqueue<DZ>(p, x, queue, filled, tile, box_low, box_high, reach);
        if (filled >= TILE) count();
    });
    count();
    __syncthreads();
    atomicAdd(&shared.counts[0][lane()], n_xz);
    atomicAdd(&shared.counts[1][lane()], n_yz);
    atomicAdd(&shared.counts[2][lane()], n_z);
    if (JOINT) atomicAdd(&shared.counts[3][lane()], n_xyz);
    __syncthreads();

    if (warp > 0) return;
    n_xz = shared.counts[0][lane()];
    n_yz = shared.counts[1][lane()];
    n_z = shared.counts[2][lane()];
    n_xyz = shared.counts[3][lane()];
    const bool real = home * TILE + lane() < n;
    if (counts) {
        if (real) answers.write(blockIdx.y, n, order[i], n_xz, n_yz, n_z, n_xyz);
        return;
    }
    long long total = real ? answers.value(n_xz, n_yz, n_z, n_xyz) : 0;
    for (int step = TILE / 2; step; step /= 2) total += __shfl_xor_sync(ALL, total, step);
    if (lane() == 0) answers.add(blockIdx.y, total);
}
