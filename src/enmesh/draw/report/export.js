// Files made from the page: the network as it is shown (SVG), the links that are listed (CSV).

const DRAWN = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-family', 'text-anchor', 'opacity'];

function startPicture() {
  byId('save-svg').addEventListener('click', () => save('network.svg', 'image/svg+xml', pictureText()));
}

function startRows() {
  byId('save-csv').addEventListener('click', () => save('links.csv', 'text/csv;charset=utf-8', tableText()));
}

function save(name, type, text) {
  const stem = data.recording.replace(/\.[^.]*$/, '').replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
  const address = URL.createObjectURL(new Blob([text], { type }));
  const anchor = make('a', { href: address, download: stem ? `${stem}-${name}` : name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Other programs do not know this page's style sheet: every colour is written into the elements.
function pictureText() {
  calm();
  const copy = svg.cloneNode(true), [from, to] = [svg, copy].map((root) => [...root.querySelectorAll('*')]);
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  from.forEach((element, i) => {
    if (!['path', 'rect', 'text', 'circle'].includes(element.tagName)) return;
    const style = getComputedStyle(element);
    for (const part of DRAWN) {
      const value = style.getPropertyValue(part);
      to[i].setAttribute(part, part === 'fill' || part === 'stroke' ? plainColour(pen, value) : value);
    }
    to[i].removeAttribute('style');
  });
  copy.querySelectorAll('.off, .hit, .away, .mark').forEach((element) => element.remove());
  copy.querySelectorAll('[tabindex]').forEach((element) => { element.removeAttribute('tabindex'); element.removeAttribute('role'); });
  copy.removeAttribute('style');
  for (const side of ['width', 'height']) copy.setAttribute(side, `${(frame[side] * 22).toFixed(0)}`);
  copy.prepend(make('rect', { x: frame.x, y: frame.y, width: frame.width, height: frame.height, fill: plainColour(pen, getComputedStyle(byId('graph').parentElement).backgroundColor) }));
  return new XMLSerializer().serializeToString(copy);
}

function plainColour(pen, value) {
  if (value === 'none' || value === 'rgba(0, 0, 0, 0)' || value === 'transparent') return 'none';
  pen.fillStyle = value;
  pen.fillRect(0, 0, 1, 1);
  return `#${[...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

function tableText() {
  const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const head = `source,target,te,p_value,q_value,lags,selected,effect${repeated ? ',stability' : ''}`;
  const body = listed().map((link) => [quoted(data.names[link.source]), quoted(data.names[link.target]),
    link.te ?? '', link.p ?? '', link.q ?? '', link.lags.join(' '), link.selected, link.effect ?? '', ...(repeated ? [link.stability ?? ''] : [])].join(','));
  return `${[head, ...body].join('\r\n')}\r\n`;
}
