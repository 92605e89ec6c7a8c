// Playing: one or two sessions advance by the same simulated time, at a chosen speed.

const FRAME_MS = 40;
const WORK_MS = 24;

export const SLOWEST = 1e3;
export const FASTEST = 3.6e12;

export class Player {
  constructor() {
    this.sessions = [];
    this.speed = 1e8;
    this.isPlaying = false;
    // Number of the play or run to the end that is on: one that was ended does not go on beside the next.
    this.turn = 0;
    this.most = 2000;
    this.reached = 0;
    this.listeners = [];
    this.busy = Promise.resolve();
  }

  onChange(act) {
    this.listeners.push(act);
  }

  changed() {
    for (const act of this.listeners) act();
  }

  // Steps, builds and acts follow each other: none begins while another runs.
  alone(work) {
    const next = this.busy.then(work, work);
    this.busy = next.catch(() => {});
    return next;
  }

  get canPlay() {
    return this.sessions.some((one) => !one.isOver && !one.isCut);
  }

  pause() {
    this.isPlaying = false;
    this.reached = 0;
    this.changed();
  }

  // Begins to play. Returns whether that still is what is on.
  begin() {
    this.turn += 1;
    this.isPlaying = true;
    this.changed();
    const { turn } = this;
    return () => this.isPlaying && this.turn === turn;
  }

  async play() {
    if (this.isPlaying || !this.canPlay) return;
    const isOn = this.begin();
    let last = performance.now();
    try {
      while (isOn() && this.canPlay) {
        const begun = performance.now();
        const wall_s = Math.min(begun - last, 250) / 1e3;
        last = begun;
        await this.alone(() => this.step(Math.max(1, this.speed * wall_s), wall_s));
        const left = FRAME_MS - (performance.now() - begun);
        await new Promise((go) => setTimeout(go, Math.max(left, 0)));
        // A hidden page has nothing to show, and asks for no frames.
        while (document.hidden && isOn()) await new Promise((go) => setTimeout(go, 200));
      }
    } finally {
      if (isOn()) this.pause();
    }
  }

  // One step of all sessions, to one moment. Only so many requests are done that the page stays quick.
  async step(simulated_ns, wall_s) {
    const running = this.sessions.filter((one) => !one.isOver && !one.isCut);
    if (!running.length) return;
    const first = Math.min(...running.map((one) => one.state.now_ns));
    const begun = performance.now();
    await Promise.all(
      running.map((one) => {
        const gap = first + simulated_ns - one.state.now_ns;
        if (gap < 1 && one.state.phase !== "precondition" && !one.isWatched) return null;
        return one.advance({ simulated_ns: Math.max(gap, 1), most_requests: Math.round(this.most) });
      }),
    );
    const took = performance.now() - begun;
    this.most = Math.min(Math.max(this.most * Math.min(Math.max(WORK_MS / Math.max(took, 0.1), 0.5), 2), 50), 1e6);
    await Promise.all(running.map((one) => one.look()));
    const now = Math.min(...running.map((one) => one.state.now_ns));
    if (wall_s > 0) this.reached += ((now - first) / wall_s - this.reached) * 0.15;
    this.changed();
  }

  oneEvent() {
    return this.alone(async () => {
      for (const one of this.sessions) {
        await one.advance({ events: 1 });
        await one.look();
      }
      this.changed();
    });
  }

  // Runs all jobs to their ends, as fast as the engine can.
  async toTheEnd() {
    this.pause();
    const isOn = this.begin();
    try {
      while (isOn() && this.canPlay) {
        await this.alone(() => this.step(1e8 + this.speed, 0));
        await new Promise((go) => setTimeout(go, 0));
      }
    } finally {
      if (isOn()) this.pause();
    }
  }
}
