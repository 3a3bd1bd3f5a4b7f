// A figure for a paper: the network as it is shown, at the width of a journal's column, as SVG, PDF or PNG; its caption.

const POINT = 72 / 25.4; // of a millimetre

function startPaper() {
  const sheet = byId('paper'), said = byId('paper-said');
  byId('paper-open').addEventListener('click', () => { said.textContent = ''; sheet.showModal(); });
  for (const button of sheet.querySelectorAll('[data-save]')) {
    button.addEventListener('click', async () => {
      try { said.textContent = await PAPERS[button.dataset.save](); } catch (error) { said.textContent = error.message; }
    });
  }
  sheet.querySelector('[data-copy]').addEventListener('click', () => copied(byId('caption').textContent, byId('caption'), said));
  byId('save-bib').addEventListener('click', () => { save('references.bib', 'application/x-bibtex', data.bib); });
}

const PAPERS = {
  svg: () => { save('network.svg', 'image/svg+xml', figureText()); return 'Saved as SVG.'; },
  csv: () => { save('links.csv', 'text/csv;charset=utf-8', tableText()); return 'Saved as CSV.'; },
  bib: () => { save('references.bib', 'application/x-bibtex', data.bib); return 'Saved as BibTeX.'; },
  graphml: () => { save('network.graphml', 'application/xml', graphml()); return 'Saved as GraphML.'; },
  pdf: () => { save('network.pdf', 'application/pdf', pdf()); return 'Saved as PDF.'; },
  png: async () => { save('network.png', 'image/png', await png()); return 'Saved as PNG, 600 dpi.'; },
};

function paperWidth() { return Number(byId('paper-width').value); }

// The picture with colours of paper, whatever the page has; its size in millimetres.
function paperFigure() {
  const root = document.documentElement, before = root.dataset.theme ?? '';
  root.dataset.theme = 'light';
  root.classList.toggle('ink-grey', byId('paper-ink').value === 'grey');
  const copy = new DOMParser().parseFromString(pictureText(), 'image/svg+xml').documentElement;
  root.classList.remove('ink-grey');
  if (before) root.dataset.theme = before; else delete root.dataset.theme;
  const box = tightBox();
  copy.setAttribute('viewBox', box.join(' '));
  copy.querySelector('rect').remove(); // the ground
  copy.setAttribute('width', `${paperWidth()}mm`);
  copy.setAttribute('height', `${(paperWidth() * box[3] / box[2]).toFixed(2)}mm`);
  return { copy, box };
}

function tightBox() {
  const box = extent(), pad = 0.3;
  return [box.x - pad, box.y - pad, box.width + 2 * pad, box.height + 2 * pad];
}

function figureText() { return new XMLSerializer().serializeToString(paperFigure().copy); }

function graphml() {
  const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const keys = [['te', 'double'], ['p_value', 'double'], ['q_value', 'double'], ['lag', 'double'], ['lags', 'string'], ['effect', 'double']];
  const head = keys.map(([name, type]) => `<key id="${name}" for="edge" attr.name="${name}" attr.type="${type}"/>`).join('\n');
  const body = found.filter(passes).map((link) => {
    const values = { te: link.te, p_value: link.p, q_value: link.q, lag: link.lag, lags: link.lags.join(' '), effect: link.effect };
    const told = Object.entries(values).filter(([, value]) => value !== null && value !== '').map(([name, value]) => `<data key="${name}">${escape(value)}</data>`).join('');
    return `<edge source="${escape(data.names[link.source])}" target="${escape(data.names[link.target])}">${told}</edge>`;
  });
  const points = data.names.map((name) => `<node id="${escape(name)}"/>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http:${'//'}graphml.graphdrawing.org/xmlns">\n${head}\n<graph edgedefault="directed">\n${[...points, ...body].join('\n')}\n</graph>\n</graphml>\n`;
}

// --- PNG: 600 dots per inch, which is written into the file ---------------------------------------------------------

async function png() {
  const { copy, box } = paperFigure(), wide = Math.round(paperWidth() / 25.4 * 600), tall = Math.round(wide * box[3] / box[2]);
  copy.setAttribute('width', wide);
  copy.setAttribute('height', tall);
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await picture.decode();
  const canvas = make('canvas', { width: wide, height: tall }), pen = canvas.getContext('2d');
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, wide, tall);
  pen.drawImage(picture, 0, 0, wide, tall);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  return withDensity(new Uint8Array(await blob.arrayBuffer()), 23622);
}

