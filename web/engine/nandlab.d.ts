// Types of the package `nandlab`; docs/window.md has the methods, their results and the sections.

export interface Config {
  drive: string;
}

export interface Build {
  /** Text of a drive file, or the name of a preset. */
  config: string | Config;
  /** Assignments to keys, by their paths. */
  set?: Record<string, string | number | boolean>;
  /** Text of a fio job file, or the name of a workload preset. */
  job?: string | null;
  until?: string;
  seed?: number;
  precondition?: "none" | "fill" | "steady" | "rested";
  explain?: boolean;
  spans?: number;
}

export interface Step {
  simulated_ns?: number;
  events?: number;
  most_requests?: number;
}

export interface Progress {
  now_ns: number;
  events: number;
  completed: number;
  finished: boolean;
  phase: "precondition" | "wear" | "run" | "over";
  done: number;
  of: number | null;
  /** Result of the act that ended with this call, as that of `wear`. */
  act?: { command: string; told: string };
}

/** Sections of a frame by their ids. */
export interface Frame {
  scal: Float64Array;
  rlat: Uint32Array;
  wlat: Uint32Array;
  dies: Uint8Array;
  chan: Float32Array;
  deco: Float32Array;
  stat?: Uint8Array;
  vald?: Uint8Array;
  eras?: Uint32Array;
  bage?: Float32Array;
  kind?: Uint8Array;
  grou?: Uint32Array;
}

/** Refusal of a call: what is refused, why, and what would do. */
export interface Refusal extends Error {
  key: string;
  problem: string;
  expected: string;
  hint: string;
  nearest: string | null;
  text: string;
}

type Json = Record<string, any>;

/** A drive with its job, in this thread. */
export class Engine {
  static load(source: BufferSource | Response | WebAssembly.Module): Promise<Engine>;
  build(params: Build): Json;
  step(params: Step): Progress;
  snapshot(layers?: number): Frame;
  report(): Json;
  save(): Uint8Array;
  load(bytes: Uint8Array): void;
  call(method: string, params?: Json): any;
  frame(layers: number): Uint8Array;
}

/** A drive with its job, in a worker of a page. */
export class WasmLink {
  static open(folder?: string): Promise<WasmLink>;
  call(method: string, params?: Json): Promise<any>;
  frame(layers: number): Promise<Frame>;
  save(): Promise<Uint8Array>;
  load(bytes: Uint8Array): Promise<void>;
  close(): void;
}
