// The table of links: sorted by a click or a key on a heading, filtered with the network.

const COLUMNS = [
  { title: 'Source', value: (link) => data.names[link.source] },
  { title: 'Target', value: (link) => data.names[link.target] },
  { title: 'TE (nats)', value: (link) => link.te, number: true },
  { title: 'p', value: (link) => link.p, number: true },
  { title: 'q', value: (link) => link.q, number: true },
  { title: 'Lag', value: (link) => link.lags[0] ?? null, text: lagText, number: true },
  ...(repeated ? [{ title: 'Stability', value: (link) => link.stability, number: true }] : []),
];
const order = { column: 2, down: true };
const FEW = 60, MOST = 600; // rows at first, and on request; the CSV file has all
let room = FEW;

function startTable() {
  const head = byId('link-table').tHead.rows[0];
  COLUMNS.forEach((column, at) => {
    const button = make('button', { type: 'button' }, column.title);
    button.addEventListener('click', () => {
      order.down = order.column === at ? !order.down : at === 2;
      order.column = at;
      fill();
    });
    head.append(make('th', { scope: 'col', class: column.number ? 'number' : '' }, button));
  });
  byId('all').addEventListener('change', (event) => { view.everything = event.target.checked; fill(); });
  byId('all').parentElement.append(` (${links.length})`);
  byId('more-links').addEventListener('click', () => { room = MOST; fill(); });
  pointedInside(byId('link-table').tBodies[0], (element) => lines.get(element.closest('tr')));
  follow(fill);
}

function listed() { return (view.everything ? links : found).filter(passes).sort(compare); }

const lines = new Map(), built = new Map(); // row -> link, link -> row: a row is made once

function fill() {
  const every = listed(), shown = every.slice(0, room);
  [...byId('link-table').tHead.rows[0].cells].forEach((cell, at) =>
    cell.setAttribute('aria-sort', at === order.column ? (order.down ? 'descending' : 'ascending') : 'none'));
  byId('link-table').tBodies[0].replaceChildren(...shown.map((link) => built.get(link) ?? row(link)));
  byId('links-empty').hidden = shown.length > 0;
  byId('links-more').hidden = every.length <= room;
  byId('links-count').textContent = `The first ${shown.length} of ${every.length}; the CSV file has all of them.`;
  byId('more-links').hidden = room === MOST;
}

function compare(a, b) {
  const { value, number: numeric } = COLUMNS[order.column];
  const [x, y] = [value(a), value(b)];
  if (x === null || y === null) return (x === null) - (y === null);
  const way = numeric ? x - y : x.localeCompare(y, undefined, { numeric: true });
  return (order.down ? -way : way) || a.source - b.source || a.target - b.target;
}

function row(link) {
  const cells = COLUMNS.map((column) => {
    const value = column.value(link);
    return make('td', { class: column.number ? 'number' : '' }, column.text ? column.text(link) : column.number ? number(value) : value);
  });
  const size = make('span', { class: 'size' }), dot = make('span', { class: isSure(link) ? 'dot sure' : 'dot' });
  size.style.width = `${4 * Math.max(link.te ?? 0, 0) / strongest}rem`;
  size.style.color = dot.style.color = colour(link.q);
  dot.title = `q ${isSure(link) ? 'up to' : 'above'} ${data.level}`;
  cells[2].prepend(size);
  cells[4].prepend(dot);
  const line = make('tr', { class: link.selected ? '' : 'unselected', 'data-link': `${link.source} ${link.target}` }, ...cells);
  lines.set(line, link);
  built.set(link, line);
  return line;
}
