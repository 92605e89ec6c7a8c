// Runs a drive in Node: the module's path and the parameters of `build` come in as arguments, the report
// and the bytes of the saved drive go out to the files that are named behind them.

import { readFileSync, writeFileSync } from "node:fs";
import { Engine } from "../../web/engine/engine.js";

const [module, build, report, saved] = process.argv.slice(2);
const engine = await Engine.load(readFileSync(module));
const hello = engine.build(JSON.parse(build));
let phase = "run";
for (let step = 0; phase !== "over"; step += 1) {
  // Steps of any length are the same run.
  const params = step % 2 ? { events: 1000 * step + 1 } : { simulated_ns: 1e5 * (step + 1) };
  phase = engine.step(params).phase;
  if (step % 10 === 0) {
    const frame = engine.snapshot(63);
    const { blocks } = hello.geometry;
    if (frame.vald.length !== blocks || frame.grou.length !== blocks) throw new Error("blocks are missing");
  }
}
const { exports } = engine;
engine.give(new TextEncoder().encode('{"method": "report"}'));
exports.call();
writeFileSync(report, engine.answer());
writeFileSync(saved, engine.save());

let refused = "";
try {
  engine.build({ config: { drive: "tinny" } });
} catch (error) {
  refused = error.nearest;
}
if (refused !== "tiny") throw new Error(`refused with ${refused}`);
engine.load(readFileSync(saved));
if (engine.call("hello").geometry.blocks !== hello.geometry.blocks) throw new Error("another drive");
