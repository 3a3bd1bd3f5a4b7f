// The start: a file is dropped or chosen, or an example is taken. Then the page begins to listen.

async function send(file) {
  if (!file) return;
  if (file.size > data.largest) {
    show('start');
    say(`${file.name} has ${size(file.size)}, more than the ${size(data.largest)} that the page takes. Type enmesh open and the name of the file to open it where it is.`);
    return;
  }
  show('start');
  byId('sending').textContent = `Taking ${file.name}, ${size(file.size)} …`;
  const made = await attempt(async () => answerOf(await fetch('upload', { method: 'POST', headers: { 'x-name': encodeURIComponent(file.name) }, body: file })));
  byId('sending').textContent = '';
  byId('file').value = '';
  if (made) await enter(made);
}

async function enter(recording) {
  await news();
  show('recording', recording);
}

function cardOf(example) {
  return make('button', { type: 'button', class: 'example', 'data-name': example.name, onclick: async () => {
    const made = await attempt(() => ask('example', { name: example.name }));
    if (made) await enter(made);
  } }, make('span', { class: 'lines' }), make('b', {}, example.name.replaceAll('-', ' ')), make('span', {}, example.summary.replace(/^[^:]*: /, '').replace(/^\w/, (letter) => letter.toUpperCase()).replaceAll('`', '')));
}

byId('cards').append(...data.examples.map(cardOf));
followers.push((now) => {
  if (now.kind !== 'start') return;
  byId('keep').checked = state.keep === true;
  for (const [name, lines] of Object.entries(state.cards)) {
    const place = document.querySelector(`[data-name="${name}"] .lines`);
    if (!place.childElementCount) place.append(...lines.map((line) => spark(line, '', '')));
  }
});

byId('choose').addEventListener('click', () => byId('file').click());
byId('file').addEventListener('change', () => send(byId('file').files[0]));
byId('keep').addEventListener('change', () => attempt(() => ask('keep', { keep: byId('keep').checked })));
let inside = 0; // of the elements that a dragged file entered and did not leave
addEventListener('dragenter', (event) => { event.preventDefault(); inside++; byId('over').hidden = false; });
addEventListener('dragleave', () => { inside--; byId('over').hidden = inside > 0; });
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  inside = 0;
  byId('over').hidden = true;
  send(event.dataTransfer?.files[0]);
});
addEventListener('popstate', refresh);

// One recording that was named where the page was started is shown at once.
(async () => {
  try { await news(); } catch { /* `listen` tries again */ }
  if (!location.hash && state.recordings.length === 1 && !state.runs.length) show('recording', state.recordings[0].id); else refresh();
  document.documentElement.dataset.ready = 'yes';
  listen();
})();
