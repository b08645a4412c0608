// Reads server-sent events out of text that arrives in pieces of any size.

/** Calls `onMessage({event, data, id})` for each whole message. `data` is text. */
export class SseParser {
  constructor(onMessage) {
    this.onMessage = onMessage;
    this.rest = "";
    this.clear();
  }

  clear() {
    this.event = "message";
    this.data = [];
    this.id = null;
  }

  push(piece) {
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === "") {
      const { event, data, id } = this;
      this.clear();
      if (data.length > 0) this.onMessage({ event, data: data.join("\n"), id });
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
  }
}
