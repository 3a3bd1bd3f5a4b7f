// Brackets of points among themselves and among others, in the max norm: every pair is looked at, a warp per point.
// Compiled with -DDIMS and -DK.

constexpr int LANES = 32;
constexpr unsigned ALL = 0xffffffffu;

// A set of points (n, DIMS) with two spans of time (start, end) for each.
struct Points {
    const double* at;
    const double* spans;
    int n;
};

__device__ inline bool share_time(const double* a, const double* b) {
    return (a[0] < b[1] && b[0] < a[1]) || (a[2] < b[3] && b[2] < a[3]);
}

__device__ inline double apart(const double* a, const double* b) {
    double far = 0;
    for (int c = 0; c < DIMS; c++) far = fmax(far, fabs(a[c] - b[c]));
    return far;
}

__device__ inline double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

// Distance to the K-th point that shares no time with the query; infinity if there are fewer.
__device__ double reach(const Points& points, const double* query, const double* span, int lane) {
    double best[K];
    for (int m = 0; m < K; m++) best[m] = infinity();
    for (int j = lane; j < points.n; j += LANES) {
        double far = apart(points.at + (size_t)j * DIMS, query);
        if (!(far < best[K - 1]) || share_time(points.spans + (size_t)j * 4, span)) continue;
        int m = K - 1;
        for (; m > 0 && best[m - 1] > far; m--) best[m] = best[m - 1];
        best[m] = far;
    }
    int head = 0;  // of the lane's sorted distances, so many are among the nearest of all
    double least = infinity();
    for (int m = 0; m < K; m++) {
        double mine = head < K ? best[head] : infinity();
        least = mine;
        for (int step = LANES / 2; step; step /= 2) least = fmin(least, __shfl_xor_sync(ALL, least, step));
        unsigned who = __ballot_sync(ALL, mine == least);
        if (lane == __ffs(who) - 1) head++;
    }
    return least;
}

// Number of points no farther than r that share no time with the query, and the largest distance among them.
__device__ int within(const Points& points, const double* query, const double* span, double r, int lane, double* largest) {
    int count = 0;
    double most = 0;
    for (int j = lane; j < points.n; j += LANES) {
        double far = apart(points.at + (size_t)j * DIMS, query);
        if (far > r || share_time(points.spans + (size_t)j * 4, span)) continue;
        count++;
        most = fmax(most, far);
    }
    for (int step = LANES / 2; step; step /= 2) {
        count += __shfl_xor_sync(ALL, count, step);
        most = fmax(most, __shfl_xor_sync(ALL, most, step));
    }
    *largest = most;
    return count;
}

extern "C" __global__ void
brackets(const double* at, const double* spans, int n, const double* other_at, const double* other_spans, int others,
         const double* psi, double* out) {
    const int i = (int)((blockIdx.x * blockDim.x + threadIdx.x) / LANES), lane = (int)(threadIdx.x % LANES);
    if (i >= n) return;  // all lanes of a warp
    const Points own{at, spans, n}, other{other_at, other_spans, others};
    double query[DIMS], span[4];
    for (int c = 0; c < DIMS; c++) query[c] = at[(size_t)i * DIMS + c];
    for (int c = 0; c < 4; c++) span[c] = spans[(size_t)i * 4 + c];
    const double r = fmax(reach(own, query, span, lane), reach(other, query, span, lane));
    double most, most_other;
    const int count = within(own, query, span, r, lane, &most), count_other = within(other, query, span, r, lane, &most_other);
    if (lane == 0)
        out[i] = r < infinity() ? DIMS * log(most_other / most) + psi[count] - psi[count_other]
                                : __longlong_as_double(0x7ff8000000000000ll);
}
