// Cell: threshold voltages of a chip's cell under stress, its references, its errors, and what its code
// makes of them.

import { CATEGORIES, theme } from "../parts/colour.js";
import { choice, el, field, panel, table } from "../parts/dom.js";
import { number, percent, time } from "../parts/format.js";
import { plot } from "../parts/plot.js";
import { facts } from "../state/keys.js";

// Sliders: key, label, largest value, whether it grows by decades, and how it is told.
const SLIDERS = [
  ["pe_cycles", "P/E cycles", 1e5, true, (v) => number(v)],
  ["retention_hours", "Retention", 1e5, true, (v) => (v ? time(v * 3.6e12) : "none")],
  ["temperature_c", "Temperature of retention", 85, false, (v) => `${number(v)} °C`],
  ["reads", "Reads of the block", 1e7, true, (v) => number(v)],
  ["reprograms", "Programs of the wordline on top", 20, false, (v) => number(v)],
];
// Neighbours of a cell that were programmed after it.
const NEIGHBOURS = [
  ["none", "none"],
  ["wordline", "those on its wordline"],
  ["all", "those on its wordline and the next one"],
];
const STEPS = 200;
const PAGES = ["lower", "middle", "upper", "top"];
const START = { pe_cycles: 1000, retention_hours: 720, temperature_c: 40, reads: 0, reprograms: 0 };

// Rest of the sliders after which reads are measured.
const SETTLED_MS = 400;

// Chart of the rounds that reads take, by page type.
function roundsOf() {
  return plot({
    label: "Share of the reads by their number of rounds",
    height: 160,
    x: { format: (v) => number(v), label: "rounds", range: (_, low, high) => [0.5, (high || 1) + 0.5] },
    y: { format: (v) => percent(v), log: true, range: (_, low, high) => [Math.min(low || 1, 1e-3), 1] },
    series: PAGES.map((label, i) => ({ label, stroke: CATEGORIES[i], points: { show: true, size: 6 } })),
  });
}

export class CellView {
  constructor() {
    this.values = { ...START };
    this.node = el("div", { class: "cell" });
    this.turn = 0;
  }

