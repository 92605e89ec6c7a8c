// The link to a run that was recorded in this file: its frames, and answers about it.
//
// `advance` goes on in the recorded frames, `seek` goes anywhere, and `frame` gives the frame there: its
// latencies are those of all frames passed since the last one.

import { Frame } from "./frame.js";

const SUMMED = ["rlat", "wlat"];

export class FileLink {
  // Unpacks what stands in the page: deflated, in base64.
  static async open(text) {
    const packed = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new FileLink(await new Response(stream).arrayBuffer());
  }

  constructor(bytes) {
    const length = new DataView(bytes).getUint32(0, true);
    const told = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    this.host = { kind: "file", refused: told.refused };
    this.hello = told.hello;
    this.answers = new Map(told.answers.map(([asked, answer]) => [asked, answer]));
    this.states = told.states;
    this.times = Float64Array.from(told.states, (state) => state.now_ns);
    const size = told.frame_bytes;
    // A frame is kept as what differs from the one before.
    const words = new Uint32Array(bytes, told.frames_from, (size / 4) * told.states.length);
    for (let i = size / 4; i < words.length; i += 1) words[i] ^= words[i - size / 4];
    this.frames = told.states.map((_, i) => new Frame(bytes, told.frames_from + i * size));
    this.percentiles = told.percentiles;
    this.at = 0;
    this.seen = -1;
    this.now_ns = this.times[0];
  }

  async call(method, params = {}) {
    if (method === "hello") return this.hello;
    if (method === "advance") return this.advance(params);
    if (method === "seek") return this.seek(params.now_ns);
    if (method === "slowest") return this.slowest(params);
    const answer = method === "slow" ? this.slow(params) : this.answers.get(JSON.stringify([method, sorted(params)]));
    if (answer === undefined) throw unknown(method);
    if (answer.error) throw Object.assign(new Error(answer.error.text), answer.error);
    return answer.ok;
  }

  advance({ simulated_ns, events = 1 }) {
    if (simulated_ns === undefined) {
      this.at = Math.min(this.at + events, this.frames.length - 1);
      this.now_ns = this.times[this.at];
    } else {
      // Where frames are further apart than the step, time goes on between them, unseen.
      this.now_ns = Math.min(this.now_ns + simulated_ns, this.times.at(-1));
      while (this.times[this.at + 1] <= this.now_ns) this.at += 1;
    }
    return this.states[this.at];
  }

  // The recorded request that a token names, or that at the next recorded percentile.
  slow({ token, percentile, op, among = "recent" }) {
    const known = [...this.answers].filter(([asked]) => asked.startsWith('["slow"')).map(([, answer]) => answer);
    if (token !== undefined) return known.find(({ ok }) => ok?.token === token);
    const wanted = (at) => ["slow", sorted({ among, percentile: at, ...(op && op !== "all" ? { op } : {}) })];
    const at = this.percentiles.find((one) => one >= percentile) ?? 100;
    return this.answers.get(JSON.stringify(wanted(at)));
  }

  slowest({ count = 10, op }) {
    const [, answer] = [...this.answers].find(([asked]) => asked.startsWith('["slowest"')) ?? [];
    return (answer?.ok ?? []).filter((one) => !op || one.op === op).slice(0, count);
  }

  seek(now_ns) {
    this.at = Math.max(0, this.times.findLastIndex((time) => time <= now_ns));
    this.now_ns = this.times[this.at];
    this.seen = this.at - 1;
    return this.states[this.at];
  }

  async frame() {
    const { at, frames } = this;
    const seen = Math.min(this.seen, at - 1);
    this.seen = at;
    const counts = Object.fromEntries(
      SUMMED.filter((id) => id in frames[at]).map((id) => {
        const sum = new Uint32Array(frames[at][id].length);
        for (let i = seen + 1; i <= at; i += 1) frames[i][id].forEach((n, bucket) => (sum[bucket] += n));
        return [id, sum];
      }),
    );
    return { ...frames[at], ...counts };
  }

  async save() {
    throw unknown("save");
  }

  async load() {
    throw unknown("load");
  }

  close() {}
}

// Parameters in the order of their names, as they were written.
function sorted(params) {
  return Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1));
}

function unknown(method) {
  const text = `${method}: this is a recorded run; hint: build the drive with nandlab dashboard`;
  return Object.assign(new Error(text), { key: method, problem: "a recorded run", text });
}
