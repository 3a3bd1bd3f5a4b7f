"""The obvious slow twins of every fast path: plain loops and whole distance matrices."""

from collections import Counter
from itertools import combinations, permutations, product
from math import ceil, floor, fsum, log, sqrt
from statistics import NormalDist

import numpy as np

from enmesh.embedding import Lagged

# --- neighbour counts under KSG and the box kernel ---------------------------------------------------------


def block_distances(a):
    """Max-norm distance between all pairs of rows of a (n, d); zero where d == 0."""
    n = len(a)
    return np.abs(a[:, None, :] - a[None, :, :]).max(axis=2, initial=0.0) if a.shape[1] else np.zeros((n, n))


def admissible_pairs(n, times, theiler):
    times = np.arange(n) if times is None else np.asarray(times)
    return (np.abs(times[:, None] - times[None, :]) > theiler) & ~np.eye(n, dtype=bool)


def ksg_counts(x, y, z, k, algorithm=1, times=None, theiler=0):
    """(n_xz, n_yz, n_z) for one x (n, dx), point by point."""
    n = len(x)
    dx, dy, dz = block_distances(x), block_distances(y), block_distances(z)
    allowed = admissible_pairs(n, times, theiler)
    counts = np.zeros((3, n), dtype=np.int64)
    for i in range(n):
        others = np.flatnonzero(allowed[i])
        joint = np.maximum(np.maximum(dx[i, others], dy[i, others]), dz[i, others])
        near = others[np.argsort(joint, kind="stable")[:k]]  # stable: the smaller index wins a tie
        if algorithm == 1:
            eps = np.sort(joint)[k - 1] if len(others) >= k else np.inf
            in_x, in_y, in_z = dx[i, others] < eps, dy[i, others] < eps, dz[i, others] < eps
            # A space without columns has everyone inside, even where the k-th neighbour is a tie at distance 0.
            in_x |= x.shape[1] == 0
            in_z |= z.shape[1] == 0
        else:
            in_x = dx[i, others] <= dx[i, near].max(initial=0.0)
            in_y = dy[i, others] <= dy[i, near].max(initial=0.0)
            in_z = dz[i, others] <= dz[i, near].max(initial=0.0)
        counts[:, i] = (in_x & in_z).sum(), (in_y & in_z).sum(), in_z.sum()
    return counts


def box_counts(x, y, z, radius, times=None, theiler=0):
    """(n_xyz, n_xz, n_yz, n_z) for one x (n, dx): self included unless theiler > 0."""
    n = len(x)
    allowed = admissible_pairs(n, times, theiler) if theiler > 0 else np.ones((n, n), dtype=bool)
    in_x, in_y, in_z = (block_distances(a) <= radius for a in (x, y, z))
    sets = in_x & in_y & in_z, in_x & in_z, in_y & in_z, in_z
    return np.array([(s & allowed).sum(axis=1) for s in sets])


# --- estimators: one number and one value per sample, from the definition -----------------------------------


def gaussian_cmi(x, y, z):
    """Half the log ratio of determinants of the maximum-likelihood covariance."""

    def logdet(*parts):
        block = np.column_stack([part for part in parts if part.shape[1]] or [np.empty((len(x), 0))])
        return np.linalg.slogdet(np.cov(block.T, ddof=0).reshape((block.shape[1],) * 2))[1] if block.shape[1] else 0.0

    return (logdet(x, z) + logdet(y, z) - logdet(z) - logdet(x, y, z)) / 2


def gaussian_local(x, y, z):
    """log p(y | x, z) / p(y | z), each density a regression with normal residuals."""

    def log_density(given):
        design = np.column_stack([np.ones(len(y)), given])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        covariance = residual.T @ residual / len(y)
        quadratic = [r @ np.linalg.solve(covariance, r) for r in residual]
        return -(np.linalg.slogdet(2 * np.pi * covariance)[1] + np.array(quadratic)) / 2

    return log_density(np.column_stack([x, z])) - log_density(z)


def features_of(kind, columns, frequencies=()):
    """Every feature of every column and of every pair of columns, one after the other, standardised."""
    scaled = [(c - c.mean()) / c.std() if c.std() > 1e-12 else 0 * c for c in columns]
    from scipy.stats import norm

    found = []
    for i, v in enumerate(scaled):
        found.append(v)
        found += [v**2] if kind in ("quadratic", "basis") else []
        for w in frequencies:
            found += [np.cos(w * v), np.sin(w * v)]
        found += [np.cos(k * np.pi * norm.cdf(v)) for k in (3, 4)] if kind == "basis" else []
        for u in scaled[:i] if kind != "linear" else []:
            low = min(frequencies, default=0)
            fourier = [f(low * part) for part in (u + v, u - v) for f in (np.cos, np.sin)]
            found += fourier if kind == "fourier" else [u * v]
    return [(f - f.mean()) / f.std() if f.std() > 1e-10 else 0 * f for f in found]


def regression_local(x, y, z, kind, frequencies=(), ridge=1e-9, responses=1):
    """log p(y | x, z) / p(y | z) by ridge regressions on features; what the ridge takes is shared out evenly."""
    from scipy.stats import norm

    n = len(y)
    scaled = (y - y.mean(axis=0)) / y.std(axis=0)
    y = np.column_stack([y, *(np.cos(k * np.pi * norm.cdf(scaled)) for k in range(2, responses + 1))])

    def log_density(given):
        features = np.reshape(features_of(kind, given.T, frequencies), (-1, n)).T
        size = features.shape[1]
        longer = np.vstack([features, np.sqrt(ridge * n) * np.eye(size)])
        target = np.vstack([y - y.mean(axis=0), np.zeros((size, y.shape[1]))])
        residual = target - longer @ np.linalg.lstsq(longer, target, rcond=1e-15)[0]
        covariance = residual.T @ residual / n
        quadratic = np.array([r @ np.linalg.solve(covariance, r) for r in residual])
        return -(np.linalg.slogdet(2 * np.pi * covariance)[1] + quadratic[:n] + quadratic[n:].sum() / n) / 2

    return log_density(np.column_stack([x, z])) - log_density(z)


