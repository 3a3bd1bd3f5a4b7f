// Puts points into kd order and copies them to where the counting kernels read them. Compiled with -DREAL.

using Real = REAL;
constexpr int TILE = 32, BLOCK = 256, CELL = 4096, CELL_BLOCK = 1024, SAMPLE = 2048;
constexpr unsigned ALL = 0xffffffffu;

// Floats in the order of unsigned numbers, and back.
__device__ inline unsigned ordered(float v) {
    unsigned bits = __float_as_uint(v);
    return bits ^ (bits >> 31 ? ~0u : 1u << 31);
}
__device__ inline float value(unsigned u) { return __uint_as_float(u ^ (u >> 31 ? 1u << 31 : ~0u)); }

// Smallest and largest number of a block's segment, from each thread's own.
__device__ inline void spread(unsigned low, unsigned high, unsigned* lowest, unsigned* highest) {
    low = __reduce_min_sync(ALL, low);
    high = __reduce_max_sync(ALL, high);
    if (threadIdx.x % TILE == 0) {
        atomicMin(lowest, low);
        atomicMax(highest, high);
    }
}

// Put the smaller half of each segment of `size` points, along its widest axis (in a sample), first; keys is room for
// n numbers. Which of equal points go first is left to chance: no count depends on it. One block per segment.
extern "C" __global__ void __launch_bounds__(CELL_BLOCK)
halve(const double* points, const int* order, int n, int dims, int size, unsigned* keys, int* out) {
    __shared__ unsigned lowest, highest;
    __shared__ int bins[256], chosen, before, lefts, rights, equals;
    const int begin = blockIdx.x * size, end = min(n, begin + size), half = size / 2, step = max(1, size / SAMPLE);
    if (end - begin <= half) {
        for (int i = begin + threadIdx.x; i < end; i += CELL_BLOCK) out[i] = order[i];
        return;
    }
    int axis = 0;
    float most = -1;
    for (int c = 0; c < dims; c++) {
        if (threadIdx.x == 0) lowest = ALL, highest = 0;
        __syncthreads();
        unsigned low = ALL, high = 0;
        for (int i = begin + threadIdx.x * step; i < end; i += CELL_BLOCK * step) {
            unsigned u = ordered((float)points[(size_t)order[i] * dims + c]);
            low = min(low, u);
            high = max(high, u);
        }
        spread(low, high, &lowest, &highest);
        __syncthreads();
        float width = value(highest) - value(lowest);
        if (width > most) most = width, axis = c;
        __syncthreads();
    }
    for (int i = begin + threadIdx.x; i < end; i += CELL_BLOCK)
        keys[i] = ordered((float)points[(size_t)order[i] * dims + axis]);

    unsigned pivot = 0, known = 0;  // the half-th smallest, byte by byte
    int rank = half;                // of the points that share its known bytes, so many go first
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (threadIdx.x < 256) bins[threadIdx.x] = 0;
        __syncthreads();
        for (int base = begin; base < end; base += CELL_BLOCK) {
            int i = base + threadIdx.x;
            bool counts = i < end && (keys[i] & known) == pivot;
            unsigned some = __ballot_sync(ALL, counts);
            if (!counts) continue;
            int bin = keys[i] >> shift & 255;
            unsigned same = __match_any_sync(some, bin);
            if (__ffs(same) - 1 == threadIdx.x % TILE) atomicAdd(&bins[bin], __popc(same));
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int bin = 0, seen = 0;
            while (seen + bins[bin] < rank) seen += bins[bin++];
            chosen = bin, before = seen;
        }
        __syncthreads();
        pivot |= (unsigned)chosen << shift;
        known |= 255u << shift;
        rank -= before;
    }

    if (threadIdx.x == 0) lefts = rights = equals = 0;
    __syncthreads();
    for (int base = begin; base < end; base += CELL_BLOCK) {
        int i = base + threadIdx.x;
        bool is = i < end, first = is && (keys[i] < pivot || (keys[i] == pivot && atomicAdd(&equals, 1) < rank));
        unsigned left = __ballot_sync(ALL, first), right = __ballot_sync(ALL, is && !first);
        int to_left = 0, to_right = 0;
        if (threadIdx.x % TILE == 0) to_left = atomicAdd(&lefts, __popc(left)), to_right = atomicAdd(&rights, __popc(right));
        to_left = __shfl_sync(ALL, to_left, 0), to_right = __shfl_sync(ALL, to_right, 0);
        unsigned earlier = (1u << threadIdx.x % TILE) - 1;
        if (is) out[begin + (first ? to_left + __popc(left & earlier) : half + to_right + __popc(right & earlier))] = order[i];
    }
}

