// Latencies of the job so far: how many requests took how long, reads above writes.

import { theme } from "../parts/colour.js";
import { canvas, el } from "../parts/dom.js";
import { time } from "../parts/format.js";
import { PERCENTS } from "../state/latency.js";

const OPS = [["read", "--read"], ["write", "--write"]];

export class Latencies {
  constructor(session) {
    this.session = session;
    this.picture = canvas({ class: "latencies", role: "img", "aria-label": "Distribution of latencies" }, (...place) => this.paint(...place));
    this.ends = el("div", { class: "ends" });
    this.figures = el("div", { class: "percentiles" });
    this.node = el("div", {}, this.picture.node, this.ends, this.figures);
  }

  draw() {
    const { total, version, buckets } = this.session.history;
    if (this.drawn === version) return;
    this.drawn = version;
    const used = [...Array(buckets.count).keys()].filter((i) => total.read[i] || total.write[i]);
    this.range = used.length ? [used[0], used[used.length - 1] + 1] : [0, buckets.count];
    this.picture.draw();
    const [low, high] = this.range;
    this.ends.replaceChildren(...[low, Math.round((low + high) / 2), high].map((i) => el("span", { text: time(buckets.lower(i), 2) })));
    const cells = OPS.map(([op]) => buckets.percentiles(total[op]));
    this.figures.replaceChildren(
      el("span", {}),
      ...PERCENTS.map((p) => el("span", { class: "muted", text: `p${p}` })),
      ...OPS.flatMap(([op, colour], row) => [
        el("span", { class: "item" }, el("span", { class: "swatch", style: { "background-color": theme(colour) } }), `${op}s`),
        ...cells[row].map((ns) => el("span", { text: ns === null ? "–" : time(ns, 2) })),
      ]),
    );
  }

  paint(context, width, height) {
    if (!this.range) return;
    const { total } = this.session.history;
    const [low, high] = this.range;
    const counts = OPS.map(([op]) => [...total[op].subarray(low, high)]);
    const half = height / 2;
    const most = Math.log1p(Math.max(1, ...counts.flat()));
    const step = width / (high - low);
    OPS.forEach(([, colour], row) => {
      context.fillStyle = theme(colour);
      counts[row].forEach((count, bar) => {
        const tall = (Math.log1p(count) / most) * (half - 1);
        context.fillRect(bar * step, row ? half + 0.5 : half - 0.5 - tall, Math.max(step - 1, 1), tall);
      });
    });
    context.fillStyle = theme("--line");
    context.fillRect(0, half - 0.5, width, 1);
  }
}