def basis_cmi(x, y, z, responses, ridge=1e-9):
    """I = 1/2 ln |C(f(z), g)| |C(f(z, x))| / |C(f(z))| |C(f(z, x), g)| of functions f and responses g of ranks."""
    from scipy.stats import norm

    scaled = (y - y.mean(axis=0)) / y.std(axis=0)
    g = np.column_stack([y, *(np.cos(k * np.pi * norm.cdf(scaled)) for k in range(2, responses + 1))])

    def logdet(given, target):
        features = np.reshape(features_of("basis", given.T), (-1, len(y))).T
        block = np.column_stack([features, target])
        small = np.diag([ridge] * features.shape[1] + [0.0] * target.shape[1])
        return np.linalg.slogdet(np.cov(block.T, ddof=0).reshape(small.shape) + small)[1] if block.size else 0.0

    both = np.column_stack([x, z])
    return (logdet(z, g) - logdet(z, g[:, :0]) - logdet(both, g) + logdet(both, g[:, :0])) / 2


def discrete_local(x, y, z):
    """Log ratio of relative frequencies, counted in dictionaries."""
    rows = [(tuple(a), tuple(b), tuple(c)) for a, b, c in zip(x.tolist(), y.tolist(), z.tolist())]
    joint = Counter(rows)
    n_z, n_xz, n_yz = (Counter(r[2] for r in rows), Counter((r[0], r[2]) for r in rows), Counter(r[1:] for r in rows))
    return np.array([log(joint[r] * n_z[r[2]] / (n_xz[r[0], r[2]] * n_yz[r[1:]])) for r in rows])


def logarithm(count, correction):
    """What stands for ln n: n = 1, 2, 3 ... of Grassberger's G by its recursion."""
    if correction == "miller-madow":
        return log(count) - 1 / (2 * count)
    if (
        correction == "grassberger"
    ):  # G(1) = -gamma - ln 2, G(2) = 2 + G(1), G(2n+1) = G(2n), G(2n+2) = G(2n) + 2/(2n+1)
        value = -np.euler_gamma - log(2)
        for even in range(2, count + 1, 2):
            value += 2 / (even - 1)
        return value
    return log(count)


def corrected_local(x, y, z, correction):
    """Log ratio of counts with the correction's logarithms, counted in dictionaries."""
    rows = [(tuple(a), tuple(b), tuple(c)) for a, b, c in zip(x.tolist(), y.tolist(), z.tolist())]
    total = np.zeros(len(rows))
    for part, sign in (((0, 1, 2), 1), ((2,), 1), ((0, 2), -1), ((1, 2), -1)):
        states = [tuple(row[i] for i in part) for row in rows]
        counts = Counter(states)
        total += [sign * logarithm(counts[state], correction) for state in states]
    return total


def corrected_entropy(x, correction):
    counts = Counter(map(tuple, x.tolist())).values()
    if correction == "miller-madow":
        return discrete_entropy(x) + (len(counts) - 1) / (2 * len(x))
    return log(len(x)) - sum(c * logarithm(c, correction) for c in counts) / len(x)


def kernel_local(x, y, z, width, times=None, theiler=0):
    n_xyz, n_xz, n_yz, n_z = box_counts(x, y, z, width, times, theiler)
    return np.array([log(a * d / (b * c)) if a else 0.0 for a, b, c, d in zip(n_xyz, n_xz, n_yz, n_z)])


def ksg_local(x, y, z, k, algorithm=1, times=None, theiler=0):
    from scipy.special import digamma

    n_xz, n_yz, n_z = ksg_counts(x, y, z, k, algorithm, times, theiler)
    if algorithm == 1:
        return digamma(k) + digamma(n_z + 1) - digamma(n_xz + 1) - digamma(n_yz + 1)
    if z.shape[1] == 0:
        return digamma(k) - 1 / k + digamma(n_z + 1) - digamma(n_xz) - digamma(n_yz)
    return digamma(k) - 2 / k + digamma(n_z) - digamma(n_xz) + 1 / n_xz - digamma(n_yz) + 1 / n_yz


def best_of_columns(x, choose, measured):
    """The largest measure of ``choose`` columns: of all sets where one column at most is left out, else one by one."""
    d, chosen = x.shape[1], []
    if choose >= d - 1:
        return max(measured(x[:, list(some)]) for some in combinations(range(d), choose))
    for _ in range(choose):
        free = [column for column in range(d) if column not in chosen]
        chosen.append(max(free, key=lambda column: measured(x[:, [*chosen, column]])))
    return measured(x[:, chosen])


def order_patterns(values, order, delay):
    """One number per sample: its place in the sorted list of all orders; -1 for the first samples."""
    every = sorted(permutations(range(order)))
    out = []
    for t in range(len(values)):
        if t < (order - 1) * delay:
            out.append(-1)
            continue
        window = [values[t - (order - 1 - i) * delay] for i in range(order)]
        by_size = sorted(range(order), key=lambda i: (window[i], i))  # of equals the earlier is the smaller
        out.append(every.index(tuple(by_size.index(i) for i in range(order))))
    return np.array(out)


