// Build: a drive from a preset with the keys that matter, its job, its seed; a second drive beside it.

import { choice, el, field, panel } from "../parts/dom.js";
import { bytes } from "../parts/format.js";
import { FIRST, typed, untyped } from "../state/fragment.js";
import { KEYS, LABELS, facts, valueAt } from "../state/keys.js";
import { JobForm } from "./job.js";
import { TraceForm } from "./trace.js";

const STATES = [
  ["none", "new: nothing written"],
  ["fill", "filled once, in order"],
  ["steady", "overwritten until write amplification is steady"],
  ["rested", "steady, then at rest"],
];

export class BuildView {
  // `build(experiments)` makes one drive, or two beside each other; `run(job)` runs a job on the drive
  // as it is; `save()` writes the drive to a file; `alone(work)` does it while nothing else is done.
  constructor({ build, run, save, alone }) {
    Object.assign(this, { build, run, save, alone });
    this.node = el("div", { class: "build" }, el("p", { class: "muted", text: "Reading the presets." }));
    this.status = el("p", { class: "words", role: "status" });
  }

  // Presets and schema come once, from any drive's engine.
  async open(session) {
    if (this.session) return;
    this.session = session;
    const { host } = session.link;
    // A notebook's page has one port, and so one drive.
    const isEmbedded = document.querySelector('meta[name="nandlab-host"]') !== null;
    this.canCompare = !isEmbedded && (host.kind === "drive" || host.kind === "browser");
    const [presets, schema, options] = await Promise.all([session.call("presets", { kind: "drive" }), session.call("schema"), session.call("trace_options")]);
    this.schema = schema;
    this.drives = presets.filter((one) => one.kind === "drive" || one.kind === "drives" || !one.kind);
    this.drafts = [new Draft(this, "A"), new Draft(this, "B")];
    this.job = new JobForm(() => this.job.field.refuse(""));
    this.trace = new TraceForm({
      session,
      schema: options,
      alone: this.alone,
      replay: (trace) => this.replay(trace),
      run: (trace) => this.run(null, trace),
    });
    this.seed = el("input", { type: "number", min: 0, value: 1 });
    this.precondition = choice({}, STATES, "steady");
    this.beside = el("input", { type: "checkbox", id: "beside", on: { change: () => this.toggle() } });
    const act = el("button", { type: "button", class: "primary", text: "Build and run", on: { click: () => this.start() } });
    this.second = el("div", { hidden: true }, this.drafts[1].node);
    this.node.replaceChildren(
      el(
        "div",
        { class: "bar" },
        act,
        this.canCompare ? el("label", { class: "check", for: "beside" }, this.beside, "a second drive beside it, under the same job") : null,
        el("button", { type: "button", text: "Run the job on the drive as it is", on: { click: () => this.tried(() => this.run(this.job.text.value)) } }),
        el("button", { type: "button", text: "Save the drive", on: { click: () => this.tried(() => this.save()) } }),
      ),
      this.status,
      el("div", { class: "drafts" }, this.drafts[0].node, this.second),
      panel(
        "Job",
        el("span", { class: "muted", text: "the same for both drives" }),
        this.job.node,
        el(
          "div",
          { class: "fields" },
          field("State of the drive before", this.precondition, "How the drive is prepared before the job begins.").node,
          field("Seed", this.seed, "Of every random stream: the same seed gives the same run.").node,
        ),
      ),
      this.trace.node,
    );
    this.adopt(session.experiment || FIRST, 0);
  }

  toggle() {
    this.second.hidden = !this.beside.checked;
    this.node.querySelector(".drafts").classList.toggle("two", this.beside.checked);
    if (this.beside.checked && !this.drafts[1].preset.value) this.drafts[1].set(this.drafts[0].experiment());
  }

  // Fills the form with an experiment.
  adopt(experiment, at) {
    if (!this.schema || !experiment) return;
    this.drafts[at].set(experiment);
    if (at) this.beside.checked = true;
    else {
      this.job.set(experiment.trace ? "" : experiment.job);
      if (experiment.trace && !this.trace.isSent) this.trace.lack(experiment.trace);
      this.seed.value = experiment.seed;
      this.precondition.value = experiment.precondition;
    }
    this.toggle();
  }

  // A job file that was dropped on the page.
  take(text) {
    this.job.set(text);
    this.job.field.refuse("");
  }

  async tried(act) {
    this.status.classList.remove("refusal");
    this.status.textContent = "";
    try {
      await act();
    } catch (error) {
      this.status.classList.add("refusal");
      this.status.textContent = error.message;
    }
  }

  // The drive of the form, under the trace that was sent.
  async replay({ options, depth }) {
    const { name, bytes: size, hash } = this.trace.found;
    const trace = { name, bytes: size, hash, options, depth };
    const common = { job: null, seed: Number(this.seed.value), precondition: this.precondition.value };
    await this.build([{ ...this.drafts[0].experiment(), ...common, trace }]);
  }

