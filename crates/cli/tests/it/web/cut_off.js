// What does not fit into the width of the window: [text, …]. What a part of the page scrolls by itself, as code, is not judged.
(() => {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) found.push(`the page is ${root.scrollWidth} px wide`);
  const scrolls = (one) => one && (/auto|scroll/.test(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth || scrolls(one.parentElement));
  for (const one of document.querySelectorAll('a[href]:not(.skip), button, input, select, textarea, summary')) {
    const { left, right, width } = one.getBoundingClientRect();
    const isSeen = width > 1 && one.checkVisibility({ visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true });
    if (isSeen && (right > innerWidth + 1 || left < -1) && !scrolls(one.parentElement)) {
      found.push(`${one.tagName} "${(one.innerText || one.ariaLabel || '').slice(0, 40)}" reaches from ${Math.round(left)} to ${Math.round(right)}`);
    }
  }
  return found;
})()