def tied_counts(x, y, z, k, far=np.inf):
    """(n_xyz, n_xz, n_yz, n_z) within the distance of the k-th neighbour, ties counted; 0 where it is beyond far."""
    n = len(x)
    dx, dy, dz = block_distances(x), block_distances(y), block_distances(z)
    counts = np.zeros((4, n), dtype=np.int64)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        a, b, c = dx[i, others], dy[i, others], dz[i, others]
        reach = np.sort(np.maximum(np.maximum(a, b), c))[k - 1]
        if reach <= far:
            in_x, in_y, in_z = a <= reach, b <= reach, c <= reach
            counts[:, i] = [both.sum() for both in (in_x & in_y & in_z, in_x & in_z, in_y & in_z, in_z)]
    return counts


def mixed_local(x, y, z, k):
    from scipy.special import digamma

    values = []
    for n_xyz, n_xz, n_yz, n_z in tied_counts(x, y, z, k, far=2.0**39).T:
        last = digamma(n_z) if z.shape[1] else digamma(len(x))
        values.append(digamma(n_xyz) + last - digamma(n_xz) - digamma(n_yz) if n_xyz else 0.0)
    return np.array(values)


def gao_program(x, y, k):
    """Mutual information as the program of Gao et al. (2017) has it: a sample counts itself, ln N for psi(N).

    Samples strictly inside the k-th distance are counted, or all at distance 0 if that is 0.
    """
    from scipy.special import digamma

    dx, dy = block_distances(x[:, None]), block_distances(y[:, None])
    total = 0.0
    for a, b in zip(dx, dy):
        reach = np.sort(np.maximum(a, b))[k]
        in_x, in_y = (a < reach, b < reach) if reach > 0 else (a == 0, b == 0)
        joint = k if reach > 0 else (in_x & in_y).sum()
        total += digamma(joint) + log(len(x)) - digamma(in_x.sum()) - digamma(in_y.sum())
    return total / len(x)


