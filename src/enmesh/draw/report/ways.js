// New ways for arrows where a node was moved, and for links that the layout does not have.

const GHOST_BENDS = [0.18, -0.18, 0.32, -0.32, 0.5, -0.5, 0.8, -0.8];
const BENDS = [0, 0.12, -0.12, 0.22, -0.22, 0.35, -0.35, 0.5, -0.5, 0.7, -0.7, 0.95, -0.95], GAP = 0.1;

// How far a place lies outside a node's box, which may be turned; negative inside.
function outside([x, y], node, i = nodes.indexOf(node)) {
  const turn = -layout.turn[i] * Math.PI / 180, [dx, dy] = [x - node.x, y - node.y];
  const [u, v] = [dx * Math.cos(turn) - dy * Math.sin(turn), dx * Math.sin(turn) + dy * Math.cos(turn)];
  const [a, b] = [Math.abs(u) - layout.width[i] / 2 + 0.5, Math.abs(v) - layout.height[i] / 2 + 0.5];
  return Math.hypot(Math.max(a, 0), Math.max(b, 0)) + Math.min(Math.max(a, b), 0) - 0.5;
}

function curveTo(a, b, bend) {
  const over = [(a[0] + b[0]) / 2 + bend * (b[1] - a[1]), (a[1] + b[1]) / 2 - bend * (b[0] - a[0])];
  return [a, ...[a, b].map((end) => end.map((value, k) => (value + 2 * over[k]) / 3)), b];
}

// The gentlest curve from rim to rim that runs through no other box; of two opposite arrows each bends to its own side.
function rerouted(e) {
  const both = !e.bends && e.to.edges.some((other) => other.from === e.to && other.to === e.from);
  const [start, end] = [e.from, e.to].map((node) => [node.x, node.y]), others = nodes.filter((node) => node !== e.from && node !== e.to && !node.group.classList.contains('away'));
  let best = null;
  for (const bend of e.bends ?? BENDS) {
    if (both && bend <= 0) continue;
    const whole = sampled(curveTo(start, end, bend), 48), outer = whole.filter((p) => outside(p, e.from) > GAP && outside(p, e.to) > GAP);
    if (outer.length < 2) continue;
    const met = others.filter((node) => outer.some((p) => outside(p, node) < 0.15)).length;
    if (!best || met < best.met) best = { met, outer };
    if (!met) break;
  }
  if (best?.met && others.length <= MOST_BOXES) {
    const outer = detour(start, end, others).filter((p) => outside(p, e.from) > GAP && outside(p, e.to) > GAP);
    if (outer.length > 1) best = { outer };
  }
  if (!best) best = { outer: [start, end] }; // the boxes touch: nothing of the arrow can be seen between them
  const path = through(best.outer.length > 40 ? best.outer.filter((_, k) => k % 3 === 0 || k === best.outer.length - 1) : best.outer), middle = best.outer[Math.floor(best.outer.length / 2)];
  const near = [...best.outer].sort((a, b) => distance(a, middle) - distance(b, middle));
  return { path, tag: near.find((p) => nodes.every((node) => outside(p, node) > 0.45)) ?? middle };
}

// The shortest way around boxes, by their corners (A*), with its bends rounded; empty where there is none.
const MOST_BOXES = 60, ROUND = 0.42;

