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

// Widest axis of each segment of `size` points, from a sample of them. One block per segment.
extern "C" __global__ void __launch_bounds__(BLOCK)
choose(const double* points, const int* order, int n, int dims, int size, int* axes) {
    __shared__ unsigned lowest, highest;
    const int begin = blockIdx.x * size, end = min(n, begin + size), step = max(1, size / SAMPLE);
    float most = -1;
    for (int c = 0; c < dims; c++) {
        if (threadIdx.x == 0) lowest = ALL, highest = 0;
        __syncthreads();
        unsigned low = ALL, high = 0;
        for (int i = begin + threadIdx.x * step; i < end; i += BLOCK * step) {
            unsigned u = ordered((float)points[(size_t)order[i] * dims + c]);
            low = min(low, u);
            high = max(high, u);
        }
        spread(low, high, &lowest, &highest);
        __syncthreads();
        if (threadIdx.x == 0 && value(highest) - value(lowest) > most) {
            most = value(highest) - value(lowest);
            axes[blockIdx.x] = c;
        }
        __syncthreads();
    }
}

// Sort keys of one level of the kd tree: (segment, value along the segment's axis).
extern "C" __global__ void __launch_bounds__(BLOCK)
key(const double* points, const int* order, const int* axes, int n, int dims, int size, unsigned long long* keys) {
    const int i = blockIdx.x * BLOCK + threadIdx.x, segment = i / size;
    if (i >= n) return;
    unsigned u = ordered((float)points[(size_t)order[i] * dims + axes[segment]]);
    keys[i] = (unsigned long long)segment << 32 | u;
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
