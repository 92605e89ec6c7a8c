// A link whose engine is elsewhere: messages go there, and answers come back by their numbers.
//
// Text is `{id, method, ...}`, answered by `{id, ok | error}`; frames and saved drives are binary: u32
// number of the request, u32 (whether more pieces follow), bytes.

import { Frame } from "./frame.js";

const PIECE_BYTES = 1 << 20;

export class MessageLink {
  // `send` takes text or bytes; what comes back is given to `take`.
  constructor(send) {
    this.send = send;
    this.waiting = new Map();
    this.last = 0;
    // Called with hello when another page has built a drive, and with the reason when it is over.
    this.onhello = null;
    this.onend = null;
  }

  // Waits for the greeting: the drive that there is, or null, and what a page may do here:
  // `{kind, refused: [methods]}`.
  async greeted() {
    return Object.assign(this, await this.answer(0));
  }

  call(method, params = {}) {
    return this.ask((id) => JSON.stringify({ ...params, id, method }));
  }

  async frame(layers) {
    return new Frame(await this.call("frame", { layers }), 8);
  }

  async save() {
    return new Uint8Array(await this.call("save"), 8);
  }

  load(bytes) {
    return this.ask((id) => {
      let at = 0;
      for (; bytes.length - at > PIECE_BYTES; at += PIECE_BYTES) {
        this.send(piece(id, 1, bytes.subarray(at, at + PIECE_BYTES)));
      }
      return piece(id, 0, bytes.subarray(at));
    });
  }

  ask(message) {
    if (this.reason) return Promise.reject(new Error(this.reason));
    this.last += 1;
    const answer = this.answer(this.last);
    this.send(message(this.last));
    return answer;
  }

  answer(id) {
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  take(data) {
    const isText = typeof data === "string";
    const message = isText ? JSON.parse(data) : { id: new DataView(data).getUint32(0, true), ok: data };
    if (message.event === "hello") {
      this.hello = message.hello;
      this.onhello?.(message.hello);
      return;
    }
    const asked = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) asked?.reject(Object.assign(new Error(message.error.text), message.error));
    else asked?.resolve(message.ok);
  }

  end(reason) {
    this.reason = reason;
    for (const { reject } of this.waiting.values()) reject(new Error(reason));
    this.waiting.clear();
    this.onend?.(reason);
  }
}

function piece(id, more, bytes) {
  const message = new Uint8Array(8 + bytes.length);
  const head = new DataView(message.buffer);
  head.setUint32(0, id, true);
  head.setUint32(4, more, true);
  message.set(bytes, 8);
  return message;
}
