// The link to an engine in the browser: a worker, which the page asks by messages.

import { Frame } from "./frame.js";

export class WasmLink {
  // Starts the worker, whose file lies in `folder`, and waits for its engine.
  static async open(folder = "engine/") {
    const link = new WasmLink(new Worker(`${folder}worker.js`, { type: "module" }));
    await link.ask("ready");
    return link;
  }

  constructor(worker) {
    this.worker = worker;
    this.host = { kind: "browser", refused: [] };
    this.hello = null;
    this.onhello = null;
    this.onend = null;
    this.waiting = new Map();
    this.last = 0;
    worker.onmessage = ({ data: { id, ok, error } }) => {
      const asked = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) asked.reject(Object.assign(new Error(error.text), error));
      else asked.resolve(ok);
    };
    worker.onerror = (event) => this.end(event.message || "the engine could not be started");
  }

  call(method, params = {}) {
    return this.ask(method, params);
  }

  async frame(layers) {
    return new Frame((await this.ask("frame", { layers })).buffer);
  }

  save() {
    return this.ask("save");
  }

  load(bytes) {
    return this.ask("load", { bytes });
  }

  close() {
    this.worker.terminate();
    this.end("the engine was closed");
  }

  ask(method, params = {}) {
    if (this.reason) return Promise.reject(new Error(this.reason));
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, params });
    });
  }

  end(reason) {
    this.reason = reason;
    for (const { reject } of this.waiting.values()) reject(new Error(reason));
    this.waiting.clear();
    this.onend?.(reason);
  }
}
