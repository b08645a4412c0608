// Plays a terminal: play.js FOLDER COLUMNS ROWS, where FOLDER has the fetched parts. Each line of standard input is a
// command (`write HEX`, `resize COLUMNS ROWS`, `lines`); each is answered by a line with a JSON list.
'use strict';

const path = require('node:path');
const readline = require('node:readline');

const [folder, columns, rows] = process.argv.slice(2);
const { Terminal } = require(path.join(folder, 'node_modules', '@xterm', 'headless'));
const terminal = new Terminal({ cols: Number(columns), rows: Number(rows), scrollback: 1e6, allowProposedApi: true });

function lines() {
  const found = [];
  const buffer = terminal.buffer.active;
  for (let number = 0; number < buffer.length; number += 1) {
    const row = buffer.getLine(number);
    const text = row.translateToString(false);
    if (row.isWrapped && found.length > 0) found[found.length - 1] += text;
    else found.push(text);
  }
  return found;
}

async function answer(command) {
  const [name, ...values] = command.split(' ');
  if (name === 'write') await new Promise((done) => terminal.write(Buffer.from(values[0], 'hex'), done));
  else if (name === 'resize') terminal.resize(Number(values[0]), Number(values[1]));
  else return lines();
  return [];
}

(async () => {
  for await (const command of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(command))}\n`);
  }
})();
