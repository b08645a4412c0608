// Runs before anything of a document: gives the page its token, and notes when what is waited for is shown, in milliseconds
// since the navigation. `TOKEN` and `CONDITION` are filled in.
(() => {
  if (!location.protocol.startsWith('http')) return;
  sessionStorage.setItem('posse-token', TOKEN);
  const look = () => {
    if (!(CONDITION)) return;
    observer.disconnect();
    // After the frame that shows it.
    requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = () => { window.__shownMs = performance.now(); };
      painted.port2.postMessage(null);
    });
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true });
})()
