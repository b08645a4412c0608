// What on the page runs, loads or leads somewhere and is not the page's own: [HTML, …]. Links to the web may be there if they
// say their address and tell nobody where they stand.
(() => {
  const kinds = 'script, iframe, object, embed, img, style, base, form[action], [formaction], [onerror], [onload], [onclick], [srcdoc], a';
  const isOwn = (one) => one.matches('script[src="app.js"], .brand img[src="icon.svg"], a[href^="#"]');
  const isSafe = (one) => one.matches('a[target="_blank"][rel="noreferrer noopener"]')
    && /^https?:\/\/(example\.invalid|192\.0\.2\.1)\//.test(one.href)
    && one.parentElement.textContent.includes(one.getAttribute('href'));
  return [...document.querySelectorAll(kinds)].filter((one) => !isOwn(one) && !isSafe(one)).map((one) => one.outerHTML);
})()
