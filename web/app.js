// The window: opens a link to an engine, builds the experiment of the page's address, and shows it.

import { openLink } from "./engine/open.js";
import { el } from "./parts/dom.js";
import { clock, number, short, time } from "./parts/format.js";
import { read, write } from "./state/fragment.js";
import { Player } from "./state/player.js";
import { Session } from "./state/session.js";
import { BreakView } from "./view/break.js";
import { BuildView } from "./view/build.js";
import { CellView } from "./view/cell.js";
import { DriveView } from "./view/drive.js";
import { LifeView } from "./view/life.js";
import { Strip } from "./view/strip.js";
import { Tabs } from "./view/tabs.js";
import { TimeView } from "./view/time.js";
import { Transport } from "./view/transport.js";
import { WhyView } from "./view/why.js";

const given = read(location.hash);
const player = new Player();
const spare = [];
let kept = null;

const title = el("h1", { class: "drive-name" });
const status = el("p", { class: "status", role: "status" });
const share = el("button", { type: "button", text: "Copy link", title: "A link to this drive, job and seed", on: { click: copyLink } });

const strip = new Strip();
const drive = new DriveView();
const why = new WhyView();
const times = new TimeView((session, op, percentile) => {
  tabs.show("why");
  why.show(session, op, percentile);
});
const build = new BuildView({ build: (experiments) => make(experiments, true), run: runJob, save: saveDrive, alone: (work) => player.alone(work) });
const breaking = new BreakView((session, command) => player.alone(() => session.act(command)).finally(() => player.changed()));
const cell = new CellView();
const life = new LifeView((work) => player.alone(work));
const transport = new Transport(player, { mark, back, seek });
const tabs = new Tabs(
  {
    drive: { label: "Drive", node: drive.node },
    time: { label: "Time", node: times.node },
    why: { label: "Why", node: why.node },
    build: { label: "Build", node: build.node },
    cell: { label: "Cell", node: cell.node },
    break: { label: "Break", node: breaking.node },
    life: { label: "Life", node: life.node },
  },
  (name) => {
    const [first] = player.sessions;
    if (!first) return;
    if (name === "build") build.open(first).catch(fail);
    if (name === "cell") cell.open(first).catch(fail);
    if (name === "life") life.open(first);
    address();
    drawn.clear();
  },
);

document.getElementById("window").append(
  el("header", { class: "top" }, el("span", { class: "brand", text: "nandlab" }), title, transport.node, share),
  strip.node,
  status,
  tabs.bar,
  tabs.panels,
);

function fail(error) {
  status.textContent = error.message || String(error);
  status.classList.add("refusal");
}

async function sessionOf(name) {
  const session = new Session(spare.pop() || (await openLink()), name, () => drive.layersOf(session.hello));
  session.link.onend = (reason) => fail(new Error(reason));
  session.on("frame", (one) => {
    if (one.state.phase === "precondition") return;
    drive.sample(one);
    strip.sample(one);
  });
  session.on("over", tell);
  session.on("acted", (one) => breaking.refresh(one));
  session.on("began", (one) => {
    breaking.refresh(one);
    title.textContent = named();
    address();
  });
  return session;
}

// Builds one drive, or two. If the second is refused, the first one is there alone.
async function make(experiments, isPlayed) {
  player.pause();
  await player.alone(async () => {
    const sessions = [...player.sessions];
    while (sessions.length < experiments.length) sessions.push(await sessionOf("AB"[sessions.length]));
    let built = 0;
    try {
      for (; built < experiments.length; built += 1) await sessions[built].build(experiments[built]);
    } finally {
      for (const session of sessions.splice(Math.max(built, 1))) spare.push(session.link);
      if (built) meet(sessions);
    }
  });
  if (isPlayed) {
    tabs.show("drive");
    player.play();
  }
}

// Another job, on the drives as they are.
async function runJob(job, trace) {
  player.pause();
  // A trace was sent to the first drive alone.
  const sessions = trace ? player.sessions.slice(0, 1) : player.sessions;
  await player.alone(() => Promise.all(sessions.map((one) => one.startJob(job, trace))));
  tabs.show("drive");
  player.play();
}

// The drive as a file of `nandlab save`.
async function saveDrive() {
  const [first] = player.sessions;
  player.pause();
  const bytes = await player.alone(() => first.save());
  const link = URL.createObjectURL(new Blob([bytes]));
  el("a", { href: link, download: `${first.hello.name}.nldrive` }).click();
  URL.revokeObjectURL(link);
  player.changed();
}

// First line of a saved drive.
const SAVED = "nandlab drive\n";

// A file that was dropped on the page: a saved drive, a job file, a life, or a trace.
async function take(file) {
  const [first] = player.sessions;
  if (/\.json$/.test(file.name)) {
    tabs.show("life");
    await life.take(file);
    return;
  }
  if (!first.can("build")) return;
  if (/\.(fio|ini|job)$/.test(file.name)) {
    await build.open(first);
    build.take(await file.text());
    tabs.show("build");
    return;
  }
  if (!(await file.slice(0, SAVED.length).text()).startsWith(SAVED)) {
    const { lacks } = first;
    await build.open(first);
    tabs.show("build");
    const isRead = await build.trace.take(file);
    // The trace of the link that was opened begins at once.
    if (isRead && lacks && build.trace.found.hash === lacks.hash) await make([first.experiment], true);
    return;
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  player.pause();
  await player.alone(() => first.load(bytes));
  meet([first]);
  tabs.show("drive");
}

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file && player.sessions[0]) take(file).catch(fail);
});

