// Shared by the counting kernels one.cu and many.cu; this text is put before theirs.
//
// The prepared points (z, y) lie in kd order, cut into tiles of 32 with bounding boxes. A warp answers for queries
// that lie together: it tests 32 boxes at once, one per lane, skips tiles that are out of reach, then tests the 32
// points of a tile, one per lane, and puts those within reach into a queue in shared memory. Only the queue is
// compared with x. Subtraction rounds monotonically, so a box is never farther than the points in it: counts are exact.
//
// Compiled with -DREAL (float or double), -DDX -DDY -DDZ (columns), -DK (neighbours), -DMODE, -DWARPS (of a block),
// -DRESIDENT (blocks that an SM should hold), -DTIMED (whether times keep other points than itself from being a point's neighbours).

// Fixed radius, inclusive; KSG 1, strictly inside; KSG 2, inclusive; distance of the k-th neighbour, inclusive.
enum Modes { BOX, CUBE, RECTANGLE, TIED };

using Real = REAL;
constexpr int TILE = 32, QUEUE = 2 * TILE;
constexpr int D = DZ + DY;               // prepared columns: z, then y
constexpr int KEPT = MODE == RECTANGLE ? K : 1;  // neighbours whose names matter
constexpr bool JOINT = MODE == BOX || MODE == TIED;  // whether points near in (x, y, z) are counted too
constexpr unsigned ALL = 0xffffffffu;

struct Points {
    const Real* at;      // (D, padded) coordinates in kd order
    const Real* low;     // (D, tiles) boxes
    const Real* high;
    const int* times;    // (padded)
    const int* order;    // (padded) original rows
    const int* turn;     // (tiles) in the order of work: wide boxes, which meet the most, first
    int n, tiles, span, theiler;  // span: tiles rounded up to a power of two, at least 32

    __device__ int padded() const { return tiles * TILE; }
    __device__ Real get(int column, int position) const { return at[(size_t)column * padded() + position]; }

    // Whether j may be a neighbour of i; only the box kernel counts a point as its own.
    __device__ bool admits(int i, int j, int time_i, int time_j) const {
        if (j >= n) return false;
        if (MODE == BOX && !TIMED) return true;
        return i != j && (!TIMED || abs(time_i - time_j) > theiler);
    }
};

// Where the answers go: counts (kinds, questions, n) in original rows, or sums (questions) of tabulated values.
struct Answers {
    int* counts;
    const long long* plus;   // in units of 2^-36: whole numbers add up the same in any order
    const long long* minus;
    long long* sums;
    int questions;

    __device__ long long value(int n_xz, int n_yz, int n_z, int n_xyz) const {
        if (JOINT && n_xyz == 0) return 0;
        long long total = plus[n_z] - minus[n_xz] - minus[n_yz];
        return JOINT ? total + minus[n_xyz] : total;
    }
    __device__ void write(int question, int n, int row, int n_xz, int n_yz, int n_z, int n_xyz) const {
        size_t stride = (size_t)questions * n, place = (size_t)question * n + row;
        if (JOINT) { counts[place] = n_xyz; place += stride; }
        if (MODE == TIED && n_xyz == 0) n_z = 0;  // alone: its k-th neighbour is too far
        counts[place] = n_xz;
        counts[place + stride] = n_yz;
        counts[place + 2 * stride] = n_z;
    }
    __device__ void add(int question, long long total) const {
        atomicAdd((unsigned long long*)&sums[question], (unsigned long long)total);
    }
};

__device__ inline int lane() { return threadIdx.x % TILE; }
__device__ inline Real larger(Real a, Real b) { return fmax(a, b); }
__device__ inline Real nothing() { return (Real)__longlong_as_double(0x7ff8000000000000ll); }  // inside no radius
__device__ inline Real infinite() { return (Real)__longlong_as_double(0x7ff0000000000000ll); }
__device__ inline bool inside(Real d, Real r) { return MODE == CUBE ? d < r : d <= r; }

// Largest value of the warp; numbers >= 0 are ordered as their bits.
__device__ inline float widest(float v) { return __uint_as_float(__reduce_max_sync(ALL, __float_as_uint(v))); }
__device__ inline double widest(double v) {
    for (int step = TILE / 2; step; step /= 2) v = fmax(v, __shfl_xor_sync(ALL, v, step));
    return v;
}

// Distance of a tile's box from the box [low, high] along the first C columns.
template <int C>
__device__ inline Real apart(const Points& p, int tile, const Real* low, const Real* high) {
    Real d = 0;
#pragma unroll
    for (int c = 0; c < C; c++) {
        d = larger(d, p.low[c * p.tiles + tile] - high[c]);
        d = larger(d, low[c] - p.high[c * p.tiles + tile]);
    }
    return d;
}

// Call visit(tile) for every tile home ^ m, from <= m < to, within reach of a box along the first C columns. Tiles kin
// to `home` come first, since t ^ 1, t ^ 2, ... walk up the kd tree from leaf t. reach() may shrink meanwhile. With
// several PARTS the tiles are dealt out in turn and this is the share of `part`.
template <int C, int PARTS, class Reach, class Visit>
__device__ inline void walk(const Points& p, int home, int part, int from, int to, const Real* low, const Real* high,
                            Reach reach, Visit visit) {
    for (int base = from; base < to; base += TILE * PARTS) {
        int tile = home ^ (base + lane() * PARTS + part);
        Real gap = tile < p.tiles ? apart<C>(p, tile, low, high) : nothing();
        unsigned some = __ballot_sync(ALL, C == 0 ? tile < p.tiles : inside(gap, reach()));
        for (; some; some &= some - 1) {
            int s = __ffs(some) - 1;
            if (C == 0 || inside(__shfl_sync(ALL, gap, s), reach())) visit(home ^ (base + s * PARTS + part));
        }
    }
}

// The k nearest so far, ascending; of equals the smaller row is the nearer, which only rectangles must know.
struct Nearest {
    Real d[K];
    int who[KEPT];

    __device__ void clear() {
#pragma unroll
        for (int m = 0; m < K; m++) d[m] = infinite();
#pragma unroll
        for (int m = 0; m < KEPT; m++) who[m] = -1;
    }
    __device__ Real radius() const { return d[K - 1]; }
    __device__ void add(Real a, int j, const int* order) {
#pragma unroll
        for (int m = 0; m < K; m++) {
            Real b = d[m];
            if (MODE == RECTANGLE) {
                int w = who[m % KEPT];
                bool before = a < b || (a == b && (w < 0 || order[j] < order[w]));
                d[m] = before ? a : b;
                who[m % KEPT] = before ? j : w;
                a = before ? b : a;
                j = before ? w : j;
                if (j < 0) return;
            } else {
                d[m] = fmin(a, b);
                a = fmax(a, b);
            }
        }
    }
};
