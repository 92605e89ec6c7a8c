// A frame: its sections as arrays by their ids (`frame.vald`), without a copy. docs/window.md has the
// format.

const KINDS = [Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array];
const MAGIC = 0x31574c4e; // "NLW1"

export class Frame {
  // The frame lies in `buffer` from byte `from`, a multiple of 8.
  constructor(buffer, from = 0) {
    const head = new DataView(buffer, from);
    if (head.getUint32(0, true) !== MAGIC) throw new Error("no frame of the window");
    for (let i = 0, at = 8; i < head.getUint32(4, true); i += 1, at += 16) {
      const id = String.fromCharCode(...new Uint8Array(buffer, from + at, 4));
      const [kind, length, offset] = [4, 8, 12].map((more) => head.getUint32(at + more, true));
      this[id] = new KINDS[kind](buffer, from + offset, length);
    }
  }
}
