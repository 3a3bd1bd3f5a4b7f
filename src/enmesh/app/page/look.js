// A recording: what was read, a line for every node with what could mislead, the choices, and the start of a run.

const values = {}, looks = {}, undo = {}, costs = {}; // by recording
let asked = 0;
const SECTIONS = [['run', 'more', 'More choices'], ['prepare', null, 'Prepare'], ['read', null, 'How the file is read']];

async function look(id, change = {}) {
  values[id] = { ...(values[id] ?? state.recordings.find((one) => one.id === id)?.values ?? {}), ...change };
  for (const [name, value] of Object.entries(values[id])) if (value === null || value === '' || value === false && fieldOf(name).kind === 'switch') delete values[id][name];
  const turn = ++asked;
  byId('recording').classList.add('busy');
  const found = await attempt(() => ask('look', { recording: id, values: values[id] }));
  if (turn !== asked) return;
  byId('recording').classList.remove('busy');
  if (found) looks[id] = found;
  costs[id] = null;
  drawRecording(id);
  if (found && !found.error) estimate(id, turn);
}

async function estimate(id, turn) {
  const cost = await attempt(() => ask('cost', { recording: id, values: values[id] }));
  if (turn !== asked || !cost) return;
  costs[id] = cost;
  drawCost(id);
}

function fieldOf(name) { return data.fields.find((field) => field.name === name); }

followers.push((now) => {
  if (now.kind !== 'recording') return;
  if (byId('recording').dataset.id !== now.id) {
    byId('recording').dataset.id = now.id;
    byId('recording').replaceChildren(make('h1', {}, now.known.name), make('p', { class: 'quiet', role: 'status' }, 'Reading …'));
    if (looks[now.id]) drawRecording(now.id); else look(now.id);
  }
});

function drawRecording(id) {
  if (byId('recording').dataset.id !== id) return;
  const known = state.recordings.find((one) => one.id === id), found = looks[id];
  if (!known || !found) return;
  const focused = document.activeElement?.id, open = [...document.querySelectorAll('#recording details[open]')].map((one) => one.dataset.section);
  const example = data.examples.find((one) => one.name === known.example);
  byId('recording').replaceChildren(...[
    make('div', { class: 'title' }, make('h1', {}, known.name), button('Close', async () => { await attempt(() => ask('remove', { recording: id })); show('start'); }, { class: 'plain' })),
    example ? make('p', { class: 'quiet about' }, example.summary) : null,
    found.error ? errorNote(id, found) : factsLine(id, found),
    make('div', { class: 'desk' },
      make('div', { class: 'nodes' }, ...(found.error ? [] : [findings(id, found)]), nodeList(id, found)),
      make('aside', { class: 'choices', 'aria-label': 'Run' }, runCard(id, found), ...SECTIONS.map(([one, two, title]) => section(id, title, [one, two], open)))),
    make('footer', {}, make('h2', {}, 'The same by one line'), repeatLines(found.command, found.python, known.example)),
  ].filter(Boolean));
  drawCost(id);
  if (focused) byId(focused)?.focus();
}

function errorNote(id, found) {
  const fixes = found.fixes.map((fix) => button(fix.label, () => look(id, { [fix.name]: fix.value }), { class: 'main' }));
  return make('div', { class: 'note', role: 'alert' }, make('p', {}, make('b', {}, 'This recording cannot be used yet. '), found.error),
    fixes.length ? make('p', { class: 'fixes' }, 'What would help: ', ...fixes) : make('p', {}, 'Change how the file is read, beside.'));
}

// The guesses: each is a button that leads to the field that changes it.
function factsLine(id, found) {
  const facts = found.facts;
  if (facts.events) return eventFacts(facts, found.notes);
  const every = facts.known ? `a sample every ${facts.step}` : 'no time column: samples are counted';
  const parts = [
    [count(facts.nodes, 'node'), 'columns'], [count(facts.samples, 'sample'), 'rows'], [facts.start && facts.known ? `${every}, from ${facts.start.replace('T00:00:00', '').replace('T', ' ').replace('+00:00', '')}` : every, 'time'],
    [count(facts.trials, 'trial'), 'trials'], [facts.missing ? `${count(facts.missing, 'missing value')}` : 'nothing missing', 'missing'],
    ...facts.prepared.map((done) => [done, 'detrend']),
  ];
  const notes = found.notes.length ? make('ul', { class: 'quiet notes' }, ...found.notes.map((note) => make('li', {}, note))) : '';
  return make('div', {}, make('p', { class: 'facts' }, ...parts.map(([label, name]) => button(label, () => reveal(name), { title: 'Change this', 'data-fact': name }))), notes);
}

