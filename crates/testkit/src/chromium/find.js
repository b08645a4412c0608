// Finds the element that a selector names, or a text: what it says, or what it is called.
((target) => {
  const plain = (text) => (text || '').replace(/\s+/g, ' ').trim();
  const shown = (element) =>
    element.checkVisibility({visibilityProperty: true}) && element.getClientRects().length > 0;
  let wanted = target;
  if (target.startsWith('text=')) {
    wanted = target.slice(5);
  } else {
    let found = [];
    try {
      found = [...document.querySelectorAll(target)];
    } catch {
      // Not a selector, so a text.
    }
    const first = found.find(shown);
    if (first) return first;
  }
  wanted = plain(wanted);
  const names = (element) => [
    element.textContent,
    element.getAttribute('aria-label'),
    element.getAttribute('placeholder'),
    element.getAttribute('title'),
    element.matches('input[type=submit], input[type=button]') ? element.value : '',
  ].map(plain);
  const control = (element) => element.matches(
    'a[href], button, input, select, textarea, summary, label, [role], [tabindex], [contenteditable]');
  const innermost = (list) => list.find((one) => !list.some((other) => other !== one && one.contains(other)));
  const all = [...document.querySelectorAll('body *')].filter((e) => !e.matches('script, style, template'));
  const exact = all.filter((e) => names(e).includes(wanted) && shown(e));
  const part = exact.length ? [] : all.filter((e) => plain(e.textContent).includes(wanted) && shown(e));
  const found = exact.find(control) ?? innermost(exact) ?? innermost(part.filter(control)) ?? innermost(part);
  if (!found) throw new Error('nothing on the page is, or says, ' + target);
  return found;
})