def residual(kind, z, x):
    """What a regression of each column of x on features of z leaves, over its standard deviation; z as it is if empty.

    The features: z, then squares and products or cosines, of which the directions that vary most beyond z are taken
    until there are n / 10 in all, the constant counted.
    """
    n, d = z.shape
    if kind == "none" or d == 0:
        return x
    columns = sorted(z.T, key=lambda column: (np.sort(column).tobytes(), column.tobytes()))
    z = np.column_stack([(column - column.mean()) / column.std() for column in columns])
    further, faint = np.empty((n, 0)), 0.0
    if kind == "quadratic":
        further = np.column_stack([z[:, i] * z[:, j] for i in range(d) for j in range(i, d)])
    if kind == "features":
        rng = np.random.default_rng([0xFEA7, d])
        frequencies = rng.standard_normal((d, 96)) / np.sqrt(rng.chisquare(3, 96) / 3 * d)
        further, faint = np.cos(z @ frequencies + rng.uniform(0, 2 * np.pi, 96)), 1e-4
    design = np.column_stack([np.ones(n), z])
    if further.shape[1]:
        new = further - design @ np.linalg.lstsq(design, further, rcond=None)[0]
        variances, axes = np.linalg.eigh(new.T @ new)
        clear = (variances > faint**2 * n * further.var(axis=0).sum()).sum()
        most = max(0, min(n // 10 - design.shape[1], 48, clear))
        design = np.column_stack([design, new @ axes[:, ::-1][:, :most]])
    left = x - design @ np.linalg.lstsq(design, x, rcond=None)[0]
    return left / left.std(axis=0)


def gaussian_entropy(x):
    covariance = np.cov(x.T, ddof=0).reshape((x.shape[1],) * 2)
    return np.linalg.slogdet(2 * np.pi * np.e * covariance)[1] / 2


def discrete_entropy(x):
    counts = Counter(map(tuple, x.tolist())).values()
    return -sum(c / len(x) * log(c / len(x)) for c in counts)


def kl_entropy(x, k):
    """Kozachenko-Leonenko by sorting all distances, on z-scored columns."""
    from scipy.special import digamma

    scale = x.std(0, ddof=1)
    distances = block_distances((x - x.mean(0)) / scale)
    kth = np.sort(distances, axis=1)[:, k]
    return digamma(len(x)) - digamma(k) + x.shape[1] * np.mean(np.log(2 * kth)) + np.log(scale).sum()


def copula_entropy(x, k):
    """Entropies of the columns by neighbours, less what a normal copula makes them share."""
    from scipy.stats import norm, rankdata

    scores = np.column_stack([norm.ppf((rankdata(column) - 0.5) / len(x)) for column in x.T])
    correlation = np.corrcoef(scores.T).reshape((x.shape[1],) * 2)
    return sum(kl_entropy(column[:, None], k) for column in x.T) + np.linalg.slogdet(correlation)[1] / 2


def box_entropy(x, width):
    scale = x.std(0, ddof=1)
    inside = (block_distances((x - x.mean(0)) / scale) <= width).sum(1)
    return -np.mean(np.log(inside / len(x) / np.prod(2 * width * scale)))


# --- embedding and measures: one sample at a time ------------------------------------------------------------


def embedded(trials, dim, delay, lag):
    """Rows (next values, own pasts, source pasts) of every trial, one time step after another."""
    nodes = range(trials[0].shape[1])
    span = max((dim[j] - 1) * delay[j] + lag[j] for j in nodes)
    rows = []
    for trial in trials:
        for t in range(span, len(trial)):
            nexts = [trial[t, j] for j in nodes]
            owns = [[trial[t - 1 - m * delay[j], j] for m in range(dim[j])] for j in nodes]
            sources = [[trial[t - lag[j] - m * delay[j], j] for m in range(dim[j])] for j in nodes]
            rows.append((nexts, owns, sources))
    return rows


def kl_by_entropies(blocks, parents, entropy):
    """D_KL = sum_i H(Y^i | own past, parents) - H(Y | all pasts) with H(a | b) = H(a, b) - H(b)."""
    size = range(blocks.n_nodes)

    def conditional(columns, given):
        return entropy(blocks.take(columns + given)) - entropy(blocks.take(given))

    families = [conditional([Lagged(i, 0)], blocks.past([i, *parents[i]], i)) for i in size]
    return sum(families) - conditional([Lagged(i, 0) for i in size], blocks.everything())


def interaction_by_entropies(blocks, entropy):
    return kl_by_entropies(blocks, [()] * blocks.n_nodes, entropy)


# --- scores ---------------------------------------------------------------------------------------------------


def largest_penalty(alpha, r_target, r_own, r_parents):
    """The MIT penalty over all orders of the parents; r_* are numbers of joint states."""
    from scipy.stats import chi2

    def total(order):
        penalty, earlier = 0.0, 1
        for r in order:
            penalty += chi2.ppf(alpha, (r_target - 1) * (r - 1) * r_own * earlier)
            earlier *= r
        return penalty

    return max(total(order) for order in permutations(r_parents))


def sequential(parents, value, penalty, least=None):
    """TEE of a set: T and T_alpha from the strongest single parent on, or what another order costs at least.

    ``value(j, earlier)`` is T, ``penalty(j, earlier)`` is T_alpha and ``least(j, earlier)`` its lower limit; without
    one other orders do not count.
    """

    def total(order, term):
        return sum(term(j, tuple(sorted(order[:i]))) for i, j in enumerate(order))

    strongest_first = sorted(parents, key=lambda j: -value(j, ()))
    costs = [total(order, least) for order in permutations(parents)] if least else []
    return total(strongest_first, value) - max(total(strongest_first, penalty), *costs, -np.inf)


def quantile(null, alpha, lower=0):
    rank = ceil(round(alpha * len(null), 9))
    rank_error = sqrt(len(null) * alpha * (1 - alpha))
    return sorted(null)[max(1, floor(rank - lower * rank_error)) - 1] if rank else 0.0


# --- simulated systems: one step after the other, as the equation reads -------------------------------------


def coupled_map_orbit(graph, g, coupling, start, noise, into_domain, lags=None):
    """Eq. coupled-map for scalar maps ``g(name, z)``; ``lags`` has the lags of links that are not 1."""
    past = [dict(zip(graph, start))]
    for kick in noise:
        new = {}
        for (name, parents), extra in zip(graph.items(), kick):
            value = g(name, past[-1][name])
            if parents:
                read = [earlier(past, (lags or {}).get((parent, name), 1))[parent] for parent in parents]
                value = (1 - coupling) * value + coupling * sum(g(name, z) for z in read) / len(parents)
            new[name] = into_domain(value + extra)
        past.append(new)
    return np.array([list(x.values()) for x in past])


def earlier(past, lag):
    """What was ``lag`` samples before the one to come; the first where there was none yet."""
    return past[-lag] if lag <= len(past) else past[0]


def reflect_once(x):
    """Reflection at 0 and 1, for states that overshoot by less than 1."""
    return -x if x < 0 else 2 - x if x > 1 else x


def henon_orbit(graph, a, coupling, start, noise, lags=None):
    past = [{name: tuple(start[2 * i : 2 * i + 2]) for i, name in enumerate(graph)}]
    for kick in noise:
        new = {}
        for i, (name, parents) in enumerate(graph.items()):
            read = [earlier(past, (lags or {}).get((parent, name), 1))[parent] for parent in parents]
            images = [(1 - a * u * u + v, 0.3 * u) for u, v in (past[-1][name], *read)]
            x, y = images[0]
            if parents:
                x = (1 - coupling) * x + coupling * sum(image[0] for image in images[1:]) / len(parents)
                y = (1 - coupling) * y + coupling * sum(image[1] for image in images[1:]) / len(parents)
            new[name] = (x + kick[2 * i], y + kick[2 * i + 1])
        past.append(new)
    return np.array([[value for state in states.values() for value in state] for states in past])


def lorenz_orbit(graph, coupling, start, noise, dt, lags):
    """Coupled Lorenz systems, sample by sample; links with a lag over 1 read a sample and hold it over the step."""
    from scipy.integrate import solve_ivp

    names, past = list(graph), [np.array(start, float)]
    for kick in noise:

        def velocity(_, flat, past=tuple(past)):
            x, out = flat.reshape(-1, 3), np.empty((len(names), 3))
            for i, name in enumerate(names):
                u, v, w = x[i]
                out[i] = 10 * (v - u), u * (28 - w) - v, u * v - 8 / 3 * w
                for parent in graph[name]:
                    j, lag = names.index(parent), lags.get((parent, name), 1)
                    source = x[j, 0] if lag == 1 else earlier(past, lag)[3 * j]
                    out[i, 0] += coupling * (source - u) / len(graph[name])
            return out.ravel()

        run = solve_ivp(velocity, (0, dt), past[-1], "DOP853", rtol=1e-12, atol=1e-12)
        past.append(run.y[:, -1] + kick)
    return np.array(past)


def var_orbit(lags, noise):
    """x_{n+1} = sum_l A_l x_{n+1-l} + v from rest; ``noise (steps, M)``."""
    rows = [np.zeros(lags.shape[1])] * len(lags)
    for kick in noise:
        rows.append(sum(matrix @ rows[-1 - lag] for lag, matrix in enumerate(lags)) + kick)
    return np.array(rows[len(lags) - 1 :])


# --- embedding criteria ------------------------------------------------------------------------------------


def ragwitz_error(x, dim, delay, span, k, theiler=0):
    """Mean squared error of local constant prediction of one series ``x (n,)``, by whole distances."""
    rows = range(span, len(x))
    past = np.array([[x[t - 1 - m * delay] for m in range(dim)] for t in rows])
    after = np.array([x[t] for t in rows])
    distances = block_distances(past)
    errors = []
    for i in range(len(after)):
        others = [j for j in range(len(after)) if abs(i - j) > theiler]
        near = sorted(others, key=lambda j: distances[i, j])[:k]
        errors.append((after[i] - after[near].mean()) ** 2)
    return float(np.mean(errors))


def small_tse(x, max_window, k, theiler=0):
    """Description length of windows 1 .. max_window of a z-scored series."""
    lengths = []
    for w in range(1, max_window + 1):
        error = ragwitz_error(x, w, 1, max_window, k, theiler)
        lengths.append((len(x) - w) / 2 * log(error) + w)
    return np.array(lengths)


def cao(x, max_dim, delay):
    """E1 and E2 of Cao (1997) of one series ``x (n,)`` without equal points."""
    count = len(x) - (max_dim + 1) * delay
    growth, jump = [], []
    for dim in range(1, max_dim + 2):
        points = np.array([[x[i + m * delay] for m in range(dim + 1)] for i in range(count)])
        inner, outer = block_distances(points[:, :dim]), block_distances(points)
        np.fill_diagonal(inner, np.inf)
        near = inner.argmin(axis=1)
        rows = np.arange(count)
        growth.append(np.mean(outer[rows, near] / inner[rows, near]))
        jump.append(np.mean(np.abs(points[rows, dim] - points[near, dim])))
    growth, jump = np.array(growth), np.array(jump)
    return growth[1:] / growth[:-1], jump[1:] / jump[:-1]


# --- graphs and search: every graph there is, one by one ----------------------------------------------------


def digraphs(n):
    """Every directed graph on n nodes without self loops, as parent tuples."""
    pairs = [(s, t) for s in range(n) for t in range(n) if s != t]
    for chosen in product((False, True), repeat=len(pairs)):
        held = [pair for pair, taken in zip(pairs, chosen) if taken]
        yield tuple(tuple(s for s, t in held if t == target) for target in range(n))


def can_be_ordered(parents):
    """Acyclic, by definition: nodes without parents can be taken away until nothing is left."""
    left = {target: set(sources) for target, sources in enumerate(parents)}
    while left:
        free = [node for node, sources in left.items() if not sources & left.keys()]
        if not free:
            return False
        for node in free:
            del left[node]
    return True


def best_graph(scores, n, allowed=lambda parents: True):
    """The allowed graph with the highest score; ties to fewer edges, then lexicographic. scores: {family: score}."""
    graphs = (g for g in digraphs(n) if allowed(g) and all(family in scores for family in enumerate(g)))
    return min(graphs, key=lambda g: (-fsum(scores[f] for f in enumerate(g)), sum(map(len, g)), g))


def pattern(parents):
    """What graphs of one RPDAG share: the skeleton, and every head-to-head pattern x -> y <- z."""
    skeleton = {frozenset((s, t)) for t, sources in enumerate(parents) for s in sources}
    heads = {(t, pair) for t, sources in enumerate(parents) for pair in combinations(sources, 2)}
    return frozenset(skeleton), frozenset(heads)


def multi_information(x, k=4):
    """Total correlation of the columns of ``x (n, m)`` by KSG algorithm 2, in nats.

    psi(k) - (m-1)/k + (m-1) psi(N) - < sum_i psi(n_i) >, n_i inclusive within the rectangle of the k neighbours.
    """
    from scipy.spatial import cKDTree
    from scipy.special import digamma

    x = np.asarray(x, dtype=np.float64)
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    n, m = x.shape
    neighbours = cKDTree(x).query(x, k=k + 1, p=np.inf)[1]
    radius = np.abs(x[neighbours] - x[:, None, :]).max(axis=1)
    total = digamma(k) - (m - 1) / k + (m - 1) * digamma(n)
    for column, r in zip(x.T, radius.T):
        ordered, r = (
            np.sort(column),
            r * (1 + 1e-12),
        )  # the widest neighbour lies on the rim and must not be lost to rounding
        inside = np.searchsorted(ordered, column + r, "right") - np.searchsorted(ordered, column - r, "left") - 1
        total -= digamma(inside).mean()
    return float(total)


# --- lags ------------------------------------------------------------------------------------------------------


def lag_profile(values, source, target, max_lag, cmi, orders=()):
    """T at every lag on the window that reaches ``max_lag`` back, and of the source's rows in other orders."""
    times = range(max_lag, len(values))
    y = np.array([[values[t, target]] for t in times])
    own = np.array([[values[t - 1, target]] for t in times])
    lagged = [np.array([[values[t - lag, source]] for t in times]) for lag in range(1, max_lag + 1)]

    def curve(order):
        return [cmi(x[order], y, own) for x in lagged]

    return np.array(curve(np.arange(len(y)))), np.array([curve(order) for order in orders])


# --- the linear null of smooth series -------------------------------------------------------------------------------


def shift_factor(y, x, z, starts, span, before):
    """Mean over circular shifts of 2 N I(x ; y | z) per degree of freedom, times White's inflation.

    The latter as it is if it is over 1 by two standard errors of chance, for these lags or on average over the other
    nodes one sample ``before (n, node)``; else less one standard error and at least 1.
    """

    def left(columns, v):
        design = np.column_stack([np.ones(len(v)), columns])
        return v - design @ np.linalg.lstsq(design, v, rcond=None)[0]

    n, shortest = len(y), min(np.diff(starts))
    given = left(z, y)
    values = []
    margin = max(span, shortest // 32)
    for shift in range(margin, shortest - margin + 1):
        rolled = np.concatenate([np.roll(x[a:b], -shift, axis=0) for a, b in zip(starts[:-1], starts[1:])])
        both = left(np.column_stack([z, rolled]), y)
        values.append(n * log(given @ given / (both @ both)) / x.shape[1])

    freed = [left(z, column) for column in x.T]

    white = np.mean([(f**2 * given**2).mean() / ((f**2).mean() * (given**2).mean()) for f in freed])
    error, squares = sqrt(8 / n), (before - before.mean(axis=0)) ** 2
    along = np.mean([np.mean(one * given**2) / (np.mean(one) * np.mean(given**2)) for one in squares.T])
    common = along > 1 + 2 * error / sqrt(squares.shape[1])
    uneven = max(1.0, white if common or white > 1 + 2 * error else white - error)
    return max(1.0, np.mean(values)) * uneven


def linear_effect(y, x, z):
    """Coefficient of x in the regression of y on x, z and a constant, in standard deviations of x and y."""
    design = np.column_stack([x, z, np.ones(len(y))])
    return np.linalg.lstsq(design, y, rcond=None)[0][0] * x.std() / y.std()


def regression_gain(y, x, z):
    """Nats that x and its square say of y beyond z, its squares and products: half the log ratio of variances left."""
    pairs = [z[:, i] * z[:, j] for i in range(z.shape[1]) for j in range(i + 1)]
    known = np.column_stack([np.ones(len(y)), z, *pairs])

    def left(design):
        return ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum()

    return 0.5 * log(left(known) / left(np.column_stack([known, x, x**2])))


def widened(x, y, z, starts, span):
    """Factor and share of degrees of freedom of a quadratic regression's null: shifts, one by one, and weights."""
    n = len(y)
    known = np.column_stack([np.ones(n), *features_of("quadratic", z.T)])
    added = np.column_stack(features_of("quadratic", np.column_stack([z, x]).T))

    def left(v, columns):
        return v - columns @ np.linalg.lstsq(columns, v, rcond=None)[0]

    white, values, _ = np.linalg.svd(left(added, known), full_matrices=False)
    white = white[:, values > 1e-6 * values[0]]
    leverage = (white**2).sum(axis=1)
    e = left(y, np.column_stack([known, added]))[:, 0] ** 2 / (1 - leverage)
    e = e / e.mean()
    weights = np.linalg.eigvalsh(sum(np.outer(row, row) * s for row, s in zip(white, e)))
    dof, by_chance = len(weights), np.var(e) * (leverage**2).sum()
    means = []
    margin = max(span, min(np.diff(starts)) // 32)
    for shift in range(margin, min(np.diff(starts)) - margin + 1):
        shifted = [np.roll(x[a:b], -shift, axis=0) for a, b in zip(starts[:-1], starts[1:])]
        means.append(regression_local(np.concatenate(shifted), y, z, "quadratic").mean())
    left_over = np.random.default_rng(0).beta((n - known.shape[1] - dof) / 2, dof / 2, 10**6)

    def over(ratio, variance):
        return ratio if ratio > 1 + 2 * variance**0.5 else max(1.0, ratio - variance**0.5)

    share = min(1.0, weights.sum() ** 2 / ((weights**2).sum() - by_chance) / dof)
    scatter = np.var(means, ddof=1) / (2 * np.mean(means) ** 2 / dof)
    share = max(1 / dof, share / over(scatter, (2 + 12 / dof) / len(means)))
    scale = over(np.mean(means) / np.mean(-np.log(left_over) / 2), 2 / dof / len(means))
    scale *= over(weights.mean(), by_chance / dof**2) / share
    return max(1.0, scale), share


# --- forward selection of lagged variables ----------------------------------------------------------------------------


def _design(columns, quadratic):
    ones = [np.ones(len(columns))]
    products = [columns[:, a] * columns[:, b] for a in range(columns.shape[1]) for b in range(a, columns.shape[1])]
    return np.column_stack([*ones, *columns.T, *(products if quadratic else [])])


def _residual_sum(columns, y, quadratic):
    design = _design(columns, quadratic)
    weights, *_ = np.linalg.lstsq(design, y, rcond=None)
    return float(((y - design @ weights) ** 2).sum()), np.linalg.matrix_rank(design)


def explained_share(before, after, y, *, quadratic):
    """Share of what a regression on ``before`` leaves of y that one on ``after`` explains."""
    return 1 - _residual_sum(after, y, quadratic)[0] / _residual_sum(before, y, quadratic)[0]


def forward_selection(values, target, own, max_lag, level, *, quadratic, span):
    """Lags of the sources that forward selection and pruning keep, and the p-value of the best that was not taken.

    A regression from scratch for every candidate.
    """
    from math import comb

    from scipy.stats import f

    nodes, n = values.shape

    def column(node, lag):
        return values[node, span - lag : n - lag]

    y = column(target, 0)

    def p_value(small, large):
        (left, k), (rest, m) = (
            _residual_sum(np.column_stack([column(*v) for v in some]), y, quadratic) for some in (small, large)
        )
        return float(f.sf((left - rest) / (m - k) / (rest / (len(y) - m)), m - k, len(y) - m)) if m > k else 1.0

    chosen = [(target, lag) for lag in range(1, own + 1)]
    while True:
        free = [(j, lag) for j in range(nodes) for lag in range(1, max_lag + 1) if (j, lag) not in chosen]
        tests = {v: p_value(chosen, [*chosen, v]) for v in free}
        best = min(tests, key=tests.get)
        if tests[best] * max_lag > level:
            break
        chosen.append(best)
    while True:
        sources = {j for j, _ in chosen} - {target}
        tests = {}
        for j in sources:
            x = [v for v in chosen if v[0] == j]
            tests[j] = p_value([v for v in chosen if v[0] != j], chosen) * comb(max_lag, len(x))
        worst = max(tests, key=tests.get, default=None)
        if worst is None or tests[worst] <= level:
            break
        chosen = [v for v in chosen if v[0] != worst]
    lags = {j: tuple(sorted(lag for node, lag in chosen if node == j)) for j, _ in chosen if j != target}
    return lags


# --- events in continuous time ---------------------------------------------------------------------------------------


def event_history(events, time, length):
    """Time since the last event before ``time``, then the intervals before it; and when the first of them starts."""
    before = [one for one in events if one < time]
    used = before[len(before) - length :]
    marks = [*used, time]
    return [late - early for early, late in zip(marks, marks[1:])][::-1], used[0]


def stable_sets(p_value, sources, level, required=()):
    """All sets in which every source is significant given the others, and to which no other source can be added."""
    found = []
    for size in range(len(sources) + 1):
        for some in combinations(sources, size):
            kept = all(j in required or p_value(j, tuple(s for s in some if s != j)) <= level for j in some)
            full = all(p_value(j, some) > level for j in sources if j not in some)
            if kept and full and set(required) <= set(some):
                found.append(some)
    return found


def event_transfer_entropy(target, source, random_times, stop, *, given=(), k=4, lengths=(2, 1, 1), left_out=0):
    """Rate of Shorten et al. (2021), term by term; ``lengths`` are those of target, source and conditions.

    The first values of the source's history can be ``left_out``.
    """
    from scipy.special import digamma

    own, told, known = lengths
    first = max(target[own - 1], source[told - 1], *(train[known - 1] for train in given))

    def point(time):
        parts = [event_history(target, time, own), *(event_history(train, time, known) for train in given)]
        y, start = event_history(source, time, told)
        z = [value for values, _ in parts for value in values]
        return z, z + y[left_out:], min(start, *(begin for _, begin in parts)), time

    events = [point(time) for time in target if time > first]
    others = [point(time) for time in random_times]

    def distances(event, points, space):
        apart = [one for one in points if not (event[2] < one[3] and one[2] < event[3])]
        return sorted(max(abs(a - b) for a, b in zip(event[space], one[space])) for one in apart)

    total = 0.0
    for event in events:
        for space, sign in ((1, 1.0), (0, -1.0)):
            near, near_random = distances(event, events, space), distances(event, others, space)
            radius = max(near[k - 1], near_random[k - 1])
            inside = [d for d in near if d <= radius]
            inside_random = [d for d in near_random if d <= radius]
            ratio = len(event[space]) * log(max(inside_random) / max(inside))
            total += sign * (ratio + float(digamma(len(inside)) - digamma(len(inside_random))))
    return total / (stop - first)


def best_order(part):
    """Return an order of the part's nodes that the best acyclic graph follows, by dynamic programming over subsets.

    Some node of an acyclic graph on S has no children in S. With F(S) the best score of a graph on S and B(v, S) the
    best score of v with parents in S (Silander and Myllymäki, UAI 2006),

        F(S) = max over v in S of  F(S - v) + B(v, S - v),      B(v, S) = max over j in S of B(v, S - j), or of S itself

    Time and memory grow as m 2^m; the recursion runs over whole layers of subsets of equal size at once.
    """
    m = len(part)
    alone = np.array([_best_within(part, node) for node in range(m)])
    sizes = np.bitwise_count(np.arange(1 << m))
    by_size = np.split(np.argsort(sizes, kind="stable"), np.cumsum(np.bincount(sizes))[:-1])
    total, last = np.full(1 << m, -np.inf), np.zeros(1 << m, np.int8)  # F(S), and the node that comes last
    total[0] = 0.0
    for layer in by_size[1:]:
        for node in range(m):
            ending = layer[layer >> node & 1 == 1]
            rest = ending ^ (1 << node)
            found = total[rest] + alone[node, rest]
            better = found > total[ending]
            total[ending[better]], last[ending[better]] = found[better], node
    order, left = [], (1 << m) - 1
    while left:
        order.append(int(last[left]))
        left ^= 1 << order[-1]
    return order[::-1]


def _best_within(part, node):
    """Return B(node, S) for every subset S, indexed by its bits."""
    best = np.full(1 << len(part), -np.inf)
    for inside, choice in zip(part.masks[node], part.choices[node]):
        best[inside] = choice.score
    for bit in range(len(part)):
        without, within = best.reshape(-1, 2, 1 << bit).transpose(1, 0, 2)
        np.maximum(within, without, out=within)
    return best


def linear_memory(trials, i, most, reach=None):
    """Return the order of a node's own past with the smallest BIC, and the share of variance that its line leaves."""
    fits = {}
    for order in range(1, most + 1):
        y, x = own_past(trials, i, most, order)
        left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        fits[order] = len(y) * np.log((left @ left) / len(y)) + order * np.log(len(y))
    best = min(fits, key=fits.get)
    y, x = own_past(trials, i, reach or best, best)
    return best, np.mean((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2) / y.var()


def own_past(trials, i, first, order):
    """Return a node's values from sample ``first`` of every trial on, and a constant and its last ``order`` values."""
    times = [(trial, t) for trial in trials for t in range(first, len(trial))]
    y = np.array([trial[t, i] for trial, t in times])
    return y, np.array([[1.0, *(trial[t - lag, i] for lag in range(1, order + 1))] for trial, t in times])


def normal_score(column):
    """Normal quantile of every value's rank less a half, equal values at the middle of their ranks."""
    below, up_to = ([sum(v < u for v in column) for u in column], [sum(v <= u for v in column) for u in column])
    return [NormalDist().inv_cdf((a + b) / 2 / len(column)) for a, b in zip(below, up_to)]


def missed_by_parabolas(column):
    """Share of a series that squares and products of the last two values leave, every other tenth held out."""
    rows = [
        [column[t - 1], column[t - 2], column[t - 1] ** 2, column[t - 2] ** 2, column[t - 1] * column[t - 2], 1.0]
        for t in range(2, len(column))
    ]
    rows, after = np.array(rows), np.array(column[2:])
    tenth = np.arange(len(rows)) * 10 // len(rows)
    missed = 0.0
    for test in (tenth % 2 == 0, tenth % 2 == 1):
        weights = np.linalg.lstsq(rows[~test], after[~test], rcond=None)[0]
        missed += ((after[test] - rows[test] @ weights) ** 2).sum()
    return missed / np.sum(np.square(column))


def leave_one_out(basis, y):
    """Mean squared error of predicting each sample by a regression on all others: one fit per sample."""
    errors = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        weights = np.linalg.lstsq(basis[rest], y[rest], rcond=None)[0]
        errors.append(y[i] - basis[i] @ weights)
    return np.mean(np.square(errors))


def weighted_residual(y, z, weights):
    """What is left of y, times the weights, after weighted least squares on z."""
    root = np.diag(weights)
    return root @ (y - z @ np.linalg.solve(z.T @ root**2 @ z, z.T @ root**2 @ y))


def evenness(features, responses, factors, plain=()):
    """Sum of squared correlations, each divided by how it varies by chance, as a multiple of the sum.

    ``features (n, m)`` are a source times ``factors``, less what is known; ``plain`` ones are no products.
    ``responses (n, q)`` are orthonormal.
    """
    n, m, q = len(features), features.shape[1], responses.shape[1]

    def root(matrix):
        size, axes = np.linalg.eigh(matrix)
        return axes @ np.diag(np.sqrt(size)) @ axes.T

    alike = features @ np.linalg.inv(root(features.T @ features))
    by = factors @ np.linalg.inv(root(factors.T @ factors)) * np.sqrt(n)
    rest = [(i, k) for i in range(m) for k in range(q) if i not in plain]
    covariance = np.zeros((len(rest), len(rest)))
    for one, response in zip(by, responses):
        each = np.array([one[j] * response[k] for j in range(by.shape[1]) for k in range(q)])
        covariance += np.outer(each, each)
    covariance = (n * covariance + len(rest) * np.eye(len(rest))) / (n + len(rest))
    told = alike.T @ responses
    products = np.array([told[i, k] for i, k in rest])
    even = products @ np.linalg.solve(covariance, products) + sum((told[i] ** 2).sum() for i in plain)
    return even / (told**2).sum()


def minus_log_wilks(known, features, responses):
    """-ln of Wilks' lambda: residual covariances of two least-squares fits, with and without the features."""

    def left(columns):
        return responses - columns @ np.linalg.lstsq(columns, responses, rcond=None)[0]

    small, large = left(known), left(np.column_stack([known, features]))
    return np.linalg.slogdet(small.T @ small)[1] - np.linalg.slogdet(large.T @ large)[1]


def left_share(known, x):
    """Share of the sum of squares of x that a least-squares fit on ``known`` leaves."""
    left = x - known @ np.linalg.lstsq(known, x, rcond=None)[0]
    return (left @ left) / (x @ x)


def cauchy_combination(p, weights):
    """p-value of the weighted sum of Cauchy variables that p-values become (Liu and Xie 2020)."""
    from scipy.stats import cauchy

    total = sum(w * np.tan((0.5 - one) * np.pi) for one, w in zip(p, weights)) / sum(weights)
    return cauchy.sf(total)


# --- within one sample, hidden drivers, changes ---------------------------------------------------------------------


def pair_ratios(first, second):
    """-ln of Wilks' lambda of every rung between two sets of responses ``(row, response)``, by least squares."""
    one = np.ones((len(first), 1))
    rungs = [(first[:, :1], second[:, :1]), (first, second[:, :1]), (second, first[:, :1])]
    rungs += [(first[:, :2], second[:, 1:2]), (second[:, :2], first[:, 1:2]), (first, second)]
    return [minus_log_wilks(one, x, y) for x, y in rungs]


def partial_r2(known, x, y):
    """Share of the residual sum of squares of y given ``known`` that x explains further."""
    small = y - known @ np.linalg.lstsq(known, y, rcond=None)[0]
    both = np.column_stack([known, x])
    large = y - both @ np.linalg.lstsq(both, y, rcond=None)[0]
    return 1 - (large @ large) / (small @ small)


def bridge(products):
    """Partial sums, tied at both ends by the clock of their squares, sample by sample."""
    end, whole, total, clock, found = np.sum(products**2), np.sum(products), 0.0, 0.0, []
    for one in products:
        total, clock = total + one, clock + one**2
        found.append((total - clock / end * whole) / np.sqrt(end))
    return np.array(found)


def bartlett(products):
    """How much larger the variance of a sum is than that of independent products, at least 1."""
    x, n = products - products.mean(), len(products)
    lags = round(n ** (1 / 3))
    weights = [2 * (1 - lag / (lags + 1)) * sum(x[t] * x[t - lag] for t in range(lag, n)) for lag in range(1, lags + 1)]
    return max(1.0, 1 + sum(weights) / (x @ x))


def split_likelihood(x, y, place):
    """Log-likelihood, but for a constant, of two regressions, of the first ``place`` samples and of the rest."""
    found = 0.0
    for part in (slice(None, place), slice(place, None)):
        left = y[part] - x[part] @ np.linalg.lstsq(x[part], y[part], rcond=None)[0]
        found -= 0.5 * len(left) * np.log(left @ left / len(left))
    return found