// After the header (8 bytes, then IHDR of 25) goes a chunk pHYs: pixels per metre.
function withDensity(bytes, perMetre) {
  const chunk = new Uint8Array(21), view_ = new DataView(chunk.buffer);
  view_.setUint32(0, 9);
  chunk.set([0x70, 0x48, 0x59, 0x73], 4);
  view_.setUint32(8, perMetre);
  view_.setUint32(12, perMetre);
  chunk[16] = 1;
  view_.setUint32(17, crc(chunk.subarray(4, 17)));
  const made = new Uint8Array(bytes.length + 21);
  made.set(bytes.subarray(0, 33));
  made.set(chunk, 33);
  made.set(bytes.subarray(33), 54);
  return made;
}

function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let k = 0; k < 8; k++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

// --- PDF: lines, boxes and words of the picture, in the page's units turned upside down ------------------------------

function pdf() {
  const { copy, box: [left, top, wide, tall] } = paperFigure(), scale = paperWidth() * POINT / wide, said = [];
  const place = (x, y) => `${((x - left) * scale).toFixed(2)} ${((top + tall - y) * scale).toFixed(2)}`;
  const hidden = document.body.appendChild(make('div', { style: 'position:absolute;left:-99999px' }));
  hidden.append(copy);
  try {
    for (const element of copy.querySelectorAll('path, rect, circle, text')) said.push(pdfPart(element, copy, place, scale));
  } finally { hidden.remove(); }
  return pdfFile(said.filter(Boolean).join('\n'), wide * scale, tall * scale);
}

function pdfPart(element, root, place, scale) {
  const own = root.getCTM() ?? new DOMMatrix(), matrix = own.inverse().multiply(element.getCTM() ?? new DOMMatrix());
  const spot = (x, y) => { const p = new DOMPoint(x, y).matrixTransform(matrix); return place(p.x + 0, p.y + 0); };
  const [fill, stroke, opacity] = ['fill', 'stroke', 'opacity'].map((name) => element.getAttribute(name));
  const ink = (colour, ground = 255) => [1, 3, 5].map((at) => { const part = parseInt(colour.slice(at, at + 2), 16), share = opacity === null ? 1 : Number(opacity); return ((part * share + ground * (1 - share)) / 255).toFixed(3); }).join(' ');
  if (element.tagName === 'text') return fill && fill !== 'none' ? pdfText(element, ink(fill), spot, scale, matrix) : '';
  const way = element.tagName === 'path' ? pdfPath(element.getAttribute('d'), spot) : element.tagName === 'circle' ? pdfRound(element, spot) : pdfBox(element, spot);
  if (!way) return '';
  const width = parseFloat(element.getAttribute('stroke-width') || 0) * scale, dashes = (element.getAttribute('stroke-dasharray') || '').match(/[\d.]+/g) ?? [];
  const lined = stroke && stroke !== 'none' && width > 0, filled = fill && fill !== 'none';
  if (!lined && !filled) return '';
  const round = element.closest('.ghost') ? '1 J' : '0 J';
  const parts = ['q', round, ...(filled ? [`${ink(fill)} rg`] : []), ...(lined ? [`${ink(stroke)} RG ${width.toFixed(3)} w [${dashes.map((part) => (part * scale).toFixed(2)).join(' ')}] 0 d`] : []), way, lined && filled ? 'B' : lined ? 'S' : 'f', 'Q'];
  return parts.join(' ');
}