  async open(session) {
    if (this.session) return;
    this.session = session;
    this.node.replaceChildren(el("p", { class: "muted", text: "Reading the chips whose cells are known." }));
    const asked = [session.call("presets", { kind: "chip" }), session.call("presets", { kind: "code" }), session.call("schema")];
    const [chips, codes, schema] = await Promise.all(asked);
    const { choices } = facts(schema, "retry.name");
    // Of most chips in print the cell is not known.
    const texts = await Promise.all(chips.map(({ name }) => session.call("show", { name: `chip/${name}` })));
    const known = chips.filter((_, i) => /^(\[cell\b|cell[.\s=])/m.test(texts[i])).map(({ name }) => [name, name]);
    const hear = { on: { change: () => this.ask() } };
    this.chip = choice(hear, known, "tlc_3d");
    this.code = choice(hear, [["", "none"], ...codes.map(({ name }) => [name, name])], "ldpc_4k_r90");
    this.retry = choice(hear, choices.map(([value]) => [value, value]), "read_retry");
    const [, means] = choices.find(([value]) => value === this.retry.value) || ["", ""];
    this.retried = field("Read retry", this.retry, means);
    this.neighbours = choice(hear, NEIGHBOURS, "all");
    this.status = el("p", { class: "words", role: "status" });
    this.coupled = field("Neighbours programmed since", this.neighbours, "");
    this.picture = el("div", {});
    this.figures = el("div", {});
    this.reads = el("div", { "aria-live": "polite" });
    this.rounds = roundsOf();
    this.isLog = el("input", { type: "checkbox", id: "cell-log", on: { change: () => this.draw() } });
    this.node.replaceChildren(
      panel("Cell", [], field("Chip", this.chip, "").node, field("Code", this.code, "").node, this.retried.node, ...SLIDERS.map((slider) => this.slider(slider)), this.coupled.node, this.status),
      el(
        "div",
        { class: "shown" },
        panel("Threshold voltages", el("label", { class: "check", for: "cell-log" }, this.isLog, "logarithmic"), this.picture),
        panel("Errors by page", [], this.figures),
        panel("Latency of one page read without a queue", [], this.rounds.node, this.reads),
      ),
    );
    await this.ask();
  }

  slider([key, label, most, isLog, format]) {
    const value = (step) => (isLog ? (step ? Math.round((most + 1) ** (step / STEPS) - 1) : 0) : Math.round((most * step) / STEPS));
    const step = (v) => (isLog ? (STEPS * Math.log(v + 1)) / Math.log(most + 1) : (STEPS * v) / most);
    const figure = el("output", { class: "figure", text: format(this.values[key]) });
    const input = el("input", {
      type: "range",
      min: 0,
      max: STEPS,
      step: 1,
      value: Math.round(step(this.values[key])),
      "aria-valuetext": format(this.values[key]),
      id: `cell-${key}`,
      on: {
        input: () => {
          this.values[key] = value(Number(input.value));
          figure.textContent = format(this.values[key]);
          input.setAttribute("aria-valuetext", figure.textContent);
          this.ask();
        },
      },
    });
    return el("div", { class: "slider" }, el("label", { for: `cell-${key}`, text: label }), figure, input);
  }

  // One question at a time; the latest values are asked last.
  async ask() {
    this.turn += 1;
    if (this.isAsking) return;
    this.isAsking = true;
    let turn;
    do {
      turn = this.turn;
      try {
        this.answer = await this.session.call("cell", { chip: this.chip.value, set: this.code.value ? { "ecc.code": this.code.value } : {}, ...this.values, neighbours: this.neighbours.value, points: 320 });
        const { wordline, bitline } = this.answer.coupling;
        this.coupled.explain(wordline || bitline ? `A cell rises by ${percent(wordline)} of the rise of each neighbour on its wordline, and by ${percent(bitline)} of that of the next wordline.` : "The cells of this chip are not coupled: neighbours raise nothing.");
        this.neighbours.disabled = !(wordline || bitline);
        this.status.textContent = this.answer.equivalent_hours === undefined ? "" : `Ages as in ${time(this.answer.equivalent_hours * 3.6e12)} at the temperature of reference.`;
        this.status.classList.remove("refusal");
        this.draw();
      } catch (error) {
        this.status.textContent = error.message;
        this.status.classList.add("refusal");
      }
    } while (turn !== this.turn);
    this.isAsking = false;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.read(), SETTLED_MS);
  }

  // Reads of a drive with these cells, this code and this policy: once the sliders rest.
  async read() {
    const turn = this.turn;
    const set = { "retry.name": this.retry.value, ...(this.code.value ? { "ecc.code": this.code.value } : {}) };
    const { pe_cycles, retention_hours, temperature_c } = this.values;
    this.reads.setAttribute("aria-busy", "true");
    let answer;
    try {
      answer = await this.session.call("read_latency", { chip: this.chip.value, set, pe_cycles, retention_hours, temperature_c });
    } catch (error) {
      this.reads.replaceChildren(el("p", { class: "refusal", text: error.message }));
      this.rounds.set([[], ...PAGES.map(() => [])], false);
      return;
    } finally {
      this.reads.removeAttribute("aria-busy");
    }
    if (turn === this.turn) this.tellReads(answer);
  }

  tellReads({ pages, retry, uncorrectable }) {
    const names = pages.length > 1 ? PAGES : ["page"];
    const most = Math.max(...pages.map(({ rounds }) => rounds.length));
    const counts = Array.from({ length: most }, (_, i) => i + 1);
    const share = (page, i) => (page && page.reads ? (page.rounds[i] || 0) / page.reads : null);
    this.rounds.set([counts, ...PAGES.map((_, page) => counts.map((_, i) => share(pages[page], i) || null))], false);
    this.rounds.tell(pages.map(({ rounds, reads }, i) => `${names[i]}: ${percent((rounds[0] || 0) / reads)} in one round`).join("; "));
    const us = (v) => (v === null ? "–" : time(v * 1e3));
    const mean = ({ rounds, reads }) => rounds.reduce((sum, count, i) => sum + count * (i + 1), 0) / reads;
    this.reads.replaceChildren(
      table(
        "Latency of one page read by page type",
        ["Page", "Reads", "in one round", "Mean rounds", "Mean", "p50", "p99", "p99.9", "Slowest"],
        pages.map((one, i) => [names[i], number(one.reads, 15), percent((one.rounds[0] || 0) / one.reads), number(mean(one)), us(one.mean_us), us(one.p50_us), us(one.p99_us), us(one.p99_9_us), us(one.max_us)]),
      ),
      el("p", { class: "muted", text: `Measured on a drive of one die with this chip, code and retry policy (${retry}), one request at a time, at these cycles and this retention; without disturb by reads and programs. Uncorrectable pages: ${number(uncorrectable, 15)}.` }),
    );
  }

