// Life: a drive ages to its death under the job of the page; its figures by age. A file of `nandlab life`
// is shown in the same way.

import { CATEGORIES, theme } from "../parts/colour.js";
import { choice, el, field, panel, table } from "../parts/dom.js";
import { number, percent, time } from "../parts/format.js";
import { plot } from "../parts/plot.js";

// Work of one step, so that a page stays awake and others have their turn.
const STEP_MS = 50;
const LEAST_UNITS = 1 << 14;
const MOST_UNITS = 1 << 18;
const REQUESTS_PER_UNIT = 1 / 8;

const MOST_FILE_BYTES = 16 << 20;

const ENDS = {
  spare: "a block has failed, and no spare one is left: the drive is read-only",
  limit: "the most worn block has the most cycles that were allowed",
  uber: "the most worn block has the last cycle at which its data are kept",
  measured: "the chip was measured to no more cycles: it lasts so long or longer",
  errors: "data of a timed run were lost: neither decoded nor rebuilt",
  years: "the years that were asked for have passed",
  stopped: "it was stopped",
  interrupted: "it was interrupted",
};
const PHASES = { precondition: "Preparing the drive", run: "Timed run at this age", ageing: "Ageing to the next point" };

// Ages that a chart may be drawn over.
const AGES = [
  ["tb_written", "data written", (v) => `${number(v)} TB`],
  ["years", "years", (v) => time(v * 3.1536e16)],
  ["pe_cycles_mean", "mean P/E cycles", (v) => number(v)],
];

const us = (v) => time(v * 1e3);
const CHARTS = [
  ["Latency of reads", { format: us, log: true }, [["read_us_p50", "p50"], ["read_us_p99", "p99"], ["read_us_p99_9", "p99.9"]]],
  ["Latency of writes", { format: us, log: true }, [["write_us_p50", "p50"], ["write_us_p99", "p99"], ["write_us_p99_9", "p99.9"]]],
  ["Write amplification", { format: number }, [["write_amplification", "of the ageing"], ["run_write_amplification", "of the timed run"]]],
  ["P/E cycles", { format: number }, [["pe_cycles_min", "least"], ["pe_cycles_mean", "mean"], ["pe_cycles_max", "most"]]],
  ["Failed blocks", { format: number }, [["failed_blocks", "failed"]]],
  ["Further reads of pages", { format: number }, [["retries", "retries"], ["soft_reads", "soft reads"]]],
];
const COLUMNS = [
  ["years", "Age", (v) => (v ? time(v * 3.1536e16) : "0")],
  ["tb_written", "TB written", number],
  ["pe_cycles_mean", "Mean cycles", number],
  ["pe_cycles_max", "Most cycles", number],
  ["failed_blocks", "Failed blocks", number],
  ["write_amplification", "Write amplification", number],
  ["read_us_p50", "Read p50", us],
  ["read_us_p99", "Read p99", us],
  ["read_us_p99_9", "Read p99.9", us],
  ["write_us_p99", "Write p99", us],
  ["iops", "IOPS", number],
  ["retries", "Retries", number],
  ["soft_reads", "Soft reads", number],
  ["uncorrectable", "Uncorrectable", number],
];

export class LifeView {
  // `alone(work)` does it while nothing else is done with the engine.
  constructor(alone) {
    this.alone = alone;
    this.points = [];
    this.end = null;
    this.node = el("div", { class: "cell" });
  }