function eventFacts(facts, notes) {
  const observed = facts.guessed ? `observed from the first to the last event, ${facts.duration}` : `observed for ${facts.duration}`;
  const parts = [[count(facts.nodes, 'node'), 'node'], [count(facts.events, 'event'), 'events'], [observed, 'duration'], [count(facts.trials, 'trial'), 'trials']];
  const list = notes.length ? make('ul', { class: 'quiet notes' }, ...notes.map((note) => make('li', {}, note))) : '';
  return make('div', {}, make('p', { class: 'facts' }, ...parts.map(([label, name]) => button(label, () => reveal(name), { title: 'Change this', 'data-fact': name }))), list);
}

function reveal(name) {
  const field = byId(`field-${name}`);
  field.closest('details').open = true;
  field.focus();
  field.scrollIntoView({ block: 'center' });
}

// What could mislead, each with switches that repair it.
function findings(id, found) {
  if (found.facts.events) return make('p', { class: 'quiet' }, 'Each line shows how many events a node has over time.');
  if (!found.badges.length) return make('p', { class: 'fine' }, 'No trend, season, gap, spike or copy was found.');
  const items = found.badges.map((badge) => make('li', { class: badge.repaired ? 'repaired' : '', 'data-kind': badge.kind },
    badgeOf(badge), make('span', { class: 'message' }, sentence(badge.message)), make('span', { class: 'switches' }, ...badge.fixes.map((fix) => repairSwitch(id, badge, fix)))));
  return make('div', { class: 'findings' }, make('h2', {}, 'What could mislead'), make('ul', {}, ...items));
}

function badgeOf(badge) {
  return make('span', { class: `badge ${badge.kind} ${badge.repaired ? 'done' : ''}`, title: badge.message }, badge.repaired ? `${badge.badge} ✓` : badge.badge);
}

