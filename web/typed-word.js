// What the person is typing in a prompt: a file or a command that can be completed. Pure.

/** What is being typed before the cursor that can be completed: {kind, typed, from}; null if nothing. */
export function typedWord(before) {
  const command = /^\/([\w:-]*)$/.exec(before);
  if (command) return { kind: "command", typed: command[1], from: 1 };
  const file = /(^|\s)@([^\s@]*)$/.exec(before);
  return file && { kind: "file", typed: file[2], from: before.length - file[2].length };
}
