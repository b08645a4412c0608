// Text that tries to be more than text, and text that tries to take long.

export const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>) [d](vbscript:x) [e](//evil.org) [f](/etc)",
  "<javascript:alert(1)> [g](java\nscript:alert(1)) [h](http:javascript) [i](file:///etc/passwd) [j](blob:x)",
  "![x](http://evil.org/a.png) ![y](javascript:x) [![z](http://evil.org/b.png)](http://evil.org)",
  "&lt;script&gt; &#x6a;avascript: [k](&#x6a;avascript:alert(1))",
  "[https://bank.org](https://evil.org) [l](https://evil.org/\u202egro.knab) [m](http://a\u200bb.org)",
  "a\u202eb\u2066c\u0000\u001b[31m\ufeff",
  "```<b>\n</code></pre><script>x</script>\n```",
  '```js" onclick="x\ncode\n```',
  "| <b> | [n](javascript:x) |\n|---|---|\n| <i> | `</td>` |",
  "- [x] <script>\n- [ ] [o](javascript:x)\n  > <b>",
  "1. a\n99999999. b\n\n> # <h1>",
  '<a href="javascript:alert(1)">x</a> https://ok.org/" onmouseover="x',
];

export const SLOW = [
  "[", "[]", "](", "[](x", "[a](http://x", "![", "*", "**", "****", "*a ", "*a*", "**a", "_", "_a ", "~~", "~~a", "`", "`a", "``a`", "> ", ">",
  "- ", "  - a\n", "1. ", "1.\n", "#", "# \n", "|", "|-", "a|b\n", "\\|", "\\", " ", "\t", "\n", " \n", "```", "```\n", "~~~\n", "---\n", "- - ",
  "http://", "http://a!", "https://a.b)", "<", "<a", "&", "[x] ", "- [ ] ", "*_", "[*", "\u202e", "e\u0301", "a ", "日", "😀", "\r", "\r\n", "(", ")](",
];
