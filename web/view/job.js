// A job: its text as fio reads it, and a small form that writes such text.

import { choice, el, field } from "../parts/dom.js";

const PATTERNS = [
  ["randread", "random reads"],
  ["randwrite", "random writes"],
  ["randrw", "random reads and writes"],
  ["read", "sequential reads"],
  ["write", "sequential writes"],
  ["rw", "sequential reads and writes"],
];
const SPREADS = [
  ["random", "even"],
  ["zipf:0.9", "Zipf 0.9"],
  ["zipf:1.1", "Zipf 1.1"],
  ["pareto:0.2", "Pareto 0.2"],
];

export class JobForm {
  // `changed(text)` hears of every change of the text.
  constructor(changed) {
    this.changed = changed;
    const hear = { on: { change: () => this.write() } };
    this.inputs = {
      rw: choice(hear, PATTERNS, "randrw"),
      bs: choice(hear, ["512", "4k", "8k", "16k", "64k", "128k", "1m"].map((size) => [size, size]), "4k"),
      rwmixread: el("input", { type: "number", min: 0, max: 100, value: 70, ...hear }),
      random_distribution: choice(hear, SPREADS, "random"),
      iodepth: el("input", { type: "number", min: 1, value: 16, ...hear }),
      rate_iops: el("input", { type: "number", min: 0, value: 0, ...hear }),
      size: el("input", { type: "number", min: 1, max: 100, value: 100, ...hear }),
      runtime: el("input", { type: "number", min: 0.001, step: "any", value: 10, ...hear }),
    };
    const labels = {
      rw: ["Pattern", ""],
      bs: ["Block size", ""],
      rwmixread: ["Reads in the mix (%)", "of a pattern with both"],
      random_distribution: ["Addresses", "of a random pattern"],
      iodepth: ["Requests in flight", "at most"],
      rate_iops: ["Rate (IOPS)", "0: as fast as the drive answers"],
      size: ["Part of the drive (%)", ""],
      runtime: ["Simulated time (s)", ""],
    };
    this.text = el("textarea", { rows: 12, spellcheck: "false", class: "code", on: { input: () => changed(this.text.value) } });
    this.field = field("As fio text", this.text, "Edited by hand, or written by the form: a job file of fio.");
    this.node = el(
      "div",
      { class: "job" },
      el("div", { class: "fields" }, Object.entries(labels).map(([key, [label, help]]) => field(label, this.inputs[key], help).node)),
      this.field.node,
    );
  }

  set(text) {
    this.text.value = text || "";
  }

  write() {
    const { rw, bs, rwmixread, random_distribution: spread, iodepth, rate_iops: rate, size, runtime } = Object.fromEntries(
      Object.entries(this.inputs).map(([key, input]) => [key, input.value]),
    );
    const lines = ["[job]", `rw=${rw}`, `bs=${bs}`];
    if (rw.endsWith("rw")) lines.push(`rwmixread=${rwmixread}`);
    if (rw.startsWith("rand") && spread !== "random") lines.push(`random_distribution=${spread}`);
    lines.push(`iodepth=${iodepth}`);
    if (Number(rate) > 0) lines.push(`rate_iops=${rate}`, "rate_process=poisson");
    lines.push(`size=${size}%`, `runtime=${runtime}`, "time_based", "");
    this.text.value = lines.join("\n");
    this.changed(this.text.value);
  }
}
