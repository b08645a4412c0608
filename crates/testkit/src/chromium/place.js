// Where to click on an element: it is in view, stands still, is enabled, and nothing covers it.
(async (element) => {
  const name = (e) => e ? e.tagName.toLowerCase() + (e.id && '#' + e.id) + (e.className?.trim?.() && '.' + e.className) : 'nothing';
  const box = () => element.getClientRects()[0] ?? element.getBoundingClientRect();
  const frame = () => new Promise((done) => {
    requestAnimationFrame(() => done());
    setTimeout(done, 100);
  });
  const inside = ({left, right, top, bottom}) => left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
  if (element.matches(':disabled, [aria-disabled=true]')) throw new Error(name(element) + ' is disabled');
  if (!inside(box())) element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const before = box();
  await frame();
  await frame();
  const {left, top, width, height} = box();
  if (before.left !== left || before.top !== top) throw new Error(name(element) + ' moves');
  const x = Math.max(0, left) + (Math.min(innerWidth, left + width) - Math.max(0, left)) / 2;
  const y = Math.max(0, top) + (Math.min(innerHeight, top + height) - Math.max(0, top)) / 2;
  const hit = document.elementFromPoint(x, y);
  if (!hit || !(element.contains(hit) || hit === element.labels?.[0] || hit.closest('label')?.control === element)) {
    throw new Error(name(element) + ' is covered by ' + name(hit));
  }
  return [x, y];
})
