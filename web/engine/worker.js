// The worker of the engine: messages `{id, method, params}` come in, `{id, ok | error}` go out.

import { Engine } from "./engine.js";

const MODULE = new URL("../wasm/nandlab.wasm", import.meta.url);
const engine = open();

async function open() {
  const response = await fetch(MODULE);
  if (!response.ok) {
    const text = "nandlab.wasm is not beside this page; hint: make it by ./lab window";
    throw Object.assign(new Error(text), { key: "nandlab.wasm", problem: `HTTP ${response.status}`, text });
  }
  return Engine.load(response);
}

// Methods beside those of `call`.
const OWN = {
  ready: () => null,
  frame: (engine, { layers }) => engine.frame(layers),
  save: (engine) => engine.save(),
  load: (engine, { bytes }) => engine.load(bytes),
};

onmessage = async ({ data: { id, method, params } }) => {
  try {
    const own = OWN[method];
    const ok = own ? own(await engine, params) : (await engine).call(method, params);
    postMessage({ id, ok }, ok instanceof Uint8Array ? [ok.buffer] : []);
  } catch (error) {
    postMessage({ id, error: { ...error, text: error.message } });
  }
};