function meet(sessions) {
  player.sessions = sessions;
  for (const view of [strip, drive, times, why, breaking]) view.meet(sessions);
  kept = null;
  transport.back.disabled = true;
  title.textContent = named();
  title.title = sessions[0].hello.title;
  const { lacks } = sessions[0];
  status.textContent = lacks ? `This link replays the trace ${lacks.name} (${number(lacks.bytes, 15)} bytes, hash ${lacks.hash}), which is not in it: drop the file on the page again.` : "";
  status.classList.remove("refusal");
  address();
  player.changed();
}

const named = () => player.sessions.map((one) => one.hello.name).join(" beside ");

// The reports of jobs that are over, a line for each drive.
function tell() {
  const ended = player.sessions.filter((one) => one.report);
  status.classList.remove("refusal");
  status.replaceChildren(...ended.map((one) => el("span", { class: "told", text: toldOf(one, one.report) })));
}

function toldOf(session, report) {
  const parts = ["read", "write"]
    .filter((op) => report.host[op].requests)
    .map((op) => {
      const { iops, latency_us: us } = report.host[op];
      return `${op}s ${short(iops)} IOPS, mean ${time(us.mean * 1e3)}, p99 ${time(us.p99 * 1e3)}, p99.9 ${time(us.p99_9 * 1e3)}`;
    });
  const amplification = report.ftl.write_amplification;
  if (Number.isFinite(amplification)) parts.push(`write amplification ${number(amplification, 4)}`);
  const who = player.sessions.length > 1 ? `${session.name}: ` : "";
  return `${who}Job over after ${clock(session.state.now_ns)}, ${number(report.host.requests_completed, 15)} requests: ${parts.join("; ")}.`;
}

function address() {
  const [first] = player.sessions;
  // A page in a cell of a notebook has no address of its own.
  share.disabled = location.protocol === "about:" || !first || !first.experiment;
  if (!share.disabled) history.replaceState(null, "", write(first.experiment, tabs.shown, given.token));
}

async function copyLink() {
  const [first] = player.sessions;
  const link = `${location.origin}${location.pathname}${write(first.experiment, tabs.shown)}`;
  const copied = first.acts.length ? "Copied, without acts" : "Copied";
  try {
    await navigator.clipboard.writeText(link);
    share.textContent = copied;
  } catch {
    share.textContent = "Link in the address bar";
  }
  setTimeout(() => (share.textContent = "Copy link"), 2000);
}

// Keeps the point of now, once a step that is under way is done.
function mark() {
  return player.alone(() => {
    kept = player.sessions.map((one) => one.mark());
    transport.back.disabled = false;
    status.textContent = `Kept the point at ${clock(player.sessions[0].state.now_ns)}.`;
  });
}

// Goes to a frame of a recording.
function seek(number) {
  const [first] = player.sessions;
  player.pause();
  player.alone(() => first.seek(first.link.times[number])).then(() => player.changed(), fail);
}

async function back() {
  player.pause();
  const marks = kept;
  try {
    await player.alone(() => Promise.all(player.sessions.map((one, i) => one.back(marks[i], () => player.changed()))));
    meetAgain(marks);
  } catch (error) {
    fail(error);
  }
}

function meetAgain(marks) {
  meet([...player.sessions]);
  kept = marks;
  transport.back.disabled = false;
  status.textContent = `Back at ${clock(player.sessions[0].state.now_ns)}.`;
}

// Views are drawn as often as they can be read.
const EVERY_MS = { drive: 0, time: 120, why: 500, build: 1e9, cell: 1e9, break: 1e9, life: 1e9 };
const drawn = new Map();
const views = { drive, time: times, why };

function draw(now) {
  requestAnimationFrame(draw);
  const [first] = player.sessions;
  if (!first || !first.frame) return;
  const name = tabs.shown;
  const fresh = player.sessions.map((one) => one.frame);
  const isDue = (key, every) => {
    const last = drawn.get(key);
    if (last && (now - last.now < every || fresh.every((frame, i) => frame === last.frames[i]))) return false;
    drawn.set(key, { now, frames: fresh });
    return true;
  };
  if (isDue("strip", 250)) strip.draw();
  if (views[name] && isDue(name, EVERY_MS[name])) views[name].draw();
}

async function begin() {
  tabs.show(given.tab);
  status.textContent = "Starting the engine.";
  try {
    const session = await sessionOf("A");
    const { link } = session;
    link.onhello = () => player.alone(() => session.greet()).then(() => meet([session, ...player.sessions.slice(1)]));
    const canBuild = session.can("build");
    if (link.hello && !(given.isGiven && canBuild)) await session.greet();
    else await session.build(given.experiment);
    if (!canBuild) tabs.drop("build");
    if (!session.can("act")) tabs.drop("break");
    if (!session.can("cell")) tabs.drop("cell");
    share.hidden = !canBuild;
    meet([session]);
    tabs.show(given.tab);
    if (session.isRecorded) await session.readAll().then(() => player.changed());
    if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) player.play().catch(fail);
  } catch (error) {
    fail(error);
  }
}

requestAnimationFrame(draw);
begin();