function detour(start, end, others) {
  const boxes = others.map((node) => { const i = nodes.indexOf(node); return { x: node.x, y: node.y, w: layout.width[i] / 2, h: layout.height[i] / 2 }; });
  const clear = (a, b) => boxes.every((box) => !meets(a, b, box, 0.16));
  const free = ([x, y]) => boxes.every((box) => Math.abs(x - box.x) > box.w + 0.3 || Math.abs(y - box.y) > box.h + 0.3);
  const stops = [start, end, ...boxes.flatMap(({ x, y, w, h }) => [-1, 1].flatMap((a) => [-1, 1].map((b) => [x + a * (w + ROUND), y + b * (h + ROUND)]))).filter(free)];
  const cost = stops.map(() => Infinity), from = stops.map(() => -1), left = new Set(stops.keys());
  cost[0] = 0;
  while (left.size) {
    let at = -1;
    for (const k of left) if (at < 0 || cost[k] + distance(stops[k], end) < cost[at] + distance(stops[at], end)) at = k;
    if (at === 1 || cost[at] === Infinity) break;
    left.delete(at);
    for (const k of left) {
      const way = cost[at] + distance(stops[at], stops[k]) + 0.3; // few bends are better than many
      if (way < cost[k] && clear(stops[at], stops[k])) [cost[k], from[k]] = [way, at];
    }
  }
  if (from[1] < 0) return [];
  const knots = [end];
  for (let k = from[1]; k >= 0; k = from[k]) knots.unshift(stops[k]);
  const towards = (a, b, far) => { const t = Math.min(far / (distance(a, b) || 1), 0.5); return [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]; };
  const bends = knots.flatMap((p, k) => (k === 0 || k === knots.length - 1 ? [p] : [towards(p, knots[k - 1], 0.5), ...[0.25, 0.5, 0.75].map((t) => { const [a, b] = [towards(p, knots[k - 1], 0.5), towards(p, knots[k + 1], 0.5)]; return [0, 1].map((x) => (1 - t) ** 2 * a[x] + 2 * t * (1 - t) * p[x] + t * t * b[x]); }), towards(p, knots[k + 1], 0.5)]));
  return bends.flatMap((p, k) => (k ? Array.from({ length: 12 }, (_, n) => [0, 1].map((x) => bends[k - 1][x] + (p[x] - bends[k - 1][x]) * (n + 1) / 12)) : [p]));
}

// Whether a straight line runs through a box, or nearer to it than `near`.
function meets(a, b, { x, y, w, h }, near) {
  let [enter, leave] = [0, 1];
  for (const [p, q, middle, half] of [[a[0], b[0], x, w + near], [a[1], b[1], y, h + near]]) {
    if (Math.abs(q - p) < 1e-9) { if (Math.abs(p - middle) >= half) return false; continue; }
    const [one, two] = [(middle - half - p) / (q - p), (middle + half - p) / (q - p)].sort((m, n) => m - n);
    [enter, leave] = [Math.max(enter, one), Math.min(leave, two)];
  }
  return enter < leave;
}

// A broken line as a chain of cubic curves, as routes are.
function through(points) {
  return points.flatMap((p, k) => (k ? [1, 2, 3].map((part) => p.map((value, x) => points[k - 1][x] + (value - points[k - 1][x]) * part / 3)) : [p]));
}

// Points along a chain of cubic Bézier curves; a straight piece needs only its ends.
function sampled(path, most = 16) {
  const way = [path[0]];
  for (let k = 0; k + 3 < path.length; k += 3) {
    const [a, b, c, d] = path.slice(k, k + 4), steps = most === 16 && straight(a, b, d) && straight(a, c, d) ? 1 : most;
    for (let s = 1; s <= steps; s++) {
      const t = s / steps, u = 1 - t;
      way.push([0, 1].map((x) => u ** 3 * a[x] + 3 * t * u * u * b[x] + 3 * t * t * u * c[x] + t ** 3 * d[x]));
    }
  }
  return way;
}

function straight(a, b, c) { return Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) < 1e-3; }

function at(way, walked, along) {
  const k = Math.max(1, walked.findIndex((value) => value >= along));
  const share = (along - walked[k - 1]) / (walked[k] - walked[k - 1] || 1);
  return [0, 1].map((x) => way[k - 1][x] + share * (way[k][x] - way[k - 1][x]));
}

function drawn(points) { return `M${points.map((point) => point.map((value) => value.toFixed(3))).join('L')}`; }

function distance(a, b) { return Math.hypot(a[0] - b[0], a[1] - b[1]); }