  async start() {
    const common = { job: this.job.text.value.trim() ? this.job.text.value : null, seed: Number(this.seed.value), precondition: this.precondition.value };
    const drafts = this.beside.checked ? this.drafts : this.drafts.slice(0, 1);
    this.status.textContent = "Building.";
    this.status.classList.remove("refusal");
    try {
      await this.build(drafts.map((draft) => ({ ...draft.experiment(), ...common })));
      this.status.textContent = "";
    } catch (error) {
      this.status.classList.add("refusal");
      this.status.textContent = error.message;
      for (const draft of drafts) draft.refuse(error);
      if (!drafts.some((draft) => draft.has(error))) this.job.field.refuse(error.message);
    }
  }
}

// The path of the key that is refused, of a place such as `--set drive.channels=0`.
const keyOf = ({ key }) => (key || "").replace(/^--set /, "").split("=")[0];

// One drive of the form.
class Draft {
  constructor(view, name) {
    this.view = view;
    this.turn = 0;
    this.preset = choice({ on: { change: () => this.load() } }, view.drives.map((one) => [one.name, one.name]));
    this.summary = field("Preset", this.preset, "");
    this.facts = el("p", { class: "words", role: "status" });
    this.fields = new Map();
    const groups = KEYS.map(([title, paths]) =>
      el("fieldset", {}, el("legend", { text: title }), el("div", { class: "fields" }, paths.map((path) => this.add(path)))),
    );
    this.more = el("textarea", { rows: 3, spellcheck: "false", class: "code", placeholder: "ftl.host_streams=2", on: { change: () => this.check() } });
    this.rest = field("Further keys", this.more, "One assignment a line, as of --set; the reference lists all keys.");
    this.node = panel(`Drive ${name}`, [], this.summary.node, this.facts, ...groups, this.rest.node);
    this.preset.value = "";
  }

  add(path) {
    const { description, choices, isBoolean } = facts(this.view.schema, path);
    const hear = { on: { change: () => this.check() } };
    let control;
    if (choices) control = choice(hear, choices.map(([value]) => [value, value]));
    else if (isBoolean) control = choice(hear, [["true", "yes"], ["false", "no"]]);
    else control = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", ...hear });
    const made = field(LABELS[path], control, description);
    if (choices) {
      const tell = () => made.explain((choices.find(([value]) => value === control.value) || ["", description])[1]);
      control.addEventListener("change", tell);
      made.tell = tell;
    }
    this.fields.set(path, made);
    return made.node;
  }

  async set({ drive, set }) {
    this.preset.value = drive;
    const rest = Object.entries(set || {}).filter(([path]) => !this.fields.has(path));
    this.more.value = rest.map(([path, value]) => `${path}=${untyped(value)}`).join("\n");
    this.given = Object.fromEntries(Object.entries(set || {}).filter(([path]) => this.fields.has(path)));
    await this.load(true);
  }

  // Values of the preset, under those that were changed.
  async load(keeps) {
    if (!keeps) {
      this.given = {};
      this.more.value = "";
    }
    const preset = this.view.drives.find((one) => one.name === this.preset.value);
    this.summary.explain(preset ? preset.summary : "");
    if (!preset) return;
    const { config } = await this.view.session.call("check", { config: { drive: preset.name }, set: {} });
    this.base = config;
    for (const [path, made] of this.fields) {
      const value = path in this.given ? this.given[path] : valueAt(config, path);
      made.control.value = value === null || value === undefined ? "" : String(value);
      if (made.tell) made.tell();
    }
    await this.check();
  }

  // What differs from the preset.
  changes() {
    const set = {};
    for (const [path, { control }] of this.fields) {
      const base = valueAt(this.base, path);
      const before = base === null || base === undefined ? "" : String(base);
      if (control.value !== before && control.value !== "") set[path] = typed(control.value);
    }
    for (const line of this.more.value.split("\n")) {
      const at = line.indexOf("=");
      if (at > 0) set[line.slice(0, at).trim()] = typed(line.slice(at + 1).trim());
    }
    return set;
  }

  experiment() {
    return { drive: this.preset.value, set: this.changes() };
  }

  // The engine's refusal stands beside the key that it names.
  async check() {
    const turn = (this.turn += 1);
    try {
      const { summary, capacity_bytes: capacity } = await this.view.session.call("check", {
        config: { drive: this.preset.value },
        set: this.changes(),
      });
      if (turn !== this.turn) return;
      this.refuse(null);
      const changed = Object.keys(this.changes()).length;
      this.facts.textContent = `${bytes(capacity)} for the host · ${changed ? `changed keys: ${changed}` : "as the preset"}`;
      if (summary) this.summary.explain(summary);
    } catch (error) {
      if (turn === this.turn) this.refuse(error);
    }
  }

  has(error) {
    const key = keyOf(error);
    return Boolean(key) && (this.fields.has(key) || this.more.value.includes(key));
  }

  refuse(error) {
    for (const made of this.fields.values()) made.refuse("");
    this.rest.refuse("");
    this.facts.classList.toggle("refusal", Boolean(error));
    if (!error) return;
    const words = [error.problem, error.expected && `expected: ${error.expected}`, error.hint].filter(Boolean).join("; ");
    const made = this.fields.get(keyOf(error));
    if (made) made.refuse(words);
    else if (this.has(error)) this.rest.refuse(words);
    this.facts.textContent = error.message;
  }
}