  open(session) {
    if (this.session) return;
    this.session = session;
    const wear = session.hello.config.chip.rated_pe_cycles;
    const input = (value, props) => el("input", { type: "number", step: "any", min: 0, value, ...props });
    this.inputs = {
      years: input("", { placeholder: "until it dies" }),
      windows: input(10, { min: 1, max: 1000, step: 1 }),
      dwpd: input(1),
      most_cycles: input(wear, { min: 1, step: 1, placeholder: "none" }),
      accelerate: input("", { min: 1, placeholder: "chosen" }),
    };
    const told = {
      years: ["Years", "Left empty: until the drive dies."],
      windows: ["Points", "Timed runs along the life; one more runs at its beginning."],
      dwpd: ["Drive writes per day", "They turn writes into years. Left empty: the timed runs give the rate."],
      most_cycles: ["Cycles that data are kept for", `The life ends where the most worn block has so many. This chip is rated for ${number(wear)}; \`nandlab endurance DRIVE\` tells those that chip and code bear. Left empty: it ends with the spare blocks.`],
      accelerate: ["Acceleration", "One cycle of so many is carried out; 1 is exact. Left empty: so that it takes seconds."],
    };
    this.fields = Object.fromEntries(Object.entries(told).map(([key, [label, help]]) => [key, field(label, this.inputs[key], help)]));
    this.start = el("button", { type: "button", class: "primary", text: "Begin the life", on: { click: () => this.live() } });
    this.stop = el("button", { type: "button", text: "Stop", disabled: true, on: { click: () => (this.isStopped = true) } });
    this.file = el("input", { type: "file", accept: ".json,application/json", on: { change: () => this.file.files[0] && this.take(this.file.files[0]) } });
    this.status = el("p", { class: "words", role: "status" });
    this.bar = el("progress", { max: 1, hidden: true, "aria-label": "Work at this point" });
    this.age = choice({ id: "life-age", on: { change: () => this.draw(true) } }, AGES.map(([key, label]) => [key, label]), "tb_written");
    const opened = field("Life in a file", this.file, "The JSON of `nandlab life --json` is shown in the same way. It can be dropped on the page too.");
    const canLive = session.can("life");
    const form = canLive
      ? [
          el("p", { class: "muted", text: "A drive built as this one lives under the job of the page. The drive itself stays as it is." }),
          // Above the fields, whose help unfolds and would move the buttons from under a pointer.
          el("div", { class: "bar" }, this.start, this.stop),
          ...Object.values(this.fields).map((one) => one.node),
        ]
      : [el("p", { class: "muted", text: "This page looks at a run that goes on by itself. A life is begun in `nandlab dashboard`, or by `nandlab life`." })];
    this.charts = el("div", { class: "charts" });
    this.figures = el("div", {}, el("p", { class: "muted", text: "No points yet." }));
    this.node.replaceChildren(
      panel("Life", [], ...form, this.bar, this.status, opened.node),
      el(
        "div",
        { class: "shown" },
        el("div", { class: "bar" }, el("label", { for: "life-age", text: "Age by" }), this.age),
        this.charts,
        panel("Points", [], this.figures),
      ),
    );
    this.draw(true);
  }

  tell(words, isRefused = false) {
    this.status.textContent = words;
    this.status.classList.toggle("refusal", isRefused);
  }

  // Parameters of the form; those left empty are left open.
  asked() {
    const given = Object.entries(this.inputs).map(([key, { value }]) => [key, value.trim() === "" ? null : Number(value)]);
    return Object.fromEntries(given);
  }

  async live() {
    this.isStopped = false;
    this.start.disabled = true;
    this.stop.disabled = false;
    this.bar.hidden = false;
    for (const one of Object.values(this.fields)) one.refuse("");
    const { session } = this;
    let life = null;
    try {
      ({ life } = await this.alone(() => session.call("life", this.asked())));
      this.show([], null);
      await this.advance(session, life);
    } catch (error) {
      const key = (error.key || "").replace("life: ", "");
      if (this.fields[key]) this.fields[key].refuse(error.message);
      this.tell(error.message, true);
    }
    if (life !== null) await this.alone(() => session.call("end_life", { life })).catch(() => {});
    this.start.disabled = false;
    this.stop.disabled = true;
    this.bar.hidden = true;
  }

  async advance(session, life) {
    let units = LEAST_UNITS;
    for (;;) {
      const begun = performance.now();
      const asked = { life, since: this.points.length, units: Math.round(units), requests: Math.ceil(units * REQUESTS_PER_UNIT) };
      const { phase, share, windows, end, acceleration, worn_sets: worn } = await this.alone(() => session.call("live", asked));
      const took = Math.max(performance.now() - begun, 0.1);
      units = Math.min(Math.max(units * Math.min(Math.max(STEP_MS / took, 0.5), 2), LEAST_UNITS), MOST_UNITS);
      if (windows.length) this.show([...this.points, ...windows], end);
      if (end) return this.tellEnd(acceleration, end, worn);
      if (this.isStopped) return this.tellEnd(acceleration, "stopped");
      this.tell(`${PHASES[phase]}${share === null ? "" : `: ${percent(share, 2)}`}. Points so far: ${this.points.length}.`);
      if (share === null) this.bar.removeAttribute("value");
      else this.bar.value = share;
      await new Promise((go) => setTimeout(go, 0));
    }
  }

