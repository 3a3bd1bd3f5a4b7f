"""Compiled orbits of the ready-made systems. Imported on first use, because numba is slow to load.

Parents come as flat positions: those of node i are ``drivers[offsets[i]:offsets[i + 1]]``, and ``lags`` has the lag of
each. A link reads its source's state that many samples before the next one, at the earliest that of the start.
"""

import numpy as np

from enmesh.compiled import allocating_kernel, part

LOGISTIC, TENT, HENON = range(3)  # as in `maps.NAMED`
HENON_B = 0.3
MAX_STATE = 1e6
MAX_STEPS = 100_000


@part
def _copy(values, row):
    """Write ``values`` into a row; as an assignment it would take seconds to compile, for the sake of its error."""
    for i in range(len(values)):
        row[i] = values[i]


@part
def _reflected(x):
    if 0.0 <= x <= 1.0:
        return x
    folded = x % 2.0
    return min(folded, 2.0 - folded)


@part
def _image(kind, r, u, v):
    """Return the image of the state (u, v) of a Henon map, or of u in a logistic or tent map (slope ``r``)."""
    if kind == HENON:
        return 1.0 - r * u**2 + v, HENON_B * u
    return (r * min(u, 1.0 - u) if kind == TENT else r * u * (1.0 - u)), 0.0


@allocating_kernel
def map_orbit(start, noise, kind, r, coupling, offsets, drivers, lags):
    """Return the orbit of coupled maps: coordinates ``(u_0, v_0, u_1, v_1, ...)`` of Henon maps, else u in [0, 1]."""
    d = 2 if kind == HENON else 1
    states = np.empty((len(noise) + 1, len(start)))
    _copy(start, states[0])
    for n in range(len(noise)):
        for i in range(len(r)):
            at, also = d * i, d * i + d - 1  # where u and v stand, the same place without v
            u, v = _image(kind, r[i], states[n, at], states[n, also])
            first, last = offsets[i], offsets[i + 1]
            if last > first:
                total_u, total_v = 0.0, 0.0
                for link in range(first, last):
                    j, source = d * drivers[link], states[max(0, n + 1 - lags[link])]
                    image_u, image_v = _image(kind, r[i], source[j], source[j + d - 1])
                    total_u += image_u
                    total_v += image_v
                share = coupling[i] / (last - first)
                u = (1.0 - coupling[i]) * u + share * total_u
                v = (1.0 - coupling[i]) * v + share * total_v
            states[n + 1, also] = v + noise[n, also]
            u += noise[n, at]
            states[n + 1, at] = u if kind == HENON else _reflected(u)
    return states


@part
def _velocity(x, rossler, parameters, coupling, offsets, drivers, held, out):
    """Write the velocities of diffusively coupled Lorenz and Rossler systems, three coordinates each, into ``out``.

    A link reads ``held``, or its source as it moves where that is NaN.
    """
    for i in range(len(rossler)):
        at = 3 * i
        u, v, w = x[at], x[at + 1], x[at + 2]
        p, q, s = parameters[i, 0], parameters[i, 1], parameters[i, 2]
        if rossler[i]:
            out[at], out[at + 1], out[at + 2] = -v - w, u + p * v, q + w * (u - s)
        else:
            out[at], out[at + 1], out[at + 2] = p * (v - u), u * (q - w) - v, u * v - s * w
        first, last = offsets[i], offsets[i + 1]
        for link in range(first, last):
            source = x[3 * drivers[link]] if np.isnan(held[link]) else held[link]
            out[at] += coupling[i] / (last - first) * (source - u)


