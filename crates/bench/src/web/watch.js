// Notes when each time that agents write is first in the document: `__seen` has the milliseconds since 1970.
(async () => {
  // What this clock is behind the one that the model writes: it is read where the other begins a millisecond.
  const before = Date.now();
  let now = before;
  while (now === before) now = Date.now();
  const zero = now - performance.now();
  window.__seen = new Map();
  const note = (text, at) => {
    for (const [, stamp] of text.matchAll(/at(\d{16})z/g)) {
      if (!window.__seen.has(stamp)) window.__seen.set(stamp, at);
    }
  };
  window.__watching?.disconnect();
  window.__watching = new MutationObserver((records) => {
    const at = zero + performance.now();
    for (const { type, target, addedNodes } of records) {
      if (type === 'characterData') note(target.data, at);
      else for (const node of addedNodes) note(node.textContent, at);
    }
  });
  window.__watching.observe(document.body, { childList: true, characterData: true, subtree: true });
  return true;
})()
