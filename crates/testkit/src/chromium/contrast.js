// Gives every visible text that stands out too little from what is behind it: [text, ratio, needed, colours, place].
// Looks at the colours of an element and those it lies in. What lies on a picture or a gradient is not judged.
(() => {
  const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const known = new Map();
  // A colour as red, green, blue and opacity, from 0 to 1.
  const colour = (text) => {
    if (known.has(text)) return known.get(text);
    const plain = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    let parts;
    if (plain) {
      parts = [plain[1] / 255, plain[2] / 255, plain[3] / 255, plain[4] === undefined ? 1 : Number(plain[4])];
    } else {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = text;
      pen.fillRect(0, 0, 1, 1);
      parts = [...pen.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
    }
    known.set(text, parts);
    return parts;
  };
  const over = (top, below) => {
    const opacity = top[3] + below[3] * (1 - top[3]);
    if (opacity === 0) return [0, 0, 0, 0];
    const mix = (n) => (top[n] * top[3] + below[n] * below[3] * (1 - top[3])) / opacity;
    return [mix(0), mix(1), mix(2), opacity];
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const hex = ([r, g, b]) =>
    '#' + [r, g, b].map((part) => Math.round(part * 255).toString(16).padStart(2, '0')).join('');
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  const canvas = scheme === 'dark' || (isDark && scheme.includes('dark')) ? [18 / 255, 18 / 255, 18 / 255, 1] : [1, 1, 1, 1];
  // The pixel of the text and the one beside it; null where a picture decides.
  const pixels = (element, ink) => {
    let [text, back] = [ink, [0, 0, 0, 0]];
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== 'none' && back[3] < 1) return null;
      const own = at instanceof SVGElement && at.ownerSVGElement ? [0, 0, 0, 0] : colour(style.backgroundColor);
      [text, back] = [over(text, own), over(back, own)];
      const opacity = Number(style.opacity);
      [text, back] = [text, back].map(([r, g, b, a]) => [r, g, b, a * opacity]);
    }
    return [over(text, canvas), over(back, canvas)];
  };
  const place = (element) => {
    const steps = [];
    for (let at = element; at && at !== document.body && steps.length < 4; at = at.parentElement) {
      const name = at.id ? '#' + at.id : [...at.classList].map((one) => '.' + one).join('');
      steps.unshift(at.tagName.toLowerCase() + name);
    }
    return steps.join(' > ');
  };
  const isSeen = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 &&
      element.checkVisibility({visibilityProperty: true, opacityProperty: true}) &&
      !element.closest(':disabled, [aria-disabled=true]');
  };
  const found = [];
  const judge = (element, text, style) => {
    const size = parseFloat(style.fontSize);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const pair = ink === 'none' ? null : pixels(element, colour(ink));
    if (!pair) return;
    const [low, high] = pair.map(light).sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    // Colours have 256 steps: what is drawn cannot be told finer than that.
    if (ratio < needed - 0.005) {
      found.push([text.trim().slice(0, 80), ratio, needed, hex(pair[0]) + ' on ' + hex(pair[1]), place(element)]);
    }
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.data;
    if (!text.trim() || element.matches('script, style, template, option') || !isSeen(element)) continue;
    judge(element, text, getComputedStyle(element));
  }
  for (const field of document.querySelectorAll('input, textarea, select')) {
    if (!isSeen(field) || field.matches('[type=checkbox], [type=radio], [type=range]')) continue;
    if (field.value) judge(field, field.value, getComputedStyle(field));
    else if (field.placeholder) judge(field, field.placeholder, getComputedStyle(field, '::placeholder'));
  }
  for (const element of document.querySelectorAll('body *')) {
    for (const part of ['::before', '::after']) {
      const style = getComputedStyle(element, part);
      if (/^".*[\p{L}\p{N}].*"$/u.test(style.content) && isSeen(element)) judge(element, style.content, style);
    }
  }
  return found;
})()