// All levels from segments of `cell` <= CELL points down to tiles, in shared memory. One block per cell.
extern "C" __global__ void __launch_bounds__(CELL_BLOCK)
arrange(const double* points, int* order, int n, int dims, int cell) {
    __shared__ unsigned keys[CELL], lowest[CELL / TILE], highest[CELL / TILE];
    __shared__ int rows[CELL], axes[CELL / TILE];
    __shared__ float most[CELL / TILE];
    const int begin = blockIdx.x * cell;
    for (int i = threadIdx.x; i < cell; i += CELL_BLOCK) rows[i] = begin + i < n ? order[begin + i] : -1;
    __syncthreads();
    for (int size = cell; size > TILE; size /= 2) {
        for (int c = 0; c < dims; c++) {
            for (int s = threadIdx.x; s < cell / size; s += CELL_BLOCK) lowest[s] = ALL, highest[s] = 0;
            __syncthreads();
            for (int i = threadIdx.x; i < cell; i += CELL_BLOCK) {
                unsigned u = rows[i] < 0 ? 0 : ordered((float)points[(size_t)rows[i] * dims + c]);
                spread(rows[i] < 0 ? ALL : u, u, &lowest[i / size], &highest[i / size]);
            }
            __syncthreads();
            for (int s = threadIdx.x; s < cell / size; s += CELL_BLOCK) {
                float width = highest[s] >= lowest[s] ? value(highest[s]) - value(lowest[s]) : 0;
                if (c == 0 || width > most[s]) most[s] = width, axes[s] = c;
            }
            __syncthreads();
        }
        for (int i = threadIdx.x; i < cell; i += CELL_BLOCK)
            keys[i] = rows[i] < 0 ? ALL : ordered((float)points[(size_t)rows[i] * dims + axes[i / size]]);
        for (int run = 2; run <= size; run *= 2)  // bitonic sort of every segment
            for (int step = run / 2; step; step /= 2) {
                __syncthreads();
                for (int t = threadIdx.x; t < cell / 2; t += CELL_BLOCK) {
                    int a = 2 * t - (t & (step - 1)), b = a + step;
                    bool up = run == size || !(a & run);
                    if (up ? keys[a] > keys[b] : keys[a] < keys[b]) {
                        unsigned u = keys[a];
                        keys[a] = keys[b];
                        keys[b] = u;
                        int row = rows[a];
                        rows[a] = rows[b];
                        rows[b] = row;
                    }
                }
            }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < cell && begin + i < n; i += CELL_BLOCK) order[begin + i] = rows[i];
}

// Copy points (n, dims) and times to kd order, columns apart, and bound the tiles. One warp per tile.
extern "C" __global__ void __launch_bounds__(BLOCK)
settle(const double* points, const int* times, const int* order, int n, int dims, int tiles, Real* at, Real* low,
       Real* high, int* sorted_times, int* rows) {
    const int tile = (blockIdx.x * BLOCK + threadIdx.x) / TILE, i = tile * TILE + threadIdx.x % TILE;
    if (tile >= tiles) return;
    const int row = order[min(i, n - 1)];  // the last point fills the last tile
    sorted_times[i] = times[row];
    rows[i] = row;
    for (int c = 0; c < dims; c++) {
        Real v = (Real)points[(size_t)row * dims + c], a = v, b = v;
        at[(size_t)c * tiles * TILE + i] = v;
        for (int step = TILE / 2; step; step /= 2) {
            a = min(a, __shfl_xor_sync(~0u, a, step));
            b = max(b, __shfl_xor_sync(~0u, b, step));
        }
        if (threadIdx.x % TILE == 0) {
            low[c * tiles + tile] = a;
            high[c * tiles + tile] = b;
        }
    }
}

// Lay questions out as (group, position, column, lane): question = group * lanes + lane. x is (questions, n, dims),
// or (n, dims) with the rows (questions, n) that each question takes from it; the first `itself` questions take all.
extern "C" __global__ void __launch_bounds__(BLOCK)
lay(const double* x, const long long* rows, const int* order, int n, int dims, int padded, int questions, int lanes,
    int itself, Real* out) {
    const size_t place = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const int lane = place % lanes;
    const int position = place / lanes % padded;
    const int group = place / lanes / padded;
    if (group * lanes >= questions) return;
    const size_t question = min(group * lanes + lane, questions - 1);  // the last one fills the last group
    const size_t own = question * n + order[position];
    const size_t row = !rows || question < itself ? own : rows[own - (size_t)itself * n];
    for (int c = 0; c < dims; c++)
        out[(((size_t)group * padded + position) * dims + c) * lanes + lane] = (Real)x[row * dims + c];
}
