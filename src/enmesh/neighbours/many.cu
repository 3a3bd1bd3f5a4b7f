// Many questions x about the same points: a lane is a question, a warp has QUERIES neighbouring points.
// What does not depend on x is done once per warp: distances in y and z are computed with one candidate per lane and
// reach all 32 questions through the queue.

constexpr int XS = DX > 0 ? DX : 1;

struct Queue {
    alignas(16) Real z[QUEUE][QUERIES];   // distances to each query; for the search, of z and y together
    alignas(16) Real y[QUEUE][QUERIES];
    int who[QUEUE + 1];                   // one more, for the load ahead
    Real at[D][QUERIES];                  // the queries
    int times[QUERIES];
};

struct Question {
    const Real* x;  // this lane's column of (padded, DX, 32)

    __device__ void load(int position, Real* out) const {
        const Real* row = x + (size_t)position * (DX * TILE);
#pragma unroll
        for (int c = 0; c < DX; c++) out[c] = __ldg(row + c * TILE);
    }
};

__device__ inline Real separation(const Real* a, const Real* b) {
    Real d = DX ? fabs(a[0] - b[0]) : 0;
#pragma unroll
    for (int c = 1; c < DX; c++) d = larger(d, fabs(a[c] - b[c]));
    return d;
}

#if MODE == 1
#define WITHIN "setp.lt"
#else
#define WITHIN "setp.le"
#endif
#if DOUBLE
#define KIND ".f64 "
#define PLACE "d"
#else
#define KIND ".f32 "
#define PLACE "f"
#endif

// Count one candidate, without branches: the compiler makes four of them. Floats count exactly up to 2^24, and their
// additions go where comparisons do not.
__device__ inline void tally(float& n_z, float& n_xz, float& n_yz, float& n_xyz, Real z, Real rz, Real x, Real rx,
                             Real y, Real ry) {
    asm("{ .reg .pred in_z, in_xz, in_yz;\n" WITHIN KIND "in_z, %3, %4;\n" WITHIN ".and" KIND
        "in_xz, %5, %6, in_z;\n" WITHIN ".and" KIND "in_yz, %7, %8, in_z;\n"
        "@in_z add.f32 %0, %0, 0f3F800000;\n@in_xz add.f32 %1, %1, 0f3F800000;\n@in_yz add.f32 %2, %2, 0f3F800000; }"
        : "+f"(n_z), "+f"(n_xz), "+f"(n_yz)
        : PLACE(z), PLACE(rz), PLACE(x), PLACE(rx), PLACE(y), PLACE(ry));
    if (JOINT && z <= rz && x <= rx && y <= ry) n_xyz += 1;
}

// Queue the candidates of a tile that are within limit[q] of some query q; return the new length.
template <bool SEARCH>
__device__ inline int enqueue(const Points& p, Queue& queue, int filled, int first, int tile, const Real* limit) {
    int j = tile * TILE + lane(), time = TIMED ? p.times[j] : 0;
    Real z[QUERIES], y[QUERIES], v[D];
#pragma unroll
    for (int c = 0; c < D; c++) v[c] = p.get(c, j);
    bool keep = false;
#pragma unroll
    for (int q = 0; q < QUERIES; q++) {
        z[q] = y[q] = 0;
#pragma unroll
        for (int c = 0; c < DZ; c++) z[q] = larger(z[q], fabs(v[c] - queue.at[c][q]));
#pragma unroll
        for (int c = DZ; c < D; c++) y[q] = larger(y[q], fabs(v[c] - queue.at[c][q]));
        if (SEARCH) z[q] = larger(z[q], y[q]);
        if (!p.admits(min(first + q, p.n - 1), j, queue.times[q], time)) z[q] = nothing();
        keep |= !SEARCH && DZ == 0 ? z[q] == z[q] : inside(z[q], limit[q]);
    }
    unsigned kept = __ballot_sync(ALL, keep);
    if (keep) {
        int slot = filled + __popc(kept & ((1u << lane()) - 1));
        queue.who[slot] = j;
#pragma unroll
        for (int q = 0; q < QUERIES; q++) {
            queue.z[slot][q] = z[q];
            if (!SEARCH) queue.y[slot][q] = y[q];
        }
    }
    return filled + __popc(kept);
}

// Call use(slot, x of the candidate) for the whole queue; the next candidate is loaded meanwhile.
template <class Use>
__device__ inline void drain(Queue& queue, int filled, const Question& question, Use use) {
    if (!filled) return;
    if (lane() == 0) queue.who[filled] = 0;
    __syncwarp();
    Real x[XS], next[XS];
    question.load(queue.who[0], next);
#pragma unroll 1
    for (int e = 0; e < filled; e++) {
#pragma unroll
        for (int c = 0; c < DX; c++) x[c] = next[c];
        question.load(queue.who[e + 1], next);
        use(e, x);
    }
    __syncwarp();
}