  tellEnd(acceleration, end = this.end, worn = []) {
    const last = this.points.at(-1);
    const age = last ? ` after ${time(last.years * 3.1536e16)} and ${number(last.tb_written)} TB written` : "";
    const times = acceleration > 1 ? ` One cycle of ${number(acceleration)} was carried out.` : "";
    const sets = worn.length ? ` No spare block is left in NVM set ${worn.map((set) => set + 1).join(", ")}; other sets still take writes.` : "";
    this.tell(`The life ended${age}: ${ENDS[end] || end}.${sets}${times}`);
  }

  // A file of `nandlab life --json`.
  async take(file) {
    try {
      if (file.size > MOST_FILE_BYTES) throw new Error(`${file.name} has ${number(file.size / 2 ** 20)} MiB; expected: at most ${MOST_FILE_BYTES / 2 ** 20} MiB`);
      const told = parsed(await file.text());
      if (!told) throw new Error(`${file.name} is no life; expected: the JSON of \`nandlab life --json\``);
      this.isStopped = true;
      this.show(told.windows, told.end);
      this.tellEnd(told.acceleration);
      this.status.prepend(`${file.name}: ${told.drive || "a drive"}. `);
    } catch (error) {
      this.tell(error.message, true);
    }
  }

  show(points, end) {
    [this.points, this.end] = [points, end];
    this.draw(true);
  }

  draw() {
    const [key, label, format] = AGES.find(([name]) => name === this.age.value);
    const has = (name) => this.points.some((point) => Number.isFinite(point[name]));
    const shown = CHARTS.map(([title, y, lines]) => [title, y, lines.filter(([name]) => has(name))]).filter(([, , lines]) => lines.length);
    const wanted = `${key} ${shown.map(([title, , lines]) => `${title} ${lines.length}`)}`;
    if (wanted !== this.drawn) {
      this.drawn = wanted;
      this.plots = shown.map(([title, y, lines]) => {
        const series = lines.map(([, name], i) => ({ label: name, stroke: lines.length > 1 ? CATEGORIES[i % CATEGORIES.length] : () => theme("--accent"), points: { show: true, size: 5 } }));
        const range = y.log ? undefined : (_, low, high) => [0, (high || 1) * 1.05];
        const chart = plot({ label: `${title} by ${label}`, series, x: { format, label }, y: { ...y, range } });
        return { chart, lines, node: panel(title, [], chart.node) };
      });
      this.charts.replaceChildren(...this.plots.map((one) => one.node));
    }
    const ages = this.points.map((point) => point[key]);
    for (const { chart, lines } of this.plots) {
      chart.set([ages, ...lines.map(([name]) => this.points.map((point) => (Number.isFinite(point[name]) ? point[name] : null)))], false);
      const last = this.points.at(-1);
      chart.tell(lines.map(([name, words]) => `${words} ${number(last[name])}`).join(", "));
    }
    if (!this.points.length) return this.figures.replaceChildren(el("p", { class: "muted", text: "No points yet." }));
    const columns = COLUMNS.filter(([name]) => has(name));
    this.figures.replaceChildren(
      table("Points of the life", columns.map(([, head]) => head), this.points.map((point) => columns.map(([name, , cell]) => cell(point[name])))),
    );
  }
}

// A life of a text of JSON; null where it is none.
function parsed(text) {
  try {
    const told = JSON.parse(text);
    const isLife = Array.isArray(told.windows) && typeof told.end === "string" && told.windows.every((one) => AGES.every(([key]) => Number.isFinite(one[key])));
    return isLife ? told : null;
  } catch {
    return null;
  }
}