function pdfPath(d, spot) {
  return [...(d ?? '').matchAll(/([MLZ])([^MLZ]*)/g)].map(([, kind, rest]) => {
    if (kind === 'Z') return 'h';
    const [x, y] = rest.trim().split(/[ ,]+/).map(Number);
    return `${spot(x, y)} ${kind === 'M' ? 'm' : 'l'}`;
  }).join(' ');
}

const ARC = 0.5523; // of a quarter circle as one cubic curve

function pdfBox(element, spot) {
  const [x, y, w, h, rx] = ['x', 'y', 'width', 'height', 'rx'].map((name) => Number(element.getAttribute(name) ?? 0)), r = Math.min(rx, w / 2, h / 2), k = r * (1 - ARC);
  const curve = (...points) => `${points.map(([a, b]) => spot(a, b)).join(' ')} c`;
  return [`${spot(x + r, y)} m`, `${spot(x + w - r, y)} l`, curve([x + w - k, y], [x + w, y + k], [x + w, y + r]), `${spot(x + w, y + h - r)} l`, curve([x + w, y + h - k], [x + w - k, y + h], [x + w - r, y + h]), `${spot(x + r, y + h)} l`, curve([x + k, y + h], [x, y + h - k], [x, y + h - r]), `${spot(x, y + r)} l`, curve([x, y + k], [x + k, y], [x + r, y]), 'h'].join(' ');
}

function pdfRound(element, spot) {
  const [cx, cy, r] = ['cx', 'cy', 'r'].map((name) => Number(element.getAttribute(name) ?? 0));
  const box = make('rect', { x: cx - r, y: cy - r, width: 2 * r, height: 2 * r, rx: r });
  return pdfBox(box, spot);
}

// The standard fonts of a PDF have Western letters; a wave is drawn, and other letters are refused.
function pdfText(element, ink, spot, scale, matrix) {
  const text = element.textContent, size = parseFloat(element.getAttribute('font-size')), [x, y] = ['x', 'y'].map((name) => Number(element.getAttribute(name) ?? 0));
  if (text === '∿') {
    const points = Array.from({ length: 17 }, (_, k) => [x + (k / 16 - 0.5) * 0.6, y - 0.2 - 0.1 * Math.sin(k / 16 * 2 * Math.PI)]);
    return `q ${ink} RG ${(0.07 * scale).toFixed(3)} w ${points.map(([a, b], k) => `${spot(a, b)} ${k ? 'l' : 'm'}`).join(' ')} S Q`;
  }
  const bytes = [...text].map((letter) => {
    const at = ' –—…“”‘’'.indexOf(letter), code = letter.codePointAt(0);
    const byte = code < 256 ? code : at > 0 ? [0, 0x96, 0x97, 0x85, 0x93, 0x94, 0x91, 0x92][at] : null;
    if (byte === null) throw new Error(`A PDF by this page has Western letters only, and “${text}” has others; save as SVG.`);
    return byte.toString(16).padStart(2, '0');
  });
  const wide = element.getComputedTextLength(), pen = new OffscreenCanvas(1, 1).getContext('2d');
  pen.font = `100px Helvetica, Arial, "Liberation Sans", sans-serif`;
  const natural = pen.measureText(text).width / 100 * size, squeeze = Math.min(1, wide / (natural || 1));
  const turn = Math.atan2(matrix.b, matrix.a), half = Math.min(wide, natural) / 2, [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  return `BT ${ink} rg /F1 ${(size * scale).toFixed(2)} Tf ${(100 * squeeze).toFixed(1)} Tz ${cos.toFixed(4)} ${(-sin).toFixed(4)} ${sin.toFixed(4)} ${cos.toFixed(4)} ${spot(x - half, y)} Tm <${bytes.join('')}> Tj ET`;
}

function pdfFile(content, wide, tall) {
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${wide.toFixed(2)} ${tall.toFixed(2)}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>'];
  let file = '%PDF-1.4\n';
  const starts = objects.map((object, k) => { const start = file.length; file += `${k + 1} 0 obj\n${object}\nendobj\n`; return start; });
  const table = starts.map((start) => `${String(start).padStart(10, '0')} 00000 n \n`).join('');
  return `${file}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
}
