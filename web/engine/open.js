// The link of this page, by how it was given out: recorded in it, in a notebook, served, or alone.

import { FileLink } from "./file.js";
import { PortLink } from "./port.js";
import { SocketLink } from "./socket.js";
import { WasmLink } from "./wasm.js";

let opened = 0;

export async function openLink() {
  opened += 1;
  const recorded = document.getElementById("recorded");
  if (recorded) return FileLink.open(recorded.textContent);
  if (document.querySelector('meta[name="nandlab-host"]')) return PortLink.open();
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  return token ? SocketLink.open(token, opened > 1) : WasmLink.open();
}