  draw() {
    if (!this.answer) return;
    const { levels, voltages_v: volts, curves, references_v: given, optimal_v: best } = this.answer;
    const key = `${levels.map(({ word }) => word)} ${this.isLog.checked}`;
    if (this.drawn !== key) {
      this.drawn = key;
      this.plot = this.plotOf(levels);
      this.picture.replaceChildren(
        this.plot.node,
        el(
          "div",
          { class: "legend across" },
          el("div", { class: "item" }, el("span", { class: "line" }), el("span", { text: "read reference" })),
          el("div", { class: "item" }, el("span", { class: "line dashed" }), el("span", { text: "optimal reference" })),
        ),
      );
    }
    this.lines = { given: given.flat(), best: best.flat() };
    const least = this.isLog.checked ? 1e-6 : 0;
    this.plot.set([volts, ...curves.map((curve) => curve.map((d) => (d > least ? d : this.isLog.checked ? null : 0)))], false);
    this.plot.tell(levels.map(({ mean_v: mean, sigma_v: sigma }, i) => `level ${i}: ${number(mean)} V, sigma ${number(sigma)} V`).join("; "));
    this.tellFigures();
  }

  plotOf(levels) {
    return plot({
      label: "Threshold voltages of the levels",
      height: 300,
      x: { format: (v) => `${number(v)} V`, label: "voltage" },
      y: this.isLog.checked
        ? { format: (v) => number(v), log: true }
        : { format: (v) => `${number(v)} /V`, range: (_, low, high) => [0, (high || 1) * 1.05] },
      series: levels.map(({ word }, i) => ({
        label: word.toString(2).padStart(this.answer.cell_bits, "0"),
        stroke: CATEGORIES[i % CATEGORIES.length],
        fill: this.isLog.checked ? undefined : `${CATEGORIES[i % CATEGORIES.length]}33`,
        width: 1.5,
      })),
      hooks: {
        draw: [
          (u) => {
            if (!this.lines) return;
            const { ctx, bbox } = u;
            const ratio = window.devicePixelRatio || 1;
            ctx.save();
            for (const [name, dash] of [["given", []], ["best", [5, 4]]]) {
              ctx.strokeStyle = theme(name === "given" ? "--muted" : "--accent");
              ctx.lineWidth = ratio;
              ctx.setLineDash(dash.map((d) => d * ratio));
              for (const v of this.lines[name]) {
                const x = u.valToPos(v, "x", true);
                if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue;
                ctx.beginPath();
                ctx.moveTo(x, bbox.top);
                ctx.lineTo(x, bbox.top + bbox.height);
                ctx.stroke();
              }
            }
            ctx.restore();
          },
        ],
      },
    });
  }

  tellFigures() {
    const { rber, rber_optimal: best, references_v: given, optimal_v: optimal, code, frame_failure: fails, frame_failure_optimal: failsBest } = this.answer;
    const pages = rber.length > 1 ? PAGES.slice(0, rber.length) : ["page"];
    const volts = (list) => list.map((v) => number(v)).join(", ");
    const heads = ["Page", "RBER", "at optimal references", "References (V)", "Optimal (V)"];
    heads.push("Codeword fails", "at optimal references");
    this.figures.replaceChildren(
      table(
        "Errors by page type",
        heads,
        pages.map((page, i) => [page, number(rber[i]), number(best[i]), volts(given[i]), volts(optimal[i]), number(fails[i]), number(failsBest[i])]),
      ),
      el("p", { class: "muted", text: code.code ? `Code: ${code.code} (${code.model}). A codeword that fails is read again, or with soft reads: its request waits for that.` : `The drive has no code: its errors are corrected by the model ${code.model}.` }),
    );
  }
}
