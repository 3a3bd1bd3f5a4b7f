'use strict';
// What all parts of the page share: elements, questions to the server, the state and what is shown of it.

const data = JSON.parse(document.getElementById('data').textContent);
const DRAWN = ['svg', 'g', 'path', 'rect', 'text', 'line', 'circle', 'title', 'marker', 'defs'];
let state = { version: -1, recordings: [], runs: [], cards: {} };
const followers = []; // functions that bring a part of the page up to date

function byId(id) { return document.getElementById(id); }

function make(tag, attributes = {}, ...children) {
  const element = DRAWN.includes(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function button(label, onclick, more = {}) { return make('button', { type: 'button', onclick, ...more }, label); }

function count(n, one, many = `${one}s`) { return `${n.toLocaleString('en')} ${n === 1 ? one : many}`; }

function duration(seconds) {
  if (seconds < 1.5) return 'a second';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function size(bytes) { return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`; }

function say(message) {
  byId('said').textContent = message;
  byId('said').hidden = !message;
}

// --- questions ------------------------------------------------------------------------------------------------------

class Refused extends Error {}

async function answerOf(response) {
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Refused(answer?.error ?? 'refused');
  return answer;
}

async function ask(action, given = {}) {
  return answerOf(await fetch(`do/${action}`, { method: 'POST', body: JSON.stringify(given) }));
}

// Do what a click asks for; what is refused is said at the top.
async function attempt(work) {
  say('');
  try { return await work(); } catch (error) {
    if (error instanceof Refused) say(error.message);
    return null;
  }
}

async function news(how = '') {
  state = { cards: state.cards, ...await answerOf(await fetch(`state?cards=${Object.keys(state.cards).length}&${how}`)) };
}

// Ask for news for ever; a server that is gone may come back.
async function listen() {
  for (;;) {
    try {
      await news(`seen=${state.version}`);
      byId('gone').hidden = true;
      refresh();
    } catch {
      byId('gone').hidden = false;
      state.version = -1;
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

// --- what is shown: the start, a recording, a run, or several side by side; its name stands in the address -------------------

function shown() {
  const [kind, id] = location.hash.slice(1).split('-');
  const known = { recording: state.recordings, run: state.runs }[kind]?.find((one) => one.id === id);
  return known || kind === 'compare' ? { kind, id, known } : { kind: 'start' };
}

function show(kind, id = '') {
  const hash = kind === 'start' ? '#' : `#${kind}${id ? `-${id}` : ''}`;
  if (location.hash !== hash) history.pushState(null, '', hash);
  say('');
  refresh();
  scrollTo(0, 0);
}

function refresh() {
  const now = shown();
  for (const kind of ['start', 'recording', 'run', 'compare']) byId(kind).hidden = kind !== now.kind;
  document.title = now.known ? `${now.known.name ?? now.known.title} · enmesh` : 'enmesh';
  drawTabs(now);
  for (const update of followers) update(now);
}

function drawTabs(now) {
  const tabs = [['start', '', '+ Open', 'open']];
  for (const recording of state.recordings) {
    tabs.push(['recording', recording.id, recording.name, 'file']);
    for (const run of state.runs.filter((one) => one.recording === recording.id)) {
      const found = run.status === 'done' ? count(run.links, 'link') : WORDS[run.status];
      tabs.push(['run', run.id, `run ${run.number}: ${found}`, run.status]);
    }
  }
  if (state.runs.filter((run) => run.status === 'done').length > 1) tabs.push(['compare', '', 'Side by side', 'both']);
  const made = JSON.stringify([tabs, now.kind, now.id]);
  if (byId('tabs').dataset.made === made) return; // the focus stays where it is
  byId('tabs').dataset.made = made;
  const focused = document.activeElement?.closest('#tabs button')?.dataset.tab;
  byId('tabs').replaceChildren(...tabs.map(([kind, id, label, look]) => button(label, () => show(kind, id), {
    class: look, 'data-tab': `${kind}-${id}`, 'aria-current': kind === now.kind && (id === (now.id ?? '')) ? 'page' : null,
  })));
  if (focused) byId('tabs').querySelector(`[data-tab="${focused}"]`)?.focus();
  const here = byId('tabs').querySelector('[aria-current]');
  if (here) byId('tabs').scrollLeft = here.offsetLeft - 80;
}

const WORDS = { waiting: 'waiting', running: 'running', failed: 'refused', stopped: 'stopped', cancelled: 'cancelled', done: 'done' };

// The lines that give the same network again, each to copy.
function repeatLines(command, python, example) {
  const lines = [['Command line', example ? `enmesh datasets ${example} --out ${example}.csv\n${command}` : command], ['Python', python]];
  return make('div', { class: 'repeat' }, ...lines.filter(([, text]) => text).map(([name, text]) => {
    const copy = button('Copy', async () => {
      await navigator.clipboard?.writeText(text);
      copy.textContent = 'Copied';
      setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
    }, { 'aria-label': `Copy: ${name}` });
    return make('figure', { class: 'code' }, make('figcaption', {}, name, copy), make('pre', { 'data-lines': name, tabindex: 0 }, text));
  }));
}