# The pair of Dormand and Prince (1980), orders 5 and 4: stage weights, of which the last row is the step
# itself, and the difference of the two orders.
STAGES = np.array(
    [
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


@part
def _attempt(x, h, k, new, tolerance, rossler, parameters, coupling, offsets, drivers, held):
    """Write the state one step of length ``h`` after ``x`` into ``new``; return its error in tolerances.

    ``k`` holds the velocities of the seven stages; the first must be known, the last is that of ``new``.
    """
    size = len(x)
    for stage in range(6):
        for i in range(size):
            slope = 0.0
            for earlier in range(stage + 1):
                slope += STAGES[stage, earlier] * k[earlier, i]
            new[i] = x[i] + h * slope
        _velocity(new, rossler, parameters, coupling, offsets, drivers, held, k[stage + 1])
    total = 0.0
    for i in range(size):
        error = 0.0
        for stage in range(7):
            error += ERROR[stage] * k[stage, i]
        total += (h * error / (tolerance * (1.0 + max(abs(x[i]), abs(new[i]))))) ** 2
    return np.sqrt(total / size)


@allocating_kernel
def flow_orbit(start, noise, dt, tolerance, rossler, parameters, coupling, offsets, drivers, lags):
    """Return samples of coupled flows every ``dt``, integrated with steps of adaptive length.

    The length carries over from sample to sample; a step ends on each sample, where noise is added. NaN once
    the state has run away, or the steps have shrunk to nothing. Links with a lag over 1 hold their source's sample.
    """
    size = len(start)
    states = np.full((len(noise) + 1, size), np.nan)
    _copy(start, states[0])
    x, new, k = start.copy(), np.empty(size), np.empty((7, size))
    held = np.full(len(drivers), np.nan)
    usual = dt / 8
    for n in range(len(noise)):
        done, steps = 0.0, 0
        for link in range(len(drivers)):
            if lags[link] > 1:
                held[link] = states[max(0, n + 1 - lags[link]), 3 * drivers[link]]
        _velocity(x, rossler, parameters, coupling, offsets, drivers, held, k[0])
        while done < dt:
            last = usual >= dt - done
            h = dt - done if last else usual
            error = _attempt(x, h, k, new, tolerance, rossler, parameters, coupling, offsets, drivers, held)
            if error <= 1.0:
                longer = h * min(5.0, 0.9 * max(error, 1e-10) ** -0.2)
                usual = max(usual, longer) if last else longer
                done = dt if last else done + h
                _copy(new, x)
                _copy(k[6], k[0])
            else:  # an error that is not finite comes here too
                usual = h * (max(0.2, 0.9 * error**-0.2) if error < np.inf else 0.2)
            steps += 1
            if _ran_away(x, states[n + 1]) or steps > MAX_STEPS:
                return states
        for i in range(size):
            x[i] += noise[n, i]
        _copy(x, states[n + 1])
    return states


@part
def _ran_away(x, row):
    """Whether the state has run away; if so it goes into ``row``, where the nodes that did have no value."""
    away = False
    for value in x:
        away |= abs(value) > MAX_STATE
    if away:
        for i in range(len(x)):
            row[i] = np.nan if abs(x[i]) > MAX_STATE else x[i]
    return away


@allocating_kernel
def thinned(rng, rate, rest, offsets, drivers, gain, delay, width, bump, duration, times, nodes):
    """Fill ``times`` and ``nodes`` with events in order; return how many there are, or -1 if there is no room.

    ``bump``: the rate of a node rises some time after the last event of a driver, as a Gaussian in that time; else
    every event of a driver adds to the rate, which decays (Hawkes). After an event a node rests for a time.
    """
    size, count, t = len(rate), 0, 0.0
    last, excited = np.full(size, -np.inf), np.zeros(len(drivers))
    bound = np.empty(size)
    while True:
        for i in range(size):
            bound[i] = rate[i]
            for link in range(offsets[i], offsets[i + 1]):
                bound[i] += max(0.0, gain[link]) if bump else excited[link]
        total = bound.sum()
        if total <= 0:
            return count
        step = rng.exponential() / total
        t += step
        if t > duration:
            return count
        for link in range(len(drivers)):
            excited[link] *= np.exp(-step / width[link])
        node, mark = 0, rng.random() * total
        while node < size - 1 and mark >= bound[node]:
            mark -= bound[node]
            node += 1
        now = rate[node]
        for link in range(offsets[node], offsets[node + 1]):
            if not bump:
                now += excited[link]
                continue
            since = t - last[drivers[link]]
            if since < 2 * delay[link]:
                edge = np.exp(-((delay[link] / width[link]) ** 2) / 2)
                now += gain[link] * (np.exp(-(((since - delay[link]) / width[link]) ** 2) / 2) - edge)
        if rng.random() * bound[node] < now and t - last[node] >= rest:
            if count == len(times):
                return -1
            times[count], nodes[count], last[node] = t, node, t
            count += 1
            for link in range(len(drivers)):
                if drivers[link] == node:
                    excited[link] += gain[link] / width[link]