function sentence(text) { return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`; }

function isSet(id, fix) {
  const now = values[id][fix.name];
  return Array.isArray(fix.value) ? fix.value.length > 0 && fix.value.every((one) => [now ?? []].flat().includes(one)) : String(now) === String(fix.value);
}

function repairSwitch(id, badge, fix) {
  const key = `${id} ${fix.name} ${badge.kind}`;
  const box = make('input', { type: 'checkbox', role: 'switch', id: `switch-${badge.kind}-${fix.name}`, checked: isSet(id, fix), onchange: () => {
    if (box.checked) undo[key] = values[id][fix.name] ?? null;
    look(id, { [fix.name]: box.checked ? fix.value : undo[key] ?? null });
  } });
  return make('label', { class: 'switch' }, box, make('i', {}), fix.label);
}

function nodeList(id, found) {
  const known = new Map((found.nodes ?? []).map((node) => [node.name, node])), names = found.names.length ? found.names : [...known.keys()];
  const changed = (found.nodes ?? []).some((node) => node.before);
  const head = changed ? make('p', { class: 'heads' }, make('span', {}, 'before'), make('span', {}, 'after')) : '';
  return make('div', {}, head, make('ul', { class: `list${changed ? ' changed' : ''}`, 'aria-label': 'Nodes' }, ...names.slice(0, 400).map((name) => nodeRow(id, found, name, known.get(name)))));
}

function nodeRow(id, found, name, node) {
  const badges = (found.badges ?? []).filter((badge) => badge.nodes.includes(name)).map(badgeOf);
  const used = found.error ? [values[id].columns ?? found.names].flat() : found.nodes.map((one) => one.name);
  const box = make('input', { type: 'checkbox', checked: used.includes(name), 'aria-label': `Use ${name}`, onchange: () => {
    const kept = found.names.filter((one) => (one === name ? box.checked : used.includes(one)));
    look(id, { columns: kept.length === found.names.length ? null : kept });
  } });
  if (!node) return make('li', { class: 'left' }, make('label', {}, box, make('b', {}, name)), make('span', { class: 'quiet' }, used.includes(name) ? '' : 'left out'));
  const kind = { float: '', integer: 'whole numbers', text: `states: ${node.labels.join(', ')}`, events: count(node.events ?? 0, 'event') }[node.kind];
  const about = [kind, node.missing ? count(node.missing, 'missing value') : ''].filter(Boolean).join(' · ');
  return make('li', {},
    make('div', {}, make('label', {}, box, make('b', {}, node.shown), make('small', {}, about)),
      make('span', { class: 'badges' }, ...badges)),
    node.before ? spark(node.before, 'was', `${name} before`) : null, spark(node.line, '', name, node.range));
}

// A line of values; a missing one breaks it.
function spark(line, look, label, range = null) {
  const present = line.filter((value) => value !== null), low = Math.min(...present), high = Math.max(...present);
  let path = '', pen = 'M';
  line.forEach((value, i) => {
    if (value !== null) path += `${pen}${(300 * i / Math.max(line.length - 1, 1)).toFixed(1)} ${(36 - 32 * (value - low) / (high - low || 1)).toFixed(1)}`;
    pen = value === null ? 'M' : 'L';
  });
  const words = range?.length ? `${label}: from ${range[0]} to ${range[1]}` : label;
  return make('svg', { class: `spark ${look}`, viewBox: '0 0 300 40', preserveAspectRatio: 'none', role: 'img', 'aria-label': words }, make('title', {}, words), make('path', { d: path }));
}

function runCard(id, found) {
  const start = button('Find who drives whom', async () => {
    const made = await attempt(() => ask('run', { recording: id, values: values[id] }));
    if (made) { view = 'report'; await news(); show('run', made); }
  }, { class: 'main', id: 'go', disabled: Boolean(found.error) });
  return make('div', { class: 'card' }, start, make('p', { id: 'cost', class: 'quiet', role: 'status' }));
}

function drawCost(id) {
  const place = byId('cost'), cost = costs[id], found = looks[id];
  if (!place || !found || found.error) return;
  const links = found.facts.nodes * (found.facts.nodes - 1), what = `${count(links, 'possible link')} among ${count(found.facts.nodes, 'node')}.`;
  if (!cost) place.textContent = `${what} Measuring how long a part takes …`;
  else if (cost.error) place.textContent = `${what} The time it takes could not be measured on a part of the recording.`;
  else place.textContent = `${what} The search takes about ${duration(cost.seconds)} (measured on ${cost.of}). Then the results are drawn.`;
}

// --- the fields --------------------------------------------------------------------------------------------------------

function section(id, title, parts, open) {
  const fields = data.fields.filter((field) => parts.includes(field.section));
  const set = fields.filter((field) => values[id][field.name] !== undefined).length;
  return make('details', { 'data-section': title, open: open.includes(title) }, make('summary', {}, title, set ? make('span', { class: 'set' }, `${set} set`) : null),
    ...fields.map((field) => fieldRow(id, field)));
}

function fieldRow(id, field) {
  const value = values[id][field.name], own = `field-${field.name}`;
  const change = (next) => look(id, { [field.name]: next });
  let input;
  if (field.kind === 'switch') {
    input = make('input', { type: 'checkbox', role: 'switch', id: own, checked: value === true, onchange: () => change(input.checked || null) });
    return make('div', { class: 'field' }, make('label', { class: 'switch' }, input, make('i', {}), field.label, make('code', {}, field.flag)), make('small', {}, field.help));
  }
  if (field.kind === 'answer' || field.kind === 'choice') {
    const words = field.kind === 'answer' ? ['yes', 'no'] : field.suggested;
    input = make('select', { id: own, onchange: () => change(input.value || null) }, make('option', { value: '' }, field.usual),
      ...words.map((word) => make('option', { value: word, selected: String(value) === word }, word === ' ' ? 'space' : word)));
  } else {
    const list = field.suggested.length ? `${own}-list` : null, many = ['list', 'each'].includes(field.kind);
    input = make('input', { id: own, type: field.kind === 'number' ? 'number' : 'text', step: 'any', list, autocomplete: 'off', spellcheck: 'false', placeholder: field.usual,
      value: many ? [value ?? []].flat().join(', ') : value ?? '',
      onchange: () => change(many ? input.value.split(',').map((word) => word.trim()).filter(Boolean) : input.value.trim() || null) });
    if (list) input.append(make('datalist', { id: list }, ...field.suggested.map((word) => make('option', { value: word }))));
  }
  const listed = input.querySelector?.('datalist');
  return make('div', { class: 'field' }, make('label', { for: own }, field.label, make('code', {}, field.flag)), input, listed, make('small', {}, field.help));
}
