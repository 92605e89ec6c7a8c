// Cell: threshold voltages of a chip's cell under stress, its references, its errors, and what its code
// makes of them.

import { CATEGORIES, theme } from "../parts/colour.js";
import { choice, el, field, panel, table } from "../parts/dom.js";
import { number, time } from "../parts/format.js";
import { plot } from "../parts/plot.js";

// Sliders: key, label, largest value, whether it grows by decades, and how it is told.
const SLIDERS = [
  ["pe_cycles", "P/E cycles", 1e5, true, (v) => number(v)],
  ["retention_hours", "Retention", 1e5, true, (v) => (v ? time(v * 3.6e12) : "none")],
  ["temperature_c", "Temperature of retention", 85, false, (v) => `${number(v)} °C`],
  ["reads", "Reads of the block", 1e7, true, (v) => number(v)],
  ["reprograms", "Extra programs of the wordline", 20, false, (v) => number(v)],
];
const STEPS = 200;
const PAGES = ["lower", "middle", "upper", "top"];
const START = { pe_cycles: 1000, retention_hours: 720, temperature_c: 40, reads: 0, reprograms: 0 };

export class CellView {
  constructor() {
    this.values = { ...START };
    this.node = el("div", { class: "cell" });
    this.turn = 0;
  }

  async open(session) {
    if (this.session) return;
    this.session = session;
    const [chips, codes] = await Promise.all([session.call("presets", { kind: "chip" }), session.call("presets", { kind: "code" })]);
    // Of most chips in print the cell is not known.
    const known = await Promise.all(chips.map(({ name }) => session.call("cell", { chip: name, points: 2 }).then(() => [name, name], () => null)));
    const hear = { on: { change: () => this.ask() } };
    this.chip = choice(hear, known.filter(Boolean), "tlc_3d");
    this.code = choice(hear, [["", "none"], ...codes.map(({ name }) => [name, name])], "ldpc_4k_r90");
    this.status = el("p", { class: "words", role: "status" });
    this.picture = el("div", {});
    this.figures = el("div", {});
    this.isLog = el("input", { type: "checkbox", id: "cell-log", on: { change: () => this.draw() } });
    this.node.replaceChildren(
      panel("Cell", [], field("Chip", this.chip, "").node, field("Code", this.code, "").node, ...SLIDERS.map((slider) => this.slider(slider)), this.status),
      el(
        "div",
        { class: "shown" },
        panel("Threshold voltages", el("label", { class: "check", for: "cell-log" }, this.isLog, "logarithmic"), this.picture),
        panel("Errors by page", [], this.figures),
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
        this.answer = await this.session.call("cell", { chip: this.chip.value, set: this.code.value ? { "ecc.code": this.code.value } : {}, ...this.values, points: 320 });
        this.status.textContent = this.answer.equivalent_hours === undefined ? "" : `Ages as in ${time(this.answer.equivalent_hours * 3.6e12)} at the temperature of reference.`;
        this.status.classList.remove("refusal");
        this.draw();
      } catch (error) {
        this.status.textContent = error.message;
        this.status.classList.add("refusal");
      }
    } while (turn !== this.turn);
    this.isAsking = false;
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
