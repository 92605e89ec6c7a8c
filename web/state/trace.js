// A trace of the user: its file goes to the engine in pieces.

import { number, time } from "../parts/format.js";

const PIECE_BYTES = 3 << 18;

// Sends a file to the engine of a session. `alone(work)` does a piece while nothing else is done there.
export async function sendTrace(session, file, alone, progress) {
  const total = file.size;
  let at = 0;
  do {
    const piece = new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer());
    const asked = { name: file.name, bytes: total, at, base64: packed(piece) };
    await alone(() => session.call("trace", asked));
    at += piece.length;
    progress(at / total);
  } while (at < total);
}

function packed(piece) {
  let text = "";
  for (let at = 0; at < piece.length; at += 0x8000) text += String.fromCharCode(...piece.subarray(at, at + 0x8000));
  return btoa(text);
}

// The requests of a trace in words.
export function readText({ requests, span_s: span }) {
  return `${number(requests, 15)} requests${span ? ` over ${time(span * 1e9)}` : ""}`;
}
