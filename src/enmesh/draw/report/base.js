'use strict';
// The page's data, the ways to write a number, and the one filter and one tooltip that all pictures share.

const data = JSON.parse(document.getElementById('data').textContent);
const [NATS, LAG_UNIT] = data.units ?? ['nats', 'samples'];
const inLoop = new Set(data.loops);
const links = data.links.map(([source, target, te, p, q, lags, selected, surrogates, effect, lag, stability = null]) => {
  const key = `${source} ${target}`, behind = data.evidence[key] ?? null;
  return { key, source, target, te, p, q, lags, lag, effect, behind, selected: selected === 1, hist: surrogates ?? behind?.null ?? null, stability, sign: data.signs[key] ?? '', loop: inLoop.has(key) };
});
// Of the other pairs of a large network there are the numbers alone.
links.push(...data.pairs.map(([source, target, te, p, q, lag]) => ({ key: `${source} ${target}`, source, target, te, p, q, lags: [lag], lag, effect: null, behind: null, selected: false, hist: null, stability: null, sign: '', loop: false })));
const repeated = links.some((link) => link.stability !== null); // whether a bootstrap was made
const found = links.filter((link) => link.selected);
const lowered = data.names.map((name) => name.toLowerCase());
const strongest = Math.max(...found.map((link) => link.te ?? 0), 1e-12);

function byId(id) { return document.getElementById(id); }

function make(tag, attributes = {}, ...children) {
  const drawn = ['svg', 'g', 'path', 'rect', 'text', 'line', 'circle', 'title', 'tspan', 'polyline', 'image'].includes(tag);
  const element = drawn ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function number(value, digits = 3) {
  if (value === null || value === undefined) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4) return value.toExponential(1).replaceAll('-', '−');
  const text = size >= 1000 ? value.toFixed(0) : Number(value.toPrecision(digits)).toString();
  return text.replace('-', '−');
}

function signed(value) { return value > 0 ? `+${number(value)}` : number(value); }

function arrowName(link) { return `${data.names[link.source]} → ${data.names[link.target]}`; }

function isSure(link) { return link.q !== null && link.q <= data.level; }

// --- colour: signed effect, strength or lag -----------------------------------------------------------------------

const largest = (values, least = 1e-12) => values.reduce((most, value) => Math.max(most, value), least);
const MODES = {
  effect: { label: 'effect on the target, in standard deviations; grey: sign not sure', value: (link) => (link.sign === 'up' || link.sign === 'down' ? link.effect : null), stops: ['--fell', '--plain', '--grew'], ends: () => [-1, 1] },
  te: { label: `transfer entropy (${NATS})`, value: (link) => link.te, stops: ['--s0', '--s1', '--s2'], ends: (top) => [0, top] },
  lag: { label: `lag (${LAG_UNIT})`, value: (link) => link.lag, stops: ['--q0', '--q1', '--q2', '--q3', '--q4'], ends: (top) => [1, Math.max(top, 2)] },
};
for (const mode of Object.values(MODES)) mode.range = mode.ends(largest(found.map((link) => Math.abs(mode.value(link) ?? 0))));

// A place on a scale of colours, mixed by the browser so that it follows light, dark and print.
function shade({ stops, range: [low, high] }, value) {
  if (value === null) return 'var(--plain)';
  const place = Math.min(Math.max((value - low) / (high - low || 1), 0), 1) * (stops.length - 1);
  const at = Math.min(Math.floor(place), stops.length - 2);
  return `color-mix(in oklab, var(${stops[at + 1]}) ${Math.round((place - at) * 100)}%, var(${stops[at]}))`;
}

function colour(link) { const mode = MODES[view.colour]; return shade(mode, mode.value(link)); }

// Round numbers for an axis from low to high.
function ticks(low, high, most = 4) {
  const rough = (high - low) / most || 1, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((part) => part * unit >= rough * 0.999), found_ = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found_.push(Number((k * step).toPrecision(12)));
  return found_;
}

// --- the filters: q-value, strength, lag, name -----------------------------------------------------------------

