// A drive that the page watches: its engine behind a link, its experiment, what it did so far.

import { History } from "./history.js";
import { differences } from "./keys.js";
import { Buckets } from "./latency.js";

// Acts that end the job, or begin another one.
const JOBS = /^(wear|fill|trim)/;

export class Session {
  // `layers` says which layers the page shows at the moment.
  constructor(link, name, layers) {
    this.link = link;
    this.name = name;
    this.layers = layers;
    this.listeners = new Map();
    this.hello = null;
    this.experiment = null;
  }

  // Events: `built`, `frame`, `acted`, `over`, `began`.
  on(event, act) {
    this.listeners.set(event, [...(this.listeners.get(event) || []), act]);
  }

  tell(event, what) {
    for (const act of this.listeners.get(event) || []) act(this, what);
  }

  // Asks the engine; a refusal is an error with the key that is refused.
  call(method, params = {}) {
    return this.link.call(method, params);
  }

  // Builds the drive of an experiment. Its trace may be one that nobody has sent yet.
  async build(experiment) {
    const { drive, set, job, seed, precondition, trace } = experiment;
    const replay = trace && (await this.has(trace)) ? { options: trace.options, depth: trace.depth } : null;
    this.lacks = trace && !replay ? trace : null;
    const hello = await this.call("build", { config: { drive }, set, job: (!trace && job) || null, trace: replay, seed, precondition });
    this.experiment = experiment;
    await this.meet(hello);
    if (!job && !replay) await this.prepared();
  }

  // Whether the engine has a trace.
  async has({ hash }) {
    try {
      return (await this.call("trace_hash")) === hash;
    } catch {
      return false;
    }
  }

  // A drive that the host of the link has already.
  async greet() {
    const hello = await this.call("hello");
    this.experiment = await this.experimentOf(hello);
    await this.meet(hello, true);
  }

  // The experiment that makes this drive again: its preset with what differs. None where no preset does.
  async experimentOf({ name, config, config_hash: hash, job, trace, seed, precondition, is_used: isUsed }) {
    if (isUsed || !this.can("build")) return null;
    try {
      const preset = { drive: name };
      const base = await this.call("check", { config: preset });
      const set = differences(base.config, config);
      const made = await this.call("check", { config: preset, set });
      delete set.seed;
      return made.config_hash === hash ? { drive: name, set, job: trace ? null : job, trace, seed, precondition: precondition || "none" } : null;
    } catch {
      return null;
    }
  }

  // A drive that is new, or that was advanced before this page looked at it.
  async meet(hello, isUsed = false) {
    this.hello = hello;
    this.buckets = new Buckets(hello.latency_bounds_ns);
    this.history = new History(hello.scalars.map((one) => one.name), this.buckets);
    this.acts = [];
    this.report = null;
    this.begin(0, isUsed || hello.precondition === "none" ? "run" : "precondition");
    if (isUsed) await this.learn();
    this.tell("built");
    await this.look();
  }

  // Where a drive is that was advanced before. Its history begins here.
  async learn() {
    if (!this.hasJob && !this.isWatched) return;
    try {
      this.state = await this.call("advance", { events: 0 });
      this.history.begin_ns = this.state.now_ns;
    } catch {
      this.isCut = true;
    }
  }

  begin(now_ns, phase = "run") {
    this.state = { now_ns, events: 0, completed: 0, finished: false, phase, done: 0, of: 0 };
    this.isCut = false;
  }

  // Whether the host of the link lets a page ask for a method.
  can(method) {
    return !this.link.host.refused.includes(method);
  }

  // A run that goes on by itself is only watched.
  get isWatched() {
    return ["run", "clients"].includes(this.link.host.kind);
  }

  get isRecorded() {
    return this.link.host.kind === "file";
  }

  get hasJob() {
    return Boolean(this.hello && this.hello.job);
  }

  get isOver() {
    return this.state.finished || (!this.hasJob && !this.isWatched);
  }

  // Lengths are whole numbers of nanoseconds, or of events.
  async advance({ simulated_ns, events, most_requests }) {
    if (this.isOver || this.isCut) return;
    const length = simulated_ns === undefined ? { events } : { simulated_ns: Math.ceil(simulated_ns), most_requests };
    this.state = await this.call("advance", this.isWatched ? { events: 0 } : length);
    if (this.state.finished) await this.end();
  }

  async end() {
    this.report = await this.call("report");
    this.tell("over", this.report);
  }

