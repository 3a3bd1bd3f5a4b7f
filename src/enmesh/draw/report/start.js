// Everything starts: the network and its table first, then what is farther down the page.

// The contents: sections that are not empty; the one in view is marked.
function startContents() {
  const items = [...document.querySelectorAll('.contents a')];
  for (const item of items) item.hidden = document.querySelector(item.hash)?.hidden ?? true;
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) items.find((item) => item.hash === `#${target.id}`).classList.toggle('here', isIntersecting);
  }, { rootMargin: '-20% 0px -60% 0px' });
  for (const item of items) if (!item.hidden) seen.observe(document.querySelector(item.hash));
}

// The network and its table come first; what is farther down the page is drawn after the first picture is on the screen.
for (const start of [startFilter, startLayouts, startGraph, restorePlaces, startTable, startPicture, startRows, startCopy, startPaper]) start();

function later([start, ...rest]) {
  if (!start) { startContents(); document.documentElement.dataset.drawn = 'all'; return; }
  start();
  setTimeout(later, 0, rest);
}
requestAnimationFrame(() => setTimeout(later, 0, [startOutlook, startNulls, startMatrix, startSeries, startEmbedding]));