const STOPS = [1e-6, 1e-4, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
const STEPS = 40;
const view = { q: 1, te: 0, lag: null, name: '', fade: repeated, everything: false, alone: true, feedback: false, layout: 'auto', colour: found.some((link) => link.effect !== null) ? 'effect' : 'te' };
const followers = [];

function passes(link) {
  return (view.q >= 1 || (link.q !== null && link.q <= view.q)) && (view.te <= 0 || (link.te ?? 0) >= view.te)
    && (view.lag === null || link.lags.includes(view.lag)) && (!view.name || isNamed(link.source) || isNamed(link.target));
}

function isNamed(node) { return lowered[node].includes(view.name); }

function follow(update) { followers.push(update); update(); }

const CALM = 300; // milliseconds without a change after which everything is drawn again
let settled = 0;

function refresh() {
  document.body.classList.add('filtering');
  clearTimeout(settled);
  settled = setTimeout(() => document.body.classList.remove('filtering'), CALM);
  for (const update of followers) update();
}

function lagText(link) { return link.lags.length ? link.lags.join(', ') : '–'; }

// Lags as times where the recording has a unit: "8 ms".
function laterText(link) { return link.lags.map((lag) => data.later[String(Number(lag.toPrecision(6)))] ?? lag).join(', ') || '–'; }

function startFilter() {
  const q = byId('q'), te = byId('te'), lag = byId('lag'), name = byId('name'), fade = byId('fade');
  q.max = q.value = STOPS.length - 1;
  te.max = STEPS;
  te.value = 0;
  const lags = [...new Set(found.flatMap((link) => link.lags))].sort((a, b) => a - b);
  lag.append(make('option', { value: '' }, 'any'), ...lags.map((value) => make('option', { value }, String(value))));
  byId('lag-label').hidden = lags.length < 2;
  byId('fade-label').hidden = byId('fade-key').hidden = !repeated;
  const alone = byId('alone'), colours = byId('colour');
  alone.checked = false;
  alone.addEventListener('change', () => { view.alone = !alone.checked; refresh(); fit(); });
  byId('alone-label').hidden = !found.length || data.names.every((_, i) => found.some((link) => link.source === i || link.target === i));
  for (const option of colours.options) option.disabled = !found.some((link) => (option.value === 'effect' ? link.effect : MODES[option.value].value(link)) !== null);
  for (const box of [te.parentElement, q.parentElement, colours.parentElement]) box.hidden = !found.length;
  byId('ghost-label').hidden = byId('ghost-key').hidden = !data.removed.length;
  byId('ghosts').checked = false;
  byId('ghosts').addEventListener('change', (event) => { view.feedback = event.target.checked; refresh(); });
  byId('halo-key').hidden = !data.halos;
  byId('badge-key').hidden = !Object.keys(data.badges).length;
  byId('solid-key').hidden = !found.some(isSure);
  byId('dashed-key').hidden = found.every(isSure);
  byId('curved-key').hidden = !found.some((link) => link.sign === 'curved');
  byId('arrow-hint').hidden = !found.length;
  colours.value = view.colour;
  colours.addEventListener('change', () => { view.colour = colours.value; refresh(); });
  fade.addEventListener('change', () => { view.fade = fade.checked; refresh(); });
  q.addEventListener('input', () => { view.q = STOPS[q.value]; refresh(); });
  te.addEventListener('input', () => { view.te = strongest * te.value / STEPS; refresh(); });
  lag.addEventListener('change', () => { view.lag = lag.value === '' ? null : Number(lag.value); refresh(); });
  name.addEventListener('input', () => { view.name = name.value.trim().toLowerCase(); refresh(); });
  follow(() => {
    byId('q-value').textContent = number(view.q);
    q.setAttribute('aria-valuetext', `q up to ${number(view.q)}`);
    byId('te-value').textContent = number(view.te, 2);
    te.setAttribute('aria-valuetext', `transfer entropy from ${number(view.te, 2)} ${NATS}`);
    const shown = found.filter(passes).length;
    byId('shown').textContent = found.length ? `${shown} of ${found.length} ${found.length === 1 ? 'link' : 'links'} shown` : '';
    drawKeys();
  });
}

// The key: a scale of colours with its ends, and three widths with the transfer entropy that each stands for.
function drawKeys() {
  const mode = MODES[view.colour], [low, high] = mode.range;
  byId('ramp').parentElement.hidden = byId('widths').parentElement.hidden = !found.length;
  byId('ramp').style.background = `linear-gradient(90deg, ${mode.stops.map((stop) => `var(${stop})`)})`;
  byId('ramp-low').textContent = number(low, 2);
  byId('ramp-high').textContent = number(high, 2);
  const unsigned = view.colour === 'effect' && found.every((link) => link.sign !== 'up' && link.sign !== 'down');
  for (const part of ['ramp', 'ramp-low', 'ramp-high']) byId(part).hidden = unsigned;
  byId('grey-key').hidden = !unsigned;
  byId('ramp-label').textContent = unsigned ? 'grey: no effect has a sure sign' : mode.label;
  byId('hollow-key').hidden = !found.some((link) => link.sign === 'down');
  if (byId('widths').childElementCount) return;
  byId('widths').append(...[0.25, 0.5, 1].flatMap((share) => {
    const line = make('i', { class: 'line' });
    line.style.borderTopWidth = `${(1.5 + 4.5 * share).toFixed(1)}px`;
    return [line, number(share * strongest, 2)];
  }));
}

// --- the tooltip ----------------------------------------------------------------------------------------------------

function rows(pairs) {
  return make('dl', {}, ...pairs.flatMap(([term, value]) => [make('dt', {}, term), make('dd', {}, value)]));
}

function linkTip(link) {
  const parts = [make('b', {}, arrowName(link))];
  parts.push(rows([['TE', `${number(link.te, 4)} ${NATS}`], ...limits(link), ['p', number(link.p)], ['q', number(link.q)],
    [link.lags.length > 1 ? 'lags' : 'lag', laterText(link)], ...(link.effect === null ? [] : [['effect', effectText(link)]]), ...(repeated ? [['stability', number(link.stability)]] : []),
    ...(link.loop ? [['feedback', 'part of a loop']] : []), ['in the network', link.selected ? 'yes' : 'no']]));
  if (link.hist) parts.push(histogram(link, 200, 54));
  return parts;
}

function limits({ behind }) { return behind?.low === undefined || behind?.low === null ? [] : [['95 % interval', `${number(behind.low)} to ${number(behind.high)}`]]; }

function effectText(link) {
  const error = link.behind?.effect_error, more = error === undefined || error === null ? '' : ` ± ${number(error, 2)}`;
  return `${signed(link.effect)}${more}${link.sign === 'curved' ? ', curved' : ''}`;
}

function showTip(parts, x, y) {
  const tip = byId('tip');
  tip.replaceChildren(...parts);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  const below = y + 16 + box.height > innerHeight ? y - 16 - box.height : y + 16;
  tip.style.transform = `translate(${Math.max(6, right)}px, ${Math.max(6, below)}px)`;
}

function hideTip() { byId('tip').hidden = true; }

// Tell about an element while a mouse is over it; after a touch, until the next one. One listener serves a whole
// table or matrix: `which` gives the link of the element that the pointer is over.
function pointedInside(box, which, also = () => {}) {
  const say = (event) => {
    const link = which(event.target);
    if (link) also(link);
    if (link) showTip(linkTip(link), event.clientX, event.clientY); else hideTip();
  };
  for (const kind of ['pointermove', 'pointerdown']) box.addEventListener(kind, say);
  box.addEventListener('pointerleave', (event) => { if (event.pointerType !== 'touch') calm(); });
}

function pointed(element, say, done = hideTip) {
  for (const kind of ['pointerenter', 'pointermove', 'pointerdown']) element.addEventListener(kind, say);
  element.addEventListener('pointerleave', (event) => { if (event.pointerType !== 'touch') done(); });
}

addEventListener('keydown', (event) => { if (event.key === 'Escape') hideTip(); });
addEventListener('scroll', hideTip, { passive: true });
