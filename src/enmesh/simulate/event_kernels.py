"""Compiled thinning of point processes that drive one another."""

import numpy as np

from enmesh.compiled import allocating_kernel


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
