// The engine of the window in this thread: a WebAssembly module without imports. A page keeps it in a
// worker (wasm.js); scripts and Node call it at once.

import { Frame } from "./frame.js";

export class Engine {
  // Makes an engine of the module's bytes, of a `Response` with them, or of a compiled module.
  static async load(source) {
    const isModule = source instanceof WebAssembly.Module;
    const isResponse = typeof Response !== "undefined" && source instanceof Response;
    const bytes = isResponse ? await source.arrayBuffer() : source;
    const made = await WebAssembly.instantiate(isModule ? source : bytes);
    return new Engine((isModule ? made : made.instance).exports);
  }

  constructor(exports) {
    this.exports = exports;
  }

  // Answers a call of docs/window.md. A refusal is an error with the parts of the engine's own.
  call(method, params = {}) {
    this.give(new TextEncoder().encode(JSON.stringify({ ...params, method })));
    this.run("call");
    const { ok, error } = JSON.parse(new TextDecoder().decode(this.answer()));
    if (error) throw refusal(error);
    return ok;
  }

  // Builds a drive, and returns what there is to know of it.
  build(params) {
    return this.call("build", params);
  }

  // Advances by `simulated_ns` or `events`.
  step(params) {
    return this.call("advance", params);
  }

  // One frame with the layers whose bits are set: arrays by the ids of their sections.
  snapshot(layers = 0) {
    return new Frame(this.frame(layers).buffer);
  }

  report() {
    return this.call("report");
  }

  // Bytes of one frame, for whoever hands it on.
  frame(layers) {
    this.run("frame", layers);
    return this.answer();
  }

  // Bytes of the drive, as `nandlab save` writes them. Its job ends.
  save() {
    if (this.run("save")) throw this.refused();
    return this.answer();
  }

  // Takes a saved drive in place of the present one.
  load(bytes) {
    this.give(bytes);
    if (this.run("load")) throw this.refused();
  }

  give(bytes) {
    const at = this.run("input", bytes.length) >>> 0;
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  run(name, ...given) {
    try {
      return this.exports[name](...given);
    } catch (trap) {
      const said = this.read("failure", "failure_length");
      if (!said.length) throw trap;
      const text = `the engine has failed: ${new TextDecoder().decode(said)}`;
      throw refusal({ key: "", problem: text, expected: "", hint: "", nearest: null, text });
    }
  }

  // A copy: the next call writes over the engine's own bytes.
  answer() {
    return this.read("output", "length");
  }

  read(start, length) {
    const [at, count] = [this.exports[start]() >>> 0, this.exports[length]() >>> 0];
    return new Uint8Array(this.exports.memory.buffer, at, count).slice();
  }

  refused() {
    return refusal(JSON.parse(new TextDecoder().decode(this.answer())));
  }
}

function refusal(parts) {
  return Object.assign(new Error(parts.text), parts);
}
