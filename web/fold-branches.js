// Work of sub-agents that is on branches and not in the folder.

import { filesInAll } from './facts.js';
import { setList } from './fold-tree.js';
import { short } from './text.js';

const PATHS_MAX = 10_000;

/** The agent was given a checkout. */
export function checkOut(agent, name) {
  if (agent.branch === null || agent.branch.state === 'unmerged') {
    agent.branch = { name: short(name), state: 'working' };
  }
}

/** A sub-agent ended: what it changed is on its branch, or in the folder. */
export function settleBranch(view, agent, receipt) {
  const paths = filesInAll(receipt).map((file) => file.path);
  const isMerged = agent.branch !== null && ['merged', 'conflicts'].includes(agent.branch.state);
  if (receipt.branch && !isMerged) {
    // Those below it worked where it did.
    const below = new Set((receipt.files_below ?? []).map((file) => file.path));
    if (below.size > 0) setList(view, 'changed_here', (view.changed_here ?? []).filter((path) => !below.has(path)));
    agent.branch = { name: short(receipt.branch.name), state: 'unmerged' };
    setList(agent.branch, 'paths', paths);
    return;
  }
  if (!isMerged) agent.branch = null;
  addHere(view, paths);
}

/** The work of an agent was brought into the folder, as far as it fits. */
export function merge(view, agent, { branch, conflicts }) {
  const { paths = [], name = short(branch) } = agent.branch ?? {};
  agent.branch = { name, state: conflicts.length > 0 ? 'conflicts' : 'merged' };
  addHere(view, paths);
}

function addHere(view, paths) {
  const here = [...(view.changed_here ?? [])];
  for (const path of paths.slice(0, Math.max(0, PATHS_MAX - here.length))) {
    let [from, to] = [0, here.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isBefore(here[middle], path)) from = middle + 1;
      else to = middle;
    }
    if (here[from] !== path) here.splice(from, 0, path);
  }
  setList(view, 'changed_here', here);
}

/** Whether a path comes before another in the order of their characters, which is not that of UTF-16. */
function isBefore(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const place = (text) => {
    const unit = text.charCodeAt(at);
    return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
  };
  return at >= a.length ? at < b.length : place(a) < place(b);
}