  // Goes to a moment of a recording.
  async seek(now_ns) {
    this.state = await this.call("seek", { now_ns });
    await this.look();
  }

  // Reads a recording once, so that the whole run is in the history.
  async readAll() {
    for (const now_ns of this.link.times) await this.seek(now_ns);
    if (this.state.finished) await this.end();
  }

  // Takes a frame: what the drive did since the last one.
  async look() {
    const frame = await this.link.frame(this.layers());
    const { scal, rlat, wlat } = frame;
    this.frame = frame;
    this.p99_ns = { read: this.buckets.percentiles(rlat, [99])[0], write: this.buckets.percentiles(wlat, [99])[0] };
    if (this.state.phase !== "precondition") {
      this.history.push(this.state.now_ns, scal, rlat, wlat);
    }
    this.tell("frame");
  }

  scalar(name) {
    const at = this.hello.scalars.findIndex((one) => one.name === name);
    return at < 0 || !this.frame ? NaN : this.frame.scal[at];
  }

  // What a user does to the drive; a job that it starts, or ends, begins or ends here too.
  async act(command) {
    await this.prepared();
    const { now_ns, events } = this.state;
    const begun = await this.call("act", { command });
    const { act: ended } = (await this.prepared(/^wear/.test(command))) || {};
    const told = ended || begun;
    this.acts.push({ now_ns, events, command });
    if (command === "cut") this.isCut = true;
    if (command === "recover") this.isCut = false;
    const hello = await this.call("hello");
    if (JOBS.test(command)) this.changeJob(hello);
    else this.hello = hello;
    await this.look();
    this.tell("acted");
    return told;
  }

  // Advances until the drive is ready for acts and other jobs: what takes long is done in parts. The
  // answer to the last part; nothing where the drive is ready.
  async prepared(isLong = this.state.phase === "precondition") {
    if (!isLong || this.isWatched) return null;
    let told;
    do {
      told = await this.call("advance", { events: 0 });
      if (told.phase === "precondition") this.state = told;
      await this.look();
    } while (["precondition", "wear"].includes(told.phase));
    if (!told.act) this.state = told;
    return told;
  }

  // Begins a job of a text, or the replay of the trace that was sent, on the drive as it is.
  async startJob(job, trace = null) {
    await this.prepared();
    this.changeJob(await this.call("job", { job, trace }));
    await this.look();
  }

  // Bytes of the drive; its job ends.
  async save() {
    await this.prepared();
    const bytes = await this.link.save();
    this.changeJob(await this.call("hello"));
    await this.look();
    return bytes;
  }

  async load(bytes) {
    await this.link.load(bytes);
    this.experiment = null;
    await this.meet(await this.call("hello"), true);
  }

  // Whether the point of now can be come back to.
  get canReturn() {
    return this.isRecorded || this.experiment !== null;
  }

  // Another job on the drive as it is: no experiment makes this state again.
  changeJob(hello) {
    this.hello = hello;
    this.experiment = null;
    this.history.clear();
    this.acts = [];
    this.report = null;
    this.begin(0);
    this.tell("began");
  }

  // A point to come back to: the run is a matter of its experiment and of what was done to it when.
  mark() {
    const { now_ns, events } = this.state;
    return { experiment: this.experiment, acts: [...this.acts], now_ns, events };
  }

  async back({ experiment, acts, now_ns, events }, progress) {
    if (this.isRecorded) {
      await this.seek(now_ns);
      return;
    }
    await this.build(experiment);
    for (const act of acts) {
      await this.until(act, progress);
      await this.act(act.command);
    }
    await this.until({ now_ns, events }, progress);
  }

  // Advances to a moment of the run, a second of simulated time or less at once. Several events may lie
  // at one time: the last ones are done one by one, as a step of the engine may count two of them or none.
  async until({ now_ns, events }, progress) {
    const go = async (length) => {
      await this.advance({ ...length, most_requests: 50_000 });
      await this.look();
      progress(this.state);
    };
    const canGo = () => !this.isOver && !this.isCut;
    while (canGo() && (this.state.phase === "precondition" || this.state.now_ns < now_ns - 1)) {
      await go({ simulated_ns: Math.max(1, Math.min(now_ns - 1 - this.state.now_ns, 1e9)) });
    }
    while (canGo() && this.state.events < events) await go({ events: 1 });
    if (canGo() && this.state.now_ns < now_ns) await go({ simulated_ns: now_ns - this.state.now_ns });
  }
}