extern "C" __global__ void __launch_bounds__(WARPS* TILE, RESIDENT)
many(const Real* at, const Real* low, const Real* high, const int* times, const int* order, const int* turn, int n,
     int tiles, int span, int theiler, const Real* x, Real radius, int questions, int* counts, const long long* plus,
     const long long* minus, long long* sums) {
    __shared__ Queue queues[WARPS];
    Queue& queue = queues[threadIdx.x / TILE];
    const Points p{at, low, high, times, order, turn, n, tiles, span, theiler};
    const Answers answers{counts, plus, minus, sums, questions};
    const int warp = blockIdx.x * WARPS + threadIdx.x / TILE, home = turn[warp / (TILE / QUERIES)];
    const int first = home * TILE + warp % (TILE / QUERIES) * QUERIES;
    if (first >= n) return;
    const Question question{x + (size_t)blockIdx.y * p.padded() * DX * TILE + lane()};

    for (int e = lane(); e < D * QUERIES; e += TILE)
        queue.at[e / QUERIES][e % QUERIES] = p.get(e / QUERIES, min(first + e % QUERIES, n - 1));
    if (TIMED && lane() < QUERIES) queue.times[lane()] = times[min(first + lane(), n - 1)];
    __syncwarp();
    Real box_low[D], box_high[D], mine[QUERIES][XS];
#pragma unroll
    for (int c = 0; c < D; c++) {
        box_low[c] = box_high[c] = queue.at[c][0];
#pragma unroll
        for (int q = 1; q < QUERIES; q++) {
            box_low[c] = min(box_low[c], queue.at[c][q]);
            box_high[c] = max(box_high[c], queue.at[c][q]);
        }
    }
#pragma unroll
    for (int q = 0; q < QUERIES; q++) question.load(min(first + q, n - 1), mine[q]);

    Real rx[QUERIES], ry[QUERIES], rz[QUERIES], limit[QUERIES], reach;
    int filled = 0;
    if (MODE != BOX) {  // the k-th neighbour in (x, y, z)
        Nearest best[QUERIES];
        reach = infinite();
#pragma unroll
        for (int q = 0; q < QUERIES; q++) {
            best[q].clear();
            limit[q] = reach;
        }
        auto search = [&]() {
            drain(queue, filled, question, [&](int e, const Real* other) {
#pragma unroll
                for (int q = 0; q < QUERIES; q++) {
                    // Votes make the branches the warp's: most candidates change no lane's list.
                    bool near = inside(queue.z[e][q], best[q].radius());
                    if (!__any_sync(ALL, near)) continue;
                    Real d = larger(queue.z[e][q], separation(mine[q], other));
                    near = near && inside(d, best[q].radius());
                    if (!__any_sync(ALL, near)) continue;
                    __syncwarp();  // keeps the compiler from issuing what follows for every candidate
                    if (near) best[q].add(d, queue.who[e], order);
                }
            });
            filled = 0;
            reach = 0;
#pragma unroll
            for (int q = 0; q < QUERIES; q++) {
                limit[q] = widest(best[q].radius());
                reach = larger(reach, limit[q]);
            }
        };
        walk<D, 1>(p, home, 0, 0, span, box_low, box_high, [&]() { return reach; }, [&](int tile) {
            filled = enqueue<true>(p, queue, filled, first, tile, limit);
            if (filled >= TILE) search();
        });
        search();
#pragma unroll
        for (int q = 0; q < QUERIES; q++) {
            rx[q] = ry[q] = rz[q] = best[q].radius();
            if (MODE == TIED && rz[q] > radius) {
                rz[q] = 0;
                rx[q] = ry[q] = nothing();
            }
            if (MODE == RECTANGLE) {
                rx[q] = ry[q] = rz[q] = 0;
#pragma unroll
                for (int m = 0; m < KEPT; m++) {
                    int j = best[q].who[m];
                    if (j < 0) continue;
                    Real other[XS];
                    question.load(j, other);
                    rx[q] = larger(rx[q], separation(mine[q], other));
#pragma unroll
                    for (int c = 0; c < DZ; c++) rz[q] = larger(rz[q], fabs(p.get(c, j) - queue.at[c][q]));
#pragma unroll
                    for (int c = DZ; c < D; c++) ry[q] = larger(ry[q], fabs(p.get(c, j) - queue.at[c][q]));
                }
            }
        }
    } else {
#pragma unroll
        for (int q = 0; q < QUERIES; q++) rx[q] = ry[q] = rz[q] = radius;
    }

    float n_xz[QUERIES], n_yz[QUERIES], n_z[QUERIES], n_xyz[QUERIES];
    reach = 0;
#pragma unroll
    for (int q = 0; q < QUERIES; q++) {
        n_xz[q] = n_yz[q] = n_z[q] = n_xyz[q] = 0;
        limit[q] = widest(rz[q]);
        reach = larger(reach, limit[q]);
        if (DZ == 0) rz[q] = infinite();
    }
    auto count = [&]() {
        drain(queue, filled, question, [&](int e, const Real* other) {
#pragma unroll
            for (int q = 0; q < QUERIES; q++) {
                if (QUERIES > 1 && !__any_sync(ALL, inside(queue.z[e][q], rz[q]))) continue;
                Real distance = separation(mine[q], other);
                tally(n_z[q], n_xz[q], n_yz[q], n_xyz[q], queue.z[e][q], rz[q], distance, rx[q], queue.y[e][q], ry[q]);
            }
        });
        filled = 0;
    };
    walk<DZ, 1>(p, home, 0, 0, span, box_low, box_high, [&]() { return reach; }, [&](int tile) {
        filled = enqueue<false>(p, queue, filled, first, tile, limit);
        if (filled >= TILE) count();
    });
    count();

    const int asked = blockIdx.y * TILE + lane();
    if (asked >= questions) return;
    long long total = 0;
#pragma unroll
    for (int q = 0; q < QUERIES; q++) {
        if (first + q >= n) break;
        if (counts) answers.write(asked, n, order[first + q], n_xz[q], n_yz[q], n_z[q], n_xyz[q]);
        else total += answers.value(n_xz[q], n_yz[q], n_z[q], n_xyz[q]);
    }
    if (!counts) answers.add(asked, total);
}
