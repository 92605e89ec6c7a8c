// Trace: a recorded block trace that is dropped into the page, what it holds, and its replay.

import { choice, el, field, panel, table } from "../parts/dom.js";
import { bytes, number, percent, time } from "../parts/format.js";
import { readText, sendTrace } from "../state/trace.js";

// Options that the page asks for: key, label, and what stands for the engine's own choice.
const OPTIONS = [
  ["format", "Format", "detected"],
  ["address", "Addresses beyond the drive", null],
  ["time", "Times that go back", null],
  ["on_bad_line", "A line that does not fit the format", null],
];

export class TraceForm {
  // `replay(trace)` builds the drive of the form and replays; `run(trace)` replays on the drive as it is.
  constructor({ session, schema, alone, replay, run }) {
    Object.assign(this, { session, alone });
    this.file = el("input", { type: "file", on: { change: () => this.file.files[0] && this.take(this.file.files[0]) } });
    this.chosen = field("Trace", this.file, "A file of blkparse, MSR, SPC, fio and others, plain or compressed with gzip; it can be dropped on the page. Formats: `nandlab trace formats`.");
    this.inputs = {};
    const fields = OPTIONS.map(([key, label, open]) => this.add(schema, key, label, open));
    const hear = { on: { change: () => this.read() } };
    this.inputs.time_scale = el("input", { type: "number", min: 0, step: "any", value: 1, ...hear });
    this.depth = el("input", { type: "number", min: 1, step: 1, placeholder: "its own times", ...hear });
    const scale = field("Factor on times", this.inputs.time_scale, firstOf(schema.properties.time_scale.description));
    const depth = field("Requests in flight", this.depth, "Left empty: requests come at the times of the trace. Of a trace without times: 1.");
    this.fields = Object.fromEntries([...fields, ["time_scale", scale]]);
    this.status = el("p", { class: "words", role: "status" });
    this.facts = el("div", {});
    const button = (text, act, props = {}) => el("button", { type: "button", text, disabled: true, ...props, on: { click: () => this.tried(() => act(this.asked())) } });
    this.buttons = [button("Build and replay", replay, { class: "primary" }), button("Replay on the drive as it is", run)];
    this.node = panel(
      "Trace",
      el("span", { class: "muted", text: "recorded requests, in place of a job" }),
      this.chosen.node,
      el("div", { class: "bar" }, this.buttons),
      el("div", { class: "fields" }, Object.values(this.fields).map((one) => one.node), depth.node),
      this.status,
      this.facts,
    );
  }

  // A choice of the engine's schema, with what each of its values means.
  add(schema, key, label, open) {
    const hear = { on: { change: () => this.read() } };
    const values = valuesOf(schema, key);
    if (!values.length) {
      this.inputs[key] = el("input", { type: "text", placeholder: open, autocomplete: "off", ...hear });
      return [key, field(label, this.inputs[key], firstOf(schema.properties[key].description))];
    }
    this.inputs[key] = choice(hear, values.map(([value]) => [value, value]));
    const made = field(label, this.inputs[key], values[0][1]);
    this.inputs[key].addEventListener("change", () => made.explain(values.find(([value]) => value === this.inputs[key].value)[1]));
    return [key, made];
  }

  // The replay that the form describes.
  asked() {
    const options = { time_scale: Number(this.inputs.time_scale.value) };
    for (const [key] of OPTIONS) if (this.inputs[key].value) options[key] = this.inputs[key].value;
    return { options, depth: this.depth.value ? Number(this.depth.value) : null };
  }

  tell(words, isRefused = false) {
    this.status.textContent = words;
    this.status.classList.toggle("refusal", isRefused);
  }

  async tried(act) {
    try {
      await act();
    } catch (error) {
      this.tell(error.message, true);
    }
  }

  // A file that was chosen, or dropped on the page. True where it is a trace that can be replayed.
  async take(file) {
    this.buttons.forEach((one) => (one.disabled = true));
    this.facts.replaceChildren();
    try {
      await sendTrace(this.session, file, this.alone, (share) => this.tell(`Reading ${file.name}: ${percent(share, 2)}.`));
    } catch (error) {
      this.tell(error.message, true);
      return false;
    }
    this.isSent = true;
    return this.read();
  }

  // What the trace holds, read with the options of the form.
  async read() {
    if (!this.isSent) return false;
    for (const one of Object.values(this.fields)) one.refuse("");
    this.buttons.forEach((one) => (one.disabled = true));
    try {
      const { options } = this.asked();
      this.found = await this.alone(() => this.session.call("trace_info", { options }));
    } catch (error) {
      const made = this.fields[(error.key || "").replace("trace.", "")];
      if (made) made.refuse(error.message);
      this.facts.replaceChildren();
      this.tell(error.message, true);
      return false;
    }
    const { name, bytes: size, summary, refused } = this.found;
    this.facts.replaceChildren(factsOf(summary));
    if (refused) this.tell(`Not on this drive: ${refused.text}`, true);
    else this.tell(`${name}, ${bytes(size)}: ${summary.format}, ${readText(summary)}.`);
    // Another drive may have room for it.
    this.buttons[0].disabled = false;
    this.buttons[1].disabled = Boolean(refused);
    return true;
  }

  // The trace that a link asks for, and that only its owner can give.
  lack({ name, bytes: size, hash, options, depth }) {
    for (const [key, value] of Object.entries(options || {})) if (this.inputs[key] && value !== null) this.inputs[key].value = value;
    this.depth.value = depth ?? "";
    this.tell(`This link replays the trace ${name} (${number(size, 15)} bytes, hash ${hash}), which is not in it: drop the file here again.`);
  }
}

const firstOf = (text = "") => text.replace(/\s+/g, " ");

// Values of a choice, with their meanings.
function valuesOf(schema, key) {
  const path = schema.properties[key].$ref;
  const of = path ? schema.$defs[path.split("/").at(-1)] : schema.properties[key];
  return (of.oneOf || []).map((one) => [one.const, firstOf(one.description)]);
}

function factsOf({ by_op: ops, devices, lines, skipped_lines: skipped, sequential_share: sequential, unaligned_4k_share: unaligned, span_s: span, footprint_bytes: footprint }) {
  const rows = Object.entries(ops).filter(([, one]) => one.requests).map(([op, one]) => [op, number(one.requests, 15), one.bytes ? bytes(one.bytes) : "–"]);
  const left = Object.entries(skipped).map(([why, count]) => `${number(count, 15)} ${why}`);
  const parts = [
    `${number(lines, 15)} lines${left.length ? `, left out: ${left.join(", ")}` : ""}`,
    span ? `${time(span * 1e9)} from the first request to the last` : "no times",
    `${percent(sequential)} follow one another`,
    `${percent(unaligned)} not on 4 KiB`,
    `devices: ${devices.length}`,
    footprint ? `${bytes(footprint)} touched` : null,
  ];
  return el("div", {}, table("Requests of the trace by operation", ["Operation", "Requests", "Data"], rows), el("p", { class: "muted", text: `${parts.filter(Boolean).join("; ")}.` }));
}
