// Diffs of git and of Posse become files, hunks and rows; hostile ones too, and quickly.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDiff, sideBySide } from "../diff.js";
import { HOSTILE } from "./hostile.js";

const DIFF = `diff --git a/src/a b.rs b/src/a b.rs
index 1111111..2222222
--- a/src/a b.rs
+++ b/src/a b.rs
@@ -8,4 +8,5 @@
 fn main() {
-    let width = 1;
+    let height = 1;
+    // more
 }

@@ -98,2 +99 @@ fn other() {
 same
--- gone
diff --git a/b.txt b/b.txt
new file mode 100644
index 0000000..1111111
--- /dev/null
+++ b/b.txt
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
diff --git a/c.bin b/c.bin
old mode 100644
new mode 100755
index 1..2
Binary files a/c.bin and b/c.bin differ
diff --git a/x b/y
similarity index 90%
rename from x
rename to y
diff --git "a/\\303\\244 \\"\\\\\\n" "b/\\303\\244 \\"\\\\\\n"
deleted file mode 100644
index 1..0000000
--- "a/\\303\\244 \\"\\\\\\n"
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/run b/run
old mode 100644
new mode 100755
`;

const short = (row) => `${row.old ?? ""}:${row.new ?? ""}:${row.kind}:${row.text}`;

test("files, what became of them, and their lines", () => {
  const files = parseDiff(DIFF);
  assert.deepStrictEqual(files.map(({ path, oldPath, status, added, removed, hunks }) => [path, oldPath, status, added, removed, hunks.length]), [
    ["src/a b.rs", "src/a b.rs", "modified", 2, 2, 2],
    ["b.txt", "b.txt", "added", 2, 0, 1],
    ["c.bin", "c.bin", "binary", 0, 0, 0],
    ["y", "x", "renamed", 0, 0, 0],
    ['ä "\\\n', 'ä "\\\n', "deleted", 0, 1, 1],
    ["run", "run", "modified", 0, 0, 0],
  ]);
  assert.deepStrictEqual(files[5].notes, ["old mode 100644", "new mode 100755"]);
  const [first, second] = files[0].hunks;
  assert.deepStrictEqual(first.rows.map(short), ["8:8:context:fn main() {", "9::del:    let width = 1;", ":9:add:    let height = 1;",
    ":10:add:    // more", "10:11:context:}", "11:12:context:"]);
  assert.deepStrictEqual([first.rows[1].marks, first.rows[2].marks], [[[8, 13]], [[8, 14]]]);
  assert.deepStrictEqual([first.number, second.number, second.header, second.oldStart, second.newStart], [1, 2, "fn other() {", 98, 99]);
  assert.deepStrictEqual(second.rows.map(short), ["98:99:context:same", "99::del:-- gone"]);
  assert.equal(files[1].hunks[0].rows[2].text, "No newline at end of file");
});

test("hunks without a file, words between lines, diffs that were cut, and names without a first line", () => {
  const [file] = parseDiff("binary data of 1 bytes is replaced by:\n@@ -0,0 +1,9 @@\n+a\n\n(3 lines are left out here)\n+b\n");
  assert.deepStrictEqual([file.path, file.notes], ["", ["binary data of 1 bytes is replaced by:"]]);
  assert.deepStrictEqual(file.hunks[0].rows.map(short), [":1:add:a", "::note:(3 lines are left out here)", "::add:b"]);
  const cut = parseDiff("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n\n… and 99 more bytes\n")[0];
  assert.deepStrictEqual(cut.hunks[0].rows.map(short), ["1:1:context:a", "2::del:b", "::note:… and 99 more bytes"]);
  const plain = parseDiff("--- a/x\t2026\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n--- c\n");
  assert.deepStrictEqual(plain.map(({ path, removed }) => [path, removed]), [["x", 1], ["y", 1]]);
  assert.deepStrictEqual(parseDiff("nothing is changed\n")[0].notes, ["nothing is changed"]);
  assert.deepStrictEqual(parseDiff(""), []);
});

test("words that differ", () => {
  const cases = [
    ["let a = foo(1, 2);", "let a = bar(1, 3);", ["foo", "2"], ["bar", "3"]],
    ["abc", "xyz", [], []],
    ["f(a)", "f(a, b)", [], [", b"]],
    ["  a", "    a", ["  "], ["    "]],
    ["ä, ö, ü", "ä, o, ü", ["ö"], ["o"]],
    ["", "", [], []],
  ];
  for (const [old, next, left, right] of cases) {
    const [del, add] = parseDiff(`@@ -1 +1 @@\n-${old}\n+${next}\n`)[0].hunks[0].rows;
    const marked = (row) => row.marks.map(([from, to]) => row.text.slice(from, to));
    assert.deepStrictEqual([marked(del), marked(add)], [left, right], old);
  }
});

test("side by side", () => {
  const [{ hunks: [hunk] }] = parseDiff("@@ -1,5 +1,4 @@\n a\n-b\n-c\n\\ No newline at end of file\n+d\n-e\n+f\n+g\n h\n");
  const rows = sideBySide(hunk).map(({ left, right }) => [left?.text ?? null, right?.text ?? null]);
  assert.deepStrictEqual(rows, [["a", "a"], ["b", "d"], ["c", null], ["No newline at end of file", null], ["e", "f"], [null, "g"], ["h", "h"]]);
  const all = sideBySide(hunk).flatMap(({ left, right }) => (left === right ? [left] : [left, right].filter(Boolean)));
  assert.equal(all.length, hunk.rows.length);
});

test("no text is too strange or takes long", () => {
  const pieces = ["diff --git a/é b/é\n", 'diff --git "a\n', "@@ -1,2 +3 @@\n", "@@ -99999999999999999999 +1 @@\n", "@@\n", "+é\n", "-é\n", " x\n", "\n", "\\ No\n",
    "+", "-", "--- a\n", "+++ b\n", "rename to x\n", 'rename from "\\\n', "日", '"', "\\", ...HOSTILE];
  let state = 3;
  const next = (n) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % n;
  for (let round = 0; round < 500; round++) {
    const text = Array.from({ length: next(30) }, () => pieces[next(pieces.length)]).join("");
    for (const file of parseDiff(text)) for (const hunk of file.hunks) sideBySide(hunk);
  }
  const words = "w x y z ".repeat(200);
  const slow = [...pieces.map((piece) => piece.repeat(100_000 / piece.length)),
    `@@ -1,9 +1,9 @@\n${`-${words}\n`.repeat(200)}${`+q ${words} r\n`.repeat(200)}`,
    `@@ -1,9 +1,9 @@\n${`-${words}\n+q ${words}r\n`.repeat(100)}`];
  for (const text of slow) {
    const started = performance.now();
    parseDiff(text).forEach((file) => file.hunks.forEach(sideBySide));
    assert.ok(performance.now() - started < 3000, text.slice(0, 40));
  }
});
